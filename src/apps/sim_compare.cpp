// src/apps/sim_compare.cpp - `millrace sim compare`: several policies over traces, shaken, as one table.
#include <cstdio>

#include "apps/sim_commands.h"
#include "sim/compare.h"
#include "sim/swf.h"

namespace millrace {
namespace {

constexpr std::uint32_t shakes_default = 5;
constexpr std::uint32_t shakes_max = 1'000;
constexpr std::uint32_t processors_max = 1'000'000;

constexpr FlagRow rows[] = {
    {"--shakes", "N", "how often each trace is shaken, with seeds 1 to N (default: 5; 0: once, as it is)"},
    {"--half", "H", "first or second half of the jobs only, to choose on one and judge on the other"},
    {"--policies", "P,P", "which, with commas (default: easy,sjbf,guarded)"},
    {"--processors", "N", "of the machine (default: MaxProcs of each trace's header)"},
    {"--json", "", "a JSON array with an object per trace instead of tables"},
    {"--help", "", "print this help"},
};
constexpr std::string_view usage =
    "millrace sim compare TRACE... [flags]\n"
    "  Replays each trace under each policy, as `millrace sim run` does, with submit times moved by up to 300 seconds "
    "anew in each\n"
    "  shake, and prints means with their standard deviations. The last columns are the 99th percentile and the "
    "longest wait as\n"
    "  multiples of easy's in the same shake: their mean, and the worst of the shakes.";

constexpr Choice<Half> halves[] = {{"first", Half::first, ""}, {"second", Half::second, ""}};

Result<CompareSettings> read_settings(const Flags& flags) {
  CompareSettings settings;
  settings.shakes = shakes_default;
  if (flags.has("--shakes")) {
    MR_TRY(settings.shakes, flag_number(flags, "--shakes", 0, shakes_max));
  }
  if (flags.has("--half")) {
    MR_TRY(settings.half, choose<Half>(halves, "--half", flags.text("--half")));
  }
  if (flags.has("--processors")) {
    MR_TRY(settings.processors, flag_number(flags, "--processors", 1, processors_max));
  }
  MR_TRY(settings.policies, find_policies(flags.has("--policies") ? flags.text("--policies") : "easy,sjbf,guarded"));
  return settings;
}

Result<Comparison> compare_trace(const std::string& path, CompareSettings settings) {
  MR_TRY(const SwfTrace trace, read_swf(path));
  if (settings.processors == 0) {
    MR_TRY(settings.processors, trace_processors(trace));
  }
  if (settings.processors > processors_max)
    return fail(Errc::invalid, path + ": its machine has " + std::to_string(settings.processors) +
                                   " processors; at most " + std::to_string(processors_max) + " can be simulated");
  const Workload workload = whole_trace(trace, settings.processors);
  if (workload.jobs.size() < 2)
    return fail(Errc::invalid, path + ": fewer than two jobs can be simulated, so there is nothing to compare");
  settings.progress = progress_bar();
  Comparison out = compare(workload, settings);
  out.trace = path.substr(path.rfind('/') + 1);
  return out;
}

Result<int> compare_all(const Flags& flags) {
  if (flags.rest.empty()) return fail(Errc::invalid, "name at least one trace; --help says how");
  MR_TRY(const CompareSettings settings, read_settings(flags));
  const bool json = flags.has("--json");
  std::string out = json ? "[" : "";
  for (std::size_t i = 0; i < flags.rest.size(); ++i) {
    MR_TRY(const Comparison comparison, compare_trace(std::string{flags.rest[i]}, settings));
    if (i > 0) out += json ? ",\n " : "\n";
    out += json ? comparison_json(comparison) : comparison_table(comparison);
    if (json) continue;
    std::fputs(out.c_str(), stdout);  // the next may take a while
    std::fflush(stdout);
    out.clear();
  }
  if (json) std::fputs((out + "]\n").c_str(), stdout);
  return 0;
}

std::string policy_help() {
  std::string out = "\nPolicies (docs/admin/policies.md):\n";
  for (const ComparedPolicy& policy : compared_policies())
    out +=
        "  " + std::string{policy.name} + std::string(16 - policy.name.size(), ' ') + std::string{policy.help} + '\n';
  return out;
}

}  // namespace

int run_sim_compare(const Words& words) {
  const auto flags = read_flags(words, rows);
  if (!flags) return say_failure("sim compare", flags.error().story);
  if (flags->has("--help")) return std::fputs((flag_help(usage, rows) + policy_help()).c_str(), stdout) < 0;
  const auto result = compare_all(*flags);
  return result ? *result : say_failure("sim compare", result.error().story);
}

}  // namespace millrace
