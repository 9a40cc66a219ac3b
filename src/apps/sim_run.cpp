// src/apps/sim_run.cpp - `millrace sim run` and `millrace sim rlscheduler`: a trace on one machine.
#include <cstdio>

#include "apps/sim_commands.h"
#include "base/text.h"
#include "sim/gantt.h"
#include "sim/published.h"
#include "sim/swf.h"

namespace millrace {
namespace {

constexpr std::uint32_t processors_max = 1'000'000;

constexpr FlagRow run_rows[] = {
    {"--processors", "N", "of the machine (default: MaxProcs of the trace's header)"},
    {"--policy", "P", "who comes first (default: fcfs)"},
    {"--backfill", "B", "who may overtake (default: easy)"},
    {"--estimates", "E", "what the planner is told about run times (default: requested)"},
    {"--half", "H", "first or second half of the jobs only, to learn on one and judge on the other"},
    {"--shake", "SEED", "move each submit time by up to 300 seconds, by this seed: is a difference noise?"},
    {"--json", "", "one JSON object instead of a table"},
    {"--gantt", "FILE.svg", "draw the schedule"},
    {"--help", "", "print this help"},
};
constexpr std::string_view run_usage =
    "millrace sim run TRACE [flags]\n"
    "  TRACE is in the Standard Workload Format, plain or gzip. Run times are cut at the request and 0 becomes 1 "
    "second; jobs without\n"
    "  a run time or wider than the machine are left out. All ends of a second, then its arrivals, then one pass over "
    "the queue.";

constexpr FlagRow published_rows[] = {
    {"--processors", "N", "of the machine (default: MaxProcs of the trace's header)"},
    {"--policy", "P", "who comes first (default: fcfs)"},
    {"--backfill", "", "with backfill"},
    {"--json", "", "one JSON object instead of a table"},
    {"--help", "", "print this help"},
};
constexpr std::string_view published_usage =
    "millrace sim rlscheduler TRACE --policy P [--backfill] [flags]\n"
    "  Ten sequences of 1,024 jobs as in RLScheduler (SC'20), each from an empty machine; the numbers are means over "
    "the ten.\n"
    "  A trace must have at least 9,874 jobs.";

constexpr Choice<Half> halves[] = {{"first", Half::first, ""}, {"second", Half::second, ""}};

std::string text_or(const Flags& flags, std::string_view name, std::string_view otherwise) {
  return flags.has(name) ? flags.text(name) : std::string{otherwise};
}

struct TraceAsked {
  SwfTrace trace;
  std::int64_t processors = 0;
};

Result<TraceAsked> read_trace(const Flags& flags) {
  if (flags.rest.size() != 1) return fail(Errc::invalid, "name one trace; --help says how");
  TraceAsked out;
  if (flags.has("--processors")) {
    MR_TRY(out.processors, flag_number(flags, "--processors", 1, processors_max));
  }
  MR_TRY(out.trace, read_swf(std::string{flags.rest[0]}));
  if (out.processors == 0) {
    MR_TRY(out.processors, trace_processors(out.trace));
  }
  if (out.processors > processors_max)
    return fail(Errc::invalid, "the trace's machine has " + std::to_string(out.processors) + " processors; at most " +
                                   std::to_string(processors_max) + " can be simulated");
  return out;
}

std::string title_of(const Flags& flags, std::int64_t processors, const std::string& how) {
  return std::string{flags.rest[0].substr(flags.rest[0].rfind('/') + 1)} + " on " + std::to_string(processors) +
         " processors, " + how;
}

Result<int> simulate(const Flags& flags) {
  const std::string policy = text_or(flags, "--policy", "fcfs"), backfill = text_or(flags, "--backfill", "easy");
  const std::string estimates = text_or(flags, "--estimates", "requested");
  ReplaySettings settings;
  MR_TRY(settings.planner.order, choose_policy(policy));
  MR_TRY(settings.planner.backfill, choose(backfill_choices(), "--backfill", backfill));
  MR_TRY(settings.estimates, choose(estimate_choices(), "--estimates", estimates));
  settings.planner.depth = UINT32_MAX;
  settings.planner.use_expected = true;
  settings.planner.score_origin = trace_time(0);
  settings.progress = progress_bar();
  Half half = Half::whole;
  if (flags.has("--half")) {
    MR_TRY(half, choose<Half>(halves, "--half", flags.text("--half")));
  }
  std::uint32_t seed = 0;
  if (flags.has("--shake")) {
    MR_TRY(seed, flag_number(flags, "--shake", 0, UINT32_MAX));
  }
  MR_TRY(const TraceAsked asked, read_trace(flags));
  Workload workload = whole_trace(asked.trace, asked.processors);
  keep_half(workload, half);
  if (flags.has("--shake")) shake(workload, seed);
  ReplayResult result = replay(workload, one_machine(asked.processors), settings);
  Report report{title_of(flags, asked.processors, policy + ", backfill " + backfill + ", estimates " + estimates),
                measure(result.jobs, asked.processors), workload.notes, flags.has("--json")};
  report.notes.insert(report.notes.end(), result.notes.begin(), result.notes.end());
  if (flags.has("--gantt"))
    MR_TRY_VOID(write_file(flags.text("--gantt"), gantt_svg(result.jobs, {{"", asked.processors}}, report.title)));
  print_report(report);
  return 0;
}

Result<int> simulate_published(const Flags& flags) {
  const std::string policy = text_or(flags, "--policy", "fcfs");
  PublishedRecipe recipe;
  recipe.backfill = flags.has("--backfill");
  MR_TRY(recipe.order, choose_policy(policy));
  MR_TRY(const TraceAsked asked, read_trace(flags));
  recipe.processors = asked.processors;
  const Workload workload = published_workload(asked.trace, asked.processors);
  MR_TRY(const Metrics metrics, in_context(replay_published(workload, recipe), asked.trace.name));
  print_report({title_of(flags, asked.processors,
                         policy + (recipe.backfill ? " with backfill" : "") + ", ten sequences of 1,024 jobs"),
                metrics, workload.notes, flags.has("--json")});
  return 0;
}

int finish(std::string_view command, const Result<int>& result) {
  return result ? *result : say_failure(command, result.error().story);
}

}  // namespace

int run_sim_trace(const Words& words) {
  const auto flags = read_flags(words, run_rows);
  if (!flags) return say_failure("sim run", flags.error().story);
  if (flags->has("--help")) {
    const std::string text =
        flag_help(run_usage, run_rows) + choice_help("Policies, lowest score first:", policy_choices()) +
        choice_help("Backfill:", backfill_choices()) + choice_help("Estimates:", estimate_choices());
    return std::fputs(text.c_str(), stdout) < 0;
  }
  return finish("sim run", simulate(*flags));
}

int run_sim_published(const Words& words) {
  const auto flags = read_flags(words, published_rows);
  if (!flags) return say_failure("sim rlscheduler", flags.error().story);
  if (flags->has("--help")) {
    const std::string text =
        flag_help(published_usage, published_rows) + choice_help("Policies, lowest score first:", policy_choices());
    return std::fputs(text.c_str(), stdout) < 0;
  }
  return finish("sim rlscheduler", simulate_published(*flags));
}

}  // namespace millrace
