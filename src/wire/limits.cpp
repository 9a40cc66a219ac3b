// src/wire/limits.cpp - see limits.h.
#include "wire/limits.h"

namespace millrace {
namespace {

std::unexpected<Error> too_large(const char* what, std::size_t size, std::size_t most, const char* why) {
  return fail(Errc::refused, std::string{what} + " " + std::to_string(size) + " bytes, at most " +
                                 std::to_string(most) + " are possible" + why);
}

}  // namespace

Result<void> check_sizes(const wire::JobDescription& job, std::string_view environment, std::string_view script) {
  std::size_t arguments = 0;
  for (const std::string& argument : job.arguments()) arguments += argument.size() + 1;
  if (environment.size() + arguments > launch_text_max)
    return too_large("the environment and the arguments have", environment.size() + arguments, launch_text_max,
                     ": no program can be given more (--export=NONE or a list of names gives it less)");
  if (script.size() > script_size_ceiling) return too_large("the script has", script.size(), script_size_ceiling, "");
  const std::size_t whole = job.ByteSizeLong();
  const std::size_t rest = whole > arguments ? whole - arguments : 0;
  // An argument costs a few bytes more than its text.
  const std::size_t tags = static_cast<std::size_t>(job.arguments_size()) * 5;
  if (rest > description_size_max + tags)
    return too_large("the description of the job has", rest, description_size_max, "");
  return {};
}

}  // namespace millrace
