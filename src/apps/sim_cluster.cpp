// src/apps/sim_cluster.cpp - `millrace sim cluster`: a workload on the nodes and partitions of a slurm.conf.
#include <cstdio>

#include "apps/sim_commands.h"
#include "base/text.h"
#include "config/slurm_conf.h"
#include "controller/loop/config_facts.h"
#include "sim/gantt.h"
#include "sim/swf.h"

namespace millrace {
namespace {

constexpr FlagRow rows[] = {
    {"--conf", "FILE", "slurm.conf of the cluster; required"},
    {"--workload", "FILE", "a trace in SWF (plain or gzip), or our own .csv; required"},
    {"--policy", "P", "who comes first (default: priority, as the cluster orders its queue)"},
    {"--backfill", "B", "who may overtake (default: as slurm.conf says)"},
    {"--estimates", "E",
     "what the planner is told about run times (default: limits, or predicted where slurm.conf says so)"},
    {"--json", "", "one JSON object instead of a table"},
    {"--gantt", "FILE.svg", "draw the schedule, a row per node"},
    {"--help", "", "print this help"},
};
constexpr std::string_view usage =
    "millrace sim cluster --conf slurm.conf --workload FILE [flags]\n"
    "  Every job goes through admission as a user's would: what the cluster would refuse is refused here, and said.\n"
    "  SWF: a job asks for as many tasks as it had processors; its partition number (or else its queue number) k is "
    "the partition\n"
    "  named k, or the k-th of slurm.conf, or for 0 the default one.\n"
    "  CSV: the first line names some of the columns "
    "submit,run,limit,user,account,partition,nodes,tasks,cpus_per_task,mem,gres;\n"
    "  submit, run and limit in seconds, mem in MiB per node, gres as gpu:2 or gpu:a100:2, several joined by +. An "
    "empty value is\n"
    "  \"not asked\". Lines that begin with # are comments.";

// Numbers of queues as names of partitions.
Result<void> name_partitions(Workload& workload, const ClusterConfigured& facts) {
  for (std::size_t i = 1; i < workload.words.size(); ++i) {
    std::string& word = workload.words[i];
    const auto named = [&](const PartitionDef& partition) { return partition.name == word; };
    const auto number = parse_integer(word);
    if (std::ranges::any_of(facts.partitions, named) || !number) continue;
    if (*number > static_cast<std::int64_t>(facts.partitions.size()))
      return fail(Errc::invalid, "the trace has jobs of queue " + word +
                                     ", and slurm.conf has neither a partition of this name nor that many (" +
                                     std::to_string(facts.partitions.size()) + ")");
    word = *number == 0 ? std::string{} : facts.partitions[static_cast<std::size_t>(*number - 1)].name;
  }
  return {};
}

Result<Workload> read_workload(const std::string& path, const ClusterConfigured& facts) {
  if (path.ends_with(".csv") || path.ends_with(".csv.gz")) {
    MR_TRY(const std::string text, read_packed_file(path));
    return parse_workload_csv(text, path);
  }
  MR_TRY(const SwfTrace trace, read_swf(path));
  Workload workload = whole_trace(trace, INT32_MAX, Queues::are_partitions);
  MR_TRY_VOID(in_context(name_partitions(workload, facts), path));
  return workload;
}

Result<int> simulate(const Flags& flags) {
  if (!flags.has("--conf") || !flags.has("--workload") || !flags.rest.empty())
    return fail(Errc::invalid, "`millrace sim cluster --conf slurm.conf --workload FILE` would be right");
  MR_TRY(const Configuration configuration, load_configuration(flags.text("--conf")));
  ClusterConfigured facts = to_facts(configuration, [](const std::string&) { return std::optional<std::uint32_t>{}; });
  std::erase_if(facts.nodes, [](const NodeDef& node) { return node.kind == NodeKind::future; });  // no job gets them
  ReplaySettings settings;
  settings.planner = planner_settings(facts.policy, configuration.scheduler.backfill_jobs_max);
  if (facts.policy.predict_run_times) settings.estimates = Estimates::predicted;
  if (flags.has("--policy") && flags.text("--policy") != "priority") {
    MR_TRY(settings.planner.order, choose_policy(flags.text("--policy")));
  }
  if (flags.has("--backfill")) {
    MR_TRY(settings.planner.backfill, choose(backfill_choices(), "--backfill", flags.text("--backfill")));
  }
  if (flags.has("--estimates")) {
    MR_TRY(settings.estimates, choose(estimate_choices(), "--estimates", flags.text("--estimates")));
    settings.planner.use_expected = true;
  }
  settings.planner.score_origin = trace_time(0);
  settings.keep_shares = flags.has("--gantt");
  settings.progress = progress_bar();
  MR_TRY(const Workload workload, read_workload(flags.text("--workload"), facts));
  const ReplayResult result = replay(workload, facts, settings);
  std::vector<GanttRow> nodes;
  std::int64_t cpus = 0;
  for (const NodeDef& node : facts.nodes) {
    nodes.push_back({node.name, node.cpus.value});
    cpus += node.cpus.value;
  }
  const std::string workload_name = flags.text("--workload");
  Report report{workload_name.substr(workload_name.rfind('/') + 1) + " on cluster " + configuration.cluster_name +
                    ", " + std::to_string(facts.nodes.size()) + " nodes, " + std::to_string(cpus) + " CPUs",
                measure(result.jobs, cpus), workload.notes, flags.has("--json")};
  report.notes.insert(report.notes.end(), result.notes.begin(), result.notes.end());
  if (flags.has("--gantt")) MR_TRY_VOID(write_file(flags.text("--gantt"), gantt_svg(result.jobs, nodes, report.title)));
  print_report(report);
  return 0;
}

}  // namespace

int run_sim_cluster(const Words& words) {
  const auto flags = read_flags(words, rows);
  if (!flags) return say_failure("sim cluster", flags.error().story);
  if (flags->has("--help")) {
    const std::string text =
        flag_help(usage, rows) + choice_help("Policies besides priority, lowest score first:", policy_choices()) +
        choice_help("Backfill:", backfill_choices()) + choice_help("Estimates:", estimate_choices());
    return std::fputs(text.c_str(), stdout) < 0;
  }
  const auto result = simulate(*flags);
  return result ? *result : say_failure("sim cluster", result.error().story);
}

}  // namespace millrace
