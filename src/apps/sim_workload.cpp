// src/apps/sim_workload.cpp - `millrace sim workload`: workloads made by models.
#include <cstdio>

#include "apps/sim_commands.h"
#include "sim/lublin.h"

namespace millrace {
namespace {

constexpr FlagRow rows[] = {
    {"--jobs", "N", "how many (default: 10000)"},
    {"--processors", "N", "of the machine (default: 256)"},
    {"--seed", "S", "another workload for each number (default: 1)"},
    {"--help", "", "print this help"},
};
constexpr std::string_view usage =
    "millrace sim workload lublin [--jobs N] [--processors N] [--seed S]\n"
    "  Prints a workload of the Lublin-Feitelson model in the Standard Workload Format: the same for the same "
    "numbers.\n"
    "  The model knows no requested times; `millrace sim run` takes the run times for them.";

Result<std::uint32_t> number_or(const Flags& flags, std::string_view name, std::uint32_t low, std::uint32_t high,
                                std::uint32_t otherwise) {
  if (!flags.has(name)) return otherwise;
  return flag_number(flags, name, low, high);
}

Result<int> print_workload(const Flags& flags) {
  if (flags.rest.size() != 1 || flags.rest[0] != "lublin")
    return fail(Errc::invalid, "`millrace sim workload lublin` would be right: it is the one model there is");
  MR_TRY(const std::uint32_t jobs, number_or(flags, "--jobs", 1, 10'000'000, 10'000));
  MR_TRY(const std::uint32_t processors, number_or(flags, "--processors", 1, 1'000'000, 256));
  MR_TRY(const std::uint32_t seed, number_or(flags, "--seed", 0, UINT32_MAX, 1));
  return std::fputs(lublin_swf(jobs, processors, seed).c_str(), stdout) < 0;
}

}  // namespace

int run_sim_workload(const Words& words) {
  const auto flags = read_flags(words, rows);
  if (!flags) return say_failure("sim workload", flags.error().story);
  if (flags->has("--help")) return std::fputs(flag_help(usage, rows).c_str(), stdout) < 0;
  const auto result = print_workload(*flags);
  return result ? *result : say_failure("sim workload", result.error().story);
}

}  // namespace millrace
