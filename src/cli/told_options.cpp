// src/cli/told_options.cpp - see told_options.h.
#include "cli/told_options.h"

#include <cstdio>

#include "base/text.h"

namespace millrace {
namespace {

std::string in_columns(std::string name, const std::string& value) {
  if (name.size() < 20) name.resize(20, ' ');
  return name + ": " + value;
}

// 10 and 10:00 are both 00:10:00.
std::string as_time(const std::string& value) {
  const auto duration = parse_duration(value);
  if (!duration) return value;
  if (duration->unlimited) return "INFINITE";
  const std::int64_t seconds = duration->seconds;
  const auto two = [](std::int64_t number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  return (seconds >= 86'400 ? std::to_string(seconds / 86'400) + "-" : "") + two(seconds / 3600 % 24) + ":" +
         two(seconds / 60 % 60) + ":" + two(seconds % 60);
}

}  // namespace

void tell_options(const Command& command, const JobDraft& draft) {
  if (command.verbose == 0) return;
  const std::string rule = std::string(20, '-') + " " + std::string(20, '-');
  say_more(command, 1, "defined options");
  say_more(command, 1, rule);
  for (const auto& [name, value] : draft.given) {
    const bool is_time = name == "time" || name == "time-min";
    const std::string flag = name == "exclusive" ? "exclusive" : "set";
    say_more(command, 1,
             in_columns(name, name == "verbose" ? std::to_string(draft.verbose)
                              : value.empty()   ? flag
                              : is_time         ? as_time(value)
                                                : value));
  }
  say_more(command, 1, rule);
  say_more(command, 1, "end of defined options");
  for (const wire::ResourceLimit& limit : draft.job.limits())
    say_more(command, 2, "propagating RLIMIT_" + limit.name() + "=" + std::to_string(limit.soft()));
  char umask_text[8];
  std::snprintf(umask_text, sizeof umask_text, "%04o", draft.job.umask() & 0777);
  say_more(command, 2, std::string{"propagating UMASK="} + umask_text);
}

}  // namespace millrace
