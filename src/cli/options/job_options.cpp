// src/cli/options/job_options.cpp - see job_options.h; rows in the order of --help.
#include "cli/options/job_options.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/log_level.h"
#include "base/text.h"
#include "cli/options/extra_setters.h"
#include "cli/options/job_values.h"
#include "cli/options/resource_setters.h"
#include "core/model/mpi_type.h"
#include "core/model/sluid.h"

namespace millrace {
namespace {

using Draft = JobDraft;
using Text = std::string_view;
using enum ArgKind;
constexpr std::uint8_t A = salloc, B = sbatch, R = srun, RA = srun | salloc, with_tasks = sbatch | srun,
                       BR = sbatch | srun | salloc;

Result<void> invalid(Text option) { return fail(Errc::invalid, "Invalid --" + std::string{option} + " specification"); }

Result<void> set_tasks(Draft& d, Text v) {
  const auto number = parse_integer(v);
  if (number && *number < 1) return fail(Errc::refused, "invalid number of tasks (-n " + std::string{v} + ")");
  MR_TRY(const std::uint32_t tasks, parse_positive("ntasks", v));
  d.job.set_tasks(tasks);
  return {};
}

Result<void> set_cpus_per_task(Draft& d, Text v) {
  const auto number = parse_integer(v);
  if (number && *number < 1) return fail(Errc::refused, "invalid number of cpus per task (-c " + std::string{v} + ")");
  MR_TRY(const std::uint32_t cpus, parse_positive("cpus-per-task", v));
  d.job.set_cpus_per_task(cpus);
  return {};
}

Result<void> set_nodes(Draft& d, Text v) {
  MR_TRY(const NodeCount count, parse_node_count(v));
  d.job.set_min_nodes(count.least);
  d.job.set_max_nodes(count.most);
  if (!count.counts.empty())
    d.job.mutable_resources()->set_node_counts(count.counts);
  else if (d.job.resources().has_node_counts())
    d.job.mutable_resources()->clear_node_counts();
  return {};
}

Result<void> set_tasks_per_node(Draft& d, Text v) {
  MR_TRY(const std::uint32_t tasks, parse_positive("ntasks-per-node", v));
  d.job.set_tasks_per_node(tasks);
  return {};
}

Result<void> set_min_cpus(Draft& d, Text v) {
  MR_TRY(const std::uint32_t cpus, parse_positive("mincpus", v));
  d.job.set_min_cpus_per_node(cpus);
  return {};
}

Result<void> set_memory(Draft& d, Text v) {
  const auto size = parse_size_mib(v);
  if (!size) return invalid("mem");
  d.job.clear_memory_per_cpu_mib();
  if (d.job.has_resources()) d.job.mutable_resources()->clear_memory_per_gpu_mib();
  d.job.set_memory_per_node_mib(*size);
  return {};
}

Result<void> set_memory_per_cpu(Draft& d, Text v) {
  const auto size = parse_size_mib(v);
  if (!size) return invalid("mem-per-cpu");
  d.job.clear_memory_per_node_mib();
  if (d.job.has_resources()) d.job.mutable_resources()->clear_memory_per_gpu_mib();
  d.job.set_memory_per_cpu_mib(*size);
  return {};
}

Result<void> set_time(Draft& d, Text v) {
  const auto minutes = parse_limit_minutes(v);
  if (!minutes) return invalid("time");
  d.job.set_time_limit_minutes(*minutes);
  return {};
}

Result<void> set_begin(Draft& d, Text v) {
  const std::int64_t now = time(nullptr);
  const auto begin = parse_time_of_day(v, now);
  if (!begin) return invalid("begin");
  d.job.set_begin_at_us(*begin <= now ? 0 : *begin * 1'000'000);
  return {};
}

Result<void> set_required_nodes(Draft& d, Text v) {
  MR_TRY(*d.job.mutable_required_nodes(), node_list(v));
  return {};
}

Result<void> set_excluded_nodes(Draft& d, Text v) {
  MR_TRY(*d.job.mutable_excluded_nodes(), node_list(v));
  return {};
}

Result<void> set_exclusive(Draft& d, Text v) {
  if (v == "mcs" || v == "topo") return not_built("--exclusive=" + std::string{v});
  if (v == "user") {
    d.job.mutable_resources()->set_exclusive_user(true);
    return {};
  }
  if (!v.empty() && v != "exclusive" && v != "yes" && v != "1") return invalid("exclusive");
  d.job.set_exclusive(true);
  return {};
}

Result<void> set_nice(Draft& d, Text v) {
  if (v.empty()) {
    d.job.set_nice(100);
    return {};
  }
  const auto number = parse_integer(v);
  if (!number) return fail(Errc::refused, "Invalid numeric value \"" + std::string{v} + "\" for --nice.");
  constexpr std::int64_t limit = 2147483645;
  if (*number > limit || *number < -limit)
    return fail(Errc::invalid, "Invalid --nice value, must be between -2147483645 and 2147483645");
  d.job.set_nice(static_cast<std::int32_t>(*number));
  return {};
}

Result<void> set_requeue(Draft& d, Text v) {
  if (v == "expedite") return not_built("--requeue=expedite");
  if (!v.empty() && v != "1" && v != "yes") return invalid("requeue");
  d.job.set_requeue(true);
  return {};
}

Result<void> set_priority(Draft& d, Text v) {
  if (equals_ignoring_case(v, "top")) {  // what the controller lets only administrators ask for
    d.job.set_priority(UINT32_MAX - 2);
    return {};
  }
  const auto number = parse_integer(v);
  if (!number || *number < 0 || *number >= UINT32_MAX - 1) return invalid("priority");
  d.job.set_priority(static_cast<std::uint32_t>(*number));
  return {};
}

Result<void> set_open_mode(Draft& d, Text v) {
  const char first = v.empty() ? '\0' : v[0];
  if (first != 'a' && first != 'A' && first != 't' && first != 'T') return invalid("open-mode");
  d.job.set_open_mode(first == 'a' || first == 'A' ? wire::JobDescription::append : wire::JobDescription::truncate);
  return {};
}

Result<void> set_kill_on_invalid_dependency(Draft& d, Text v) {
  const bool on = equals_ignoring_case(v, "yes");
  if (!on && !equals_ignoring_case(v, "no")) return invalid("kill-on-invalid-dep");
  d.job.set_kill_on_invalid_dependency(on);
  return {};
}

Result<void> set_kill_on_bad_exit(Draft& d, Text v) {
  if (!v.empty() && v != "0" && v != "1") return invalid("kill-on-bad-exit");
  d.kill_on_bad_exit = v != "0";
  return {};
}

Result<void> set_wait_seconds(Draft& d, Text v) {
  const auto number = parse_integer(v);
  if (!number || *number < 0 || *number > INT32_MAX)
    return fail(Errc::refused, "Invalid numeric value \"" + std::string{v} + "\" for --wait.");
  d.wait_seconds = number;
  return {};
}

Result<void> set_job_id(Draft& d, Text v) {
  const std::size_t underscore = std::min(v.find('_'), v.size());
  if (looks_like_sluid(v.substr(0, underscore))) {
    if (!parse_sluid(v.substr(0, underscore))) return fail(Errc::refused, "SLUID is invalid: " + std::string{v});
    d.job_sluid = v;
    return {};
  }
  d.job_sluid.clear();
  const auto number = parse_integer(v.substr(0, underscore));
  d.job_task = v.substr(std::min(underscore + 1, v.size()));
  if (underscore < v.size() && parse_integer(d.job_task).value_or(-1) < 0)
    return fail(Errc::refused, "Invalid --jobid specification '" + std::string{v} + "': 12 or 12_3 would be right");
  if (!number || *number < 1 || *number > UINT32_MAX)
    return fail(Errc::refused, "Invalid numeric value \"" + std::string{v} + "\" for --jobid.");
  d.job_id = static_cast<std::uint32_t>(*number);
  return {};
}

Result<void> set_relative(Draft& d, Text v) {
  const auto number = parse_integer(v);
  if (!number || *number < 0 || *number > UINT32_MAX)
    return fail(Errc::refused, "Invalid numeric value \"" + std::string{v} + "\" for --relative.");
  d.first_node = static_cast<std::uint32_t>(*number);
  return {};
}

Result<void> set_mpi(Draft& d, Text v) {
  d.list_mpi = v == "list";
  if (d.list_mpi) return {};
  const auto type = parse_mpi_type(v);
  if (!type) return fail(Errc::invalid, "Invalid --mpi specification: " + type.error().story);
  d.mpi_given = true;
  d.job.mutable_step_options()->set_mpi(*type);
  return {};
}

// The nodes have another working directory than the shell that named it.
Result<std::string> full_path(Text v) {
  if (v.empty()) return fail(Errc::invalid, "a program has no name");
  if (v[0] == '/') return std::string{v};
  char here[4096];
  return (getcwd(here, sizeof here) != nullptr ? std::string{here} + "/" : std::string{}) + std::string{v};
}

Result<void> set_propagate(Draft& d, Text v) {
  const std::string list = v.empty() ? "ALL" : std::string{v};
  MR_TRY_VOID(limit_names(list));
  d.propagate = list;
  return {};
}

Result<void> set_signal(Draft& d, Text v) {
  const auto wrong = [&](std::string_view what) {
    return fail(Errc::invalid, "Invalid --signal specification '" + std::string{v} + "': " + std::string{what});
  };
  wire::JobSignal signal;
  std::string_view rest = v;
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    for (const char letter : rest.substr(0, colon)) {
      if (letter != 'B' && letter != 'R') return wrong("only B and R may stand before the colon");
      if (letter == 'R') return not_built("--signal=R: (a signal before reservations)");
      signal.set_batch_only(true);
    }
    rest.remove_prefix(colon + 1);
  }
  const std::size_t at = rest.find('@');
  const auto number = parse_signal(rest.substr(0, at));
  if (!number || *number == 0) return wrong("no such signal");
  const auto seconds =
      at == std::string_view::npos ? std::optional<std::int64_t>{60} : parse_integer(rest.substr(at + 1));
  if (!seconds || *seconds < 0 || *seconds > 65535) return wrong("seconds before the end are 0 to 65535");
  signal.set_signal(*number);
  signal.set_seconds(static_cast<std::uint32_t>(*seconds));
  *d.job.mutable_step_options()->mutable_signal() = signal;
  return {};
}

Result<void> set_het_group(Draft& d, Text v) {
  const auto groups = parse_index_set(v, 127);
  if (!groups || groups->empty())
    return fail(Errc::invalid, "--het-group=" + std::string{v} +
                                   ": numbers of components from 0 to 127 are expected, as 1, 0-2 or 0,3");
  d.het_group = groups;
  return {};
}

Result<void> set_environment_flag(bool& field, Text v) {  // SLURM_LABELIO=0 means no
  field = v != "0" && !equals_ignoring_case(v, "no") && !equals_ignoring_case(v, "false");
  return {};
}

// From the environment it is a level.
Result<void> set_supervisor_level(Draft& d, Text v) {
  const auto level = parse_log_level(v);
  if (!level)
    return fail(Errc::invalid,
                "invalid --slurmd-debug '" + std::string{v} +
                    "'; 0 to 9, or quiet, fatal, error, info, verbose, debug, debug2 to debug5 would be right");
  d.job.mutable_step_options()->set_supervisor_level(static_cast<std::uint32_t>(*level));
  return {};
}
Result<void> set_verbose(Draft& d, Text v) {
  d.verbose =
      v.empty() ? d.verbose + 1 : static_cast<int>(std::clamp<std::int64_t>(parse_integer(v).value_or(0), 0, 9));
  return {};
}

Result<void> set_name(Draft& d, Text v) {
  d.job.set_name(std::string{v});
  d.name_given = true;
  return {};
}

Result<void> set_export(Draft& d, Text v) {
  d.export_list = v;
  d.export_given = true;
  d.job.set_export_env(std::string{v});
  return {};
}

Result<void> set_partition(Draft& d, Text v) {
  d.job.set_partition(std::string{v});
  return {};
}

// clang-format off
constexpr JobOption rows[] = {
    {"account", 'A', required, "<name>", BR, "SBATCH_ACCOUNT", "SLURM_ACCOUNT", "charge the job to this account", [](Draft& d, Text v) -> Result<void> { d.job.set_account(std::string{v}); return {}; }},
    {"array", 'a', required, "<indexes>", B, "SBATCH_ARRAY_INX", "", "submit an array: 0-9, 1,3,5, 0-15:4, with %N at most N at once", [](Draft& d, Text v) -> Result<void> { d.job.set_array(std::string{v}); return {}; }},
    {"begin", 'b', required, "<time>", BR, "", "", "do not start before this time: 16:00, 2026-11-15T07:00, now+1hour, tomorrow", set_begin},
    {"chdir", 'D', required, "<directory>", BR, "", "SLURM_WORKING_DIR,SLURM_REMOTE_CWD", "working directory of the job", [](Draft& d, Text v) -> Result<void> { d.job.set_work_dir(std::string{v}); return {}; }},
    {"comment", '\0', required, "<text>", BR, "", "", "comment kept with the job", [](Draft& d, Text v) -> Result<void> { d.job.set_comment(std::string{v}); return {}; }},
    {"cpus-per-task", 'c', required, "<count>", BR, "", "SRUN_CPUS_PER_TASK,SLURM_CPUS_PER_TASK", "processors for each task", set_cpus_per_task},
    {"dependency", 'd', required, "<list>", BR, "", "SLURM_DEPENDENCY", "wait for other jobs: afterok:12:13, afterany:, after:, afternotok:, aftercorr:, singleton; comma for and, ? for or", [](Draft& d, Text v) -> Result<void> { d.job.set_dependency(std::string{v}); return {}; }},
    {"error", 'e', required, "<file>", with_tasks, "SBATCH_ERROR", "SLURM_STDERRMODE,SRUN_ERROR", "file for standard error; without it, it goes with standard output", [](Draft& d, Text v) -> Result<void> { d.job.set_std_err(std::string{v}); return {}; }},
    {"exclude", 'x', required, "<nodes>", BR, "", "", "nodes not to use, as a list or a file with a /", set_excluded_nodes},
    {"exclusive", '\0', optional, "[=user]", BR, "SBATCH_EXCLUSIVE", "SLURM_EXCLUSIVE", "whole nodes, shared with no other job; =user: with no other user's", set_exclusive},
    {"export", '\0', required, "<ALL|NONE|NIL|list>", with_tasks, "SBATCH_EXPORT", "SRUN_EXPORT_ENV,SLURM_EXPORT_ENV", "which variables of the environment the job gets", set_export},
    {"help", 'h', none, "", BR, "", "", "show this text", [](Draft& d, Text) -> Result<void> { d.help = true; return {}; }},
    {"hold", 'H', none, "", BR, "", "", "submit held; scontrol release lets it start", [](Draft& d, Text) -> Result<void> { d.job.set_hold(true); return {}; }},
    {"ignore-pbs", '\0', none, "", B, "SBATCH_IGNORE_PBS", "", "do not read #PBS and #BSUB lines", [](Draft& d, Text) -> Result<void> { d.ignore_pbs = true; return {}; }},
    {"input", 'i', required, "<file>", with_tasks, "SBATCH_INPUT", "SLURM_STDINMODE,SRUN_INPUT", "file for standard input", [](Draft& d, Text v) -> Result<void> { d.job.set_std_in(std::string{v}); return {}; }},
    {"job-name", 'J', required, "<name>", BR, "SBATCH_JOB_NAME", "SLURM_JOB_NAME", "name of the job", set_name},
    {"kill-on-bad-exit", 'K', optional, "[=0|1]", R, "", "SLURM_KILL_BAD_EXIT", "end the job when one task fails", set_kill_on_bad_exit},
    {"kill-on-invalid-dep", '\0', required, "<yes|no>", B, "", "", "cancel the job when its dependency can never be met", set_kill_on_invalid_dependency},
    {"label", 'l', none, "", R, "", "SLURM_LABELIO", "put the task number before each line of output", [](Draft& d, Text v) -> Result<void> { return set_environment_flag(d.label, v); }},
    {"mem", '\0', required, "<size>", BR, "SBATCH_MEM_PER_NODE", "SLURM_MEM_PER_NODE", "memory per node, MiB or with K, M, G, T; 0 is all of it", set_memory},
    {"mem-per-cpu", '\0', required, "<size>", BR, "SBATCH_MEM_PER_CPU", "SLURM_MEM_PER_CPU", "memory per processor", set_memory_per_cpu},
    {"mincpus", '\0', required, "<count>", BR, "", "", "least number of processors per node", set_min_cpus},
    {"nice", '\0', optional, "[=<value>]", BR, "", "", "let other jobs go first, by this much; 100 without a value", set_nice},
    {"no-requeue", '\0', none, "", B, "SBATCH_NO_REQUEUE", "", "never requeue the job", [](Draft& d, Text) -> Result<void> { d.job.set_requeue(false); return {}; }},
    {"nodelist", 'w', required, "<nodes>", BR, "", "", "nodes the job must have, as a list or a file with a /", set_required_nodes},
    {"nodes", 'N', required, "<min[-max]|sizes>", BR, "", "SLURM_JOB_NUM_NODES,SLURM_NNODES", "number of nodes; one of these with 1,3-7:2", set_nodes},
    {"ntasks", 'n', required, "<count>", BR, "", "SLURM_NTASKS,SLURM_NPROCS", "number of tasks", set_tasks},
    {"ntasks-per-node", '\0', required, "<count>", BR, "", "SLURM_NTASKS_PER_NODE", "number of tasks on each node", set_tasks_per_node},
    {"tasks-per-node", '\0', required, "<count>", BR, "", "", "the same as --ntasks-per-node", set_tasks_per_node},
    {"open-mode", '\0', required, "<append|truncate>", with_tasks, "SBATCH_OPEN_MODE", "SLURM_OPEN_MODE", "how output files are opened", set_open_mode},
    {"output", 'o', required, "<file>", with_tasks, "SBATCH_OUTPUT", "SLURM_STDOUTMODE,SRUN_OUTPUT", "file for standard output; %j is the job's id, %A and %a of an array, %x its name", [](Draft& d, Text v) -> Result<void> { d.job.set_std_out(std::string{v}); return {}; }},
    {"parsable", '\0', none, "", B, "", "", "print the id alone", [](Draft& d, Text) -> Result<void> { d.parsable = true; return {}; }},
    {"partition", 'p', required, "<name,...>", BR, "SBATCH_PARTITION", "SLURM_PARTITION", "partition to run in; of several, the first that can start the job", set_partition},
    {"priority", '\0', required, "<value|TOP>", BR, "", "", "of an administrator: set the priority; TOP: before all others", set_priority},
    {"qos", 'q', required, "<name>", BR, "SBATCH_QOS", "SLURM_QOS", "quality of service", [](Draft& d, Text v) -> Result<void> { d.job.set_qos(std::string{v}); return {}; }},
    {"quiet", 'Q', none, "", BR, "", "", "print errors only", [](Draft& d, Text) -> Result<void> { d.quiet = true; return {}; }},
    {"requeue", '\0', optional, "", B, "SBATCH_REQUEUE", "", "the job may be requeued", set_requeue},
    {"test-only", '\0', none, "", with_tasks, "", "", "say when the job would start; do not submit it", [](Draft& d, Text) -> Result<void> { d.test_only = true; return {}; }},
    {"time", 't', required, "<limit>", BR, "SBATCH_TIMELIMIT", "SLURM_TIMELIMIT", "time limit: minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S", set_time},
    {"unbuffered", 'u', none, "", R, "", "SLURM_UNBUFFEREDIO", "pass output on at once, not line by line", [](Draft& d, Text v) -> Result<void> { return set_environment_flag(d.unbuffered, v); }},
    {"usage", '\0', none, "", BR, "", "", "show a short summary", [](Draft& d, Text) -> Result<void> { d.usage = true; return {}; }},
    {"verbose", 'v', none, "", BR, "SBATCH_DEBUG,SLURM_DEBUG", "SRUN_DEBUG,SLURM_DEBUG", "say what is done; more with -vv, and so on", set_verbose},
    {"version", 'V', none, "", BR, "", "", "show the version", [](Draft& d, Text) -> Result<void> { d.version = true; return {}; }},
    {"wait", 'W', none, "", B, "SBATCH_WAIT", "", "wait until the job ended and end with its exit code", [](Draft& d, Text) -> Result<void> { d.wait = true; return {}; }},
    {"wait", 'W', required, "<seconds>", R, "", "SLURM_WAIT", "end the job this long after its first task ended", set_wait_seconds},
    {"disable-status", 'X', none, "", R, "", "SLURM_DISABLE_STATUS", "pass Ctrl-C on to the tasks at once", [](Draft& d, Text v) -> Result<void> { return set_environment_flag(d.disable_status, v); }},
    {"wrap", '\0', required, "<command>", B, "", "", "run this command line instead of a script", [](Draft& d, Text v) -> Result<void> { d.wrap = std::string{v}; return {}; }},
    {"constraint", 'C', required, "<features>", BR, "SBATCH_CONSTRAINT", "SLURM_CONSTRAINT", "features the nodes must have: a&b, a|b, [a|b] for the same one on all, [a*2&b*4] for so many of each", resource::constraint},
    {"contiguous", '\0', none, "", BR, "", "", "nodes that follow each other", resource::contiguous},
    {"cores-per-socket", '\0', required, "<count>", BR, "", "SLURM_NCORES_PER_SOCKET", "nodes with at least so many cores per socket", resource::cores_per_socket},
    {"cpus-per-gpu", '\0', required, "<count>", BR, "SBATCH_CPUS_PER_GPU", "SLURM_CPUS_PER_GPU", "processors for each gpu", resource::cpus_per_gpu},
    {"deadline", '\0', required, "<time>", BR, "", "", "the job must have ended by this time", resource::deadline},
    {"distribution", 'm', required, "<order>", BR, "SBATCH_DISTRIBUTION", "SLURM_DISTRIBUTION", "order of tasks over nodes: block, cyclic, plane=N or arbitrary, then :sockets:cores", resource::distribution},
    {"extra-node-info", 'B', required, "<S[:C[:T]]>", BR, "", "", "nodes with at least so many sockets, cores per socket, threads per core", resource::extra_node_info},
    {"gpus", 'G', required, "<[type:]count>", BR, "SBATCH_GPUS", "SLURM_GPUS", "gpus of the whole job", resource::gpus},
    {"gpus-per-node", '\0', required, "<[type:]count>", BR, "SBATCH_GPUS_PER_NODE", "SLURM_GPUS_PER_NODE", "gpus on each node", resource::gpus_per_node},
    {"gpus-per-socket", '\0', required, "<[type:]count>", BR, "SBATCH_GPUS_PER_SOCKET", "SLURM_GPUS_PER_SOCKET", "gpus near each of --sockets-per-node sockets", resource::gpus_per_socket},
    {"gpus-per-task", '\0', required, "<[type:]count>", BR, "SBATCH_GPUS_PER_TASK", "SLURM_GPUS_PER_TASK", "gpus for each task", resource::gpus_per_task},
    {"gres", '\0', required, "<name[[:type]:count],...>", BR, "SBATCH_GRES", "SLURM_GRES", "generic resources on each node", resource::gres},
    {"gres-flags", '\0', required, "<list>", BR, "SBATCH_GRES_FLAGS", "SLURM_GRES_FLAGS", "enforce-binding: only cores near the devices; disable-binding: any core", resource::gres_flags},
    {"hint", '\0', required, "<type>", BR, "SBATCH_HINT,SLURM_HINT", "SLURM_HINT", "nomultithread, multithread, compute_bound or memory_bound", resource::hint},
    {"licenses", 'L', required, "<name[:count],...>", BR, "", "", "licenses of the cluster; comma for all of them, | for one of them", resource::licenses},
    {"mem-per-gpu", '\0', required, "<size>", BR, "SBATCH_MEM_PER_GPU", "SLURM_MEM_PER_GPU", "memory for each gpu", resource::memory_per_gpu},
    {"ntasks-per-core", '\0', required, "<count>", BR, "SBATCH_NTASKS_PER_CORE", "SLURM_NTASKS_PER_CORE", "most tasks on one core", resource::tasks_per_core},
    {"ntasks-per-gpu", '\0', required, "<count>", BR, "SBATCH_NTASKS_PER_GPU", "SLURM_NTASKS_PER_GPU", "tasks for each gpu; the number of tasks or of gpus follows", resource::tasks_per_gpu},
    {"ntasks-per-socket", '\0', required, "<count>", BR, "SBATCH_NTASKS_PER_SOCKET", "SLURM_NTASKS_PER_SOCKET", "most tasks on one socket", resource::tasks_per_socket},
    {"oversubscribe", 's', none, "", BR, "", "", "the job may share its resources where the partition allows it", resource::oversubscribe},
    {"prefer", '\0', required, "<features>", BR, "", "", "features the nodes should have", resource::prefer},
    {"reservation", '\0', required, "<name>", BR, "SBATCH_RESERVATION", "SLURM_RESERVATION", "run within this reservation", resource::reservation},
    {"share", '\0', none, "", BR, "", "", "the same as --oversubscribe", resource::oversubscribe},
    {"sockets-per-node", '\0', required, "<count>", BR, "", "SLURM_NSOCKETS_PER_NODE", "nodes with at least so many sockets", resource::sockets_per_node},
    {"spread-job", '\0', none, "", BR, "SBATCH_SPREAD_JOB", "SLURM_SPREAD_JOB", "over as many nodes as possible", resource::spread_job},
    {"switches", '\0', required, "<count[@time]>", BR, "SBATCH_REQ_SWITCH", "SLURM_REQ_SWITCH", "at most so many leaf switches; how long to wait for that", resource::switches},
    {"threads-per-core", '\0', required, "<count>", BR, "SBATCH_THREADS_PER_CORE", "SLURM_THREADS_PER_CORE", "use so many threads of each core", resource::threads_per_core},
    {"time-min", '\0', required, "<limit>", BR, "", "", "the time limit may be shortened down to this", resource::time_min},
    {"tmp", '\0', required, "<size>", BR, "", "", "nodes with so much temporary disk, MiB or with K, M, G, T", resource::tmp},
    {"tres-per-task", '\0', required, "<list>", BR, "SBATCH_TRES_PER_TASK", "SLURM_TRES_PER_TASK", "resources for each task: cpu:2,gres/gpu:1", resource::tres_per_task},
    {"use-min-nodes", '\0', none, "", BR, "SBATCH_USE_MIN_NODES", "SLURM_USE_MIN_NODES", "of a range of nodes, as few as possible", resource::use_min_nodes},
    {"accel-bind", '\0', required, "<letters>", R, "", "", "old form of --gpu-bind: g for the nearest gpu; n (network) and v (verbose) with it", extra::accel_bind},
    {"acctg-freq", '\0', required, "<list>", BR, "SBATCH_ACCTG_FREQ", "SLURM_ACCTG_FREQ", "seconds between looks at the usage of tasks: task=30, or 30; other kinds are taken and not sampled", extra::acctg_freq},
    {"async", '\0', none, "", R, "", "", "in a job: start the step, print its number and leave it to itself; its output goes to slurm-JOB.STEP.out unless --output says where; swait waits for it", [](Draft& d, Text) -> Result<void> { d.async = true; return {}; }},
    {"batch", '\0', required, "<features>", B, "SBATCH_BATCH", "", "features of the node that runs the script; --constraint names them too", [](Draft& d, Text v) -> Result<void> { d.job.mutable_extras()->set_batch_features(std::string{v}); return {}; }},
    {"bbf", '\0', required, "file", BR, "", "", "burst buffer file", nullptr, Effect::refused, "there are no burst buffers"},
    {"bcast", '\0', optional, "[=<path>]", R, "", "SLURM_BCAST", "inside a job: copy the program to its nodes first, to this path", [](Draft& d, Text v) -> Result<void> { d.bcast = std::string{v}; return {}; }},
    {"bcast-exclude", '\0', required, "<folders>", R, "", "SLURM_BCAST_EXCLUDE", "libraries below these are not copied by --send-libs", [](Draft& d, Text v) -> Result<void> { d.bcast_exclude = std::string{v}; return {}; }},
    {"bb", '\0', required, "spec", BR, "", "SLURM_BURST_BUFFER", "burst buffer", nullptr, Effect::refused, "there are no burst buffers"},
    {"consolidate-segments", '\0', none, "", BR, "SBATCH_CONSOLIDATE_SEGMENTS", "SLURM_CONSOLIDATE_SEGMENTS", "segments in as few blocks as possible", resource::consolidate_segments},
    {"cluster-constraint", '\0', required, "features", BR, "SBATCH_CLUSTER_CONSTRAINT", "SLURM_CLUSTER_CONSTRAINT", "features of the cluster", nullptr, Effect::refused, "there is no federation"},
    {"clusters", 'M', required, "<names>", BR, "SBATCH_CLUSTERS,SLURM_CLUSTERS", "SLURM_CLUSTERS", "this cluster by its name, or all; there are no others", [](Draft& d, Text v) -> Result<void> { d.clusters = std::string{v}; return {}; }},
    {"cluster", '\0', required, "<names>", BR, "", "", "the same as --clusters", [](Draft& d, Text v) -> Result<void> { d.clusters = std::string{v}; return {}; }},
    {"compress", '\0', optional, "[=zlib|none]", R, "", "SLURM_COMPRESS", "pack what --bcast copies for its way", [](Draft& d, Text v) -> Result<void> { d.bcast_compress = std::string{v}; return {}; }},
    {"container", '\0', required, "path", BR, "SBATCH_CONTAINER", "SRUN_CONTAINER", "run in this OCI bundle: a folder with config.json and a root file system", resource::container},
    {"container-id", '\0', required, "id", BR, "SBATCH_CONTAINER_ID", "SRUN_CONTAINER_ID", "OCI container id", nullptr, Effect::refused, "the runtime names containers after their step"},
    {"runtime", '\0', required, "name", BR, "", "SRUN_RUNTIME", "container runtime", nullptr, Effect::refused, "crun or runc, whichever the node has, is taken"},
    {"context", '\0', required, "spec", BR, "", "", "SELinux context", nullptr, Effect::refused, "contexts of SELinux are not set"},
    {"core-spec", 'S', required, "<count>", BR, "SBATCH_CORE_SPEC", "SLURM_CORE_SPEC", "whole nodes, with so many cores of each left to the system, whatever the node's line says (0: none); where AllowSpecResourcesUsage is set", extra::core_spec},
    {"cpu-bind", '\0', required, "type", R, "", "SLURM_CPU_BIND", "binding of tasks to processors: none, threads, cores, sockets, ldoms, map_cpu:LIST, mask_cpu:LIST ...; quiet, or verbose, in front", resource::cpu_bind},
    {"cpu_bind", '\0', required, "type", R, "", "", "old name of --cpu-bind", resource::cpu_bind},
    {"cpu-freq", '\0', required, "<p1[-p2][:governor]>", BR, "SBATCH_CPU_FREQ_REQ", "SLURM_CPU_FREQ_REQ", "frequency of processors", extra::cpu_freq, Effect::no_effect, "recorded; frequencies stay as the system has them"},
    {"debugger-test", '\0', none, "", R, "", "", "debugger interface", nullptr, Effect::refused, "there is no interface for parallel debuggers"},
    {"delay-boot", '\0', required, "<minutes>", BR, "SBATCH_DELAY_BOOT", "SLURM_DELAY_BOOT", "how long to wait before nodes are rebooted for features", extra::delay_boot, Effect::no_effect, "recorded and shown; nodes are not rebooted for features"},
    {"epilog", '\0', required, "<program>", R, "", "SLURM_EPILOG", "run by srun itself when all tasks have ended; none: not even that of slurm.conf", [](Draft& d, Text v) -> Result<void> { d.srun_epilog = std::string{v}; return {}; }},
    {"exact", '\0', none, "", R, "", "SLURM_EXACT", "exactly what was asked for", [](Draft& d, Text v) -> Result<void> { return set_environment_flag(d.exact, v); }},
    {"export-file", '\0', required, "<file|fd>", B, "", "", "variables of the environment from a file or an open descriptor, NAME=value, each ended by NUL", [](Draft& d, Text v) -> Result<void> { d.export_file = std::string{v}; return {}; }},
    {"external", '\0', none, "", B, "", "", "nodes without a script: somebody else starts programs there; scancel ends the job", [](Draft& d, Text) -> Result<void> { d.external = true; return {}; }},
    {"external-launcher", '\0', optional, "[=<options>]", R, "", "SLURM_EXTERNAL_LAUNCHER", "a step for the agents of another launcher (mpirun): all of its nodes, beside any other step", [](Draft& d, Text) -> Result<void> { d.overlap = true; d.whole = true; return {}; }},
    {"extra", '\0', required, "<text>", BR, "", "", "text kept with the job", [](Draft& d, Text v) -> Result<void> { d.job.mutable_extras()->set_extra(std::string{v}); return {}; }},
    {"get-user-env", '\0', optional, "[=[seconds][S|L]]", B, "SBATCH_GET_USER_ENV", "", "the environment that a login of the user on the node has; the submitter's variables go over it", extra::get_user_env},
    {"gid", '\0', required, "<group>", B, "", "", "of root: run with this group", extra::gid},
    {"gpu-bind", '\0', required, "type", BR, "SBATCH_GPU_BIND", "SLURM_GPU_BIND", "binding of tasks to GPUs: closest, single:N, per_task:N, map_gpu:LIST, mask_gpu:LIST or none", resource::gpu_bind},
    {"tres-bind", '\0', required, "spec", BR, "SBATCH_TRES_BIND", "SLURM_TRES_BIND", "binding of tasks to GPUs in another form: gres/gpu:closest", resource::tres_bind},
    {"gpu-freq", '\0', required, "<spec>", BR, "SBATCH_GPU_FREQ", "SLURM_GPU_FREQ", "frequency of GPUs", extra::gpu_freq, Effect::no_effect, "recorded; frequencies stay as the system has them"},
    {"treewidth", '\0', required, "<n|off>", R, "", "", "fan-out of the launch", extra::tree_width, Effect::no_effect, "nodes are told one by one, by the first of them"},
    {"ignore-signals", '\0', required, "<list>", R, "", "", "signals that srun neither obeys nor passes on", extra::ignore_signals},
    {"no-shell", '\0', none, "", A, "", "", "allocate and leave; scancel ends the allocation", [](Draft& d, Text) -> Result<void> { d.no_shell = true; return {}; }},
    {"bell", '\0', none, "", A, "SALLOC_BELL", "", "ring the terminal when the nodes are there; without it: when that took more than ten seconds", [](Draft& d, Text) -> Result<void> { d.bell = true; return {}; }},
    {"no-bell", '\0', none, "", A, "SALLOC_NO_BELL", "", "do not ring", [](Draft& d, Text) -> Result<void> { d.bell = false; return {}; }},
    {"kill-command", 'K', optional, "[=<signal>]", A, "SALLOC_KILL_CMD", "", "signal to the command when the allocation ends before it; TERM without a value", extra::kill_command},
    {"immediate", 'I', optional, "[=<seconds>]", RA, "SALLOC_IMMEDIATE", "SLURM_IMMEDIATE", "start within so many seconds (1) or give up", extra::immediate},
    {"interactive", '\0', none, "", R, "", "", "the shell of salloc on the first node of a job, beside its steps: salloc says it where LaunchParameters=use_interactive_step", [](Draft& d, Text) -> Result<void> { d.interactive_step = true; return {}; }},
    {"jobid", '\0', required, "<id>", R, "", "", "run in this job, 12 or 12_3 or by its SLUID", [](Draft& d, Text v) -> Result<void> { return set_job_id(d, v); }},
    {"mail-type", '\0', required, "<list>", BR, "", "", "mail on NONE, BEGIN, END, FAIL, REQUEUE, INVALID_DEPEND, TIME_LIMIT, TIME_LIMIT_90, TIME_LIMIT_80, TIME_LIMIT_50 or ALL; ARRAY_TASKS: for each task of an array", extra::mail_type},
    {"mail-user", '\0', required, "<address>", BR, "", "", "who gets mail; without it the submitter", [](Draft& d, Text v) -> Result<void> { d.job.mutable_extras()->set_mail_user(std::string{v}); return {}; }},
    {"threads", 'T', required, "<count>", R, "", "SLURM_THREADS", "connections of the launch at a time", extra::any_number, Effect::no_effect, "one connection for each node, all at a time"},
    {"mcs-label", '\0', required, "label", BR, "", "", "security category", nullptr, Effect::refused, "there are no security categories (MCSPlugin=mcs/none)"},
    {"oom-kill-step", '\0', optional, "", BR, "SBATCH_OOM_KILL_STEP", "SLURM_OOM_KILL_STEP", "memory shortage in one task ends the step: 1 (the default when given) or 0", resource::oom_kill_step},
    {"mem-bind", '\0', required, "type", BR, "SBATCH_MEM_BIND", "SLURM_MEM_BIND", "binding of memory: none, local, rank, map_mem:LIST or mask_mem:LIST", resource::mem_bind},
    {"mem-update", '\0', required, "spec", BR, "", "", "lower memory while running", nullptr, Effect::refused, "the memory of a running job does not change"},
    {"mpi", '\0', required, "<type>", R, "", "SLURM_MPI_TYPE", "how tasks of a parallel program find each other: none, pmi2, pmix; list shows what there is", set_mpi},
    {"msg-timeout", '\0', required, "<seconds>", R, "", "", "time-out of the launch", extra::any_number, Effect::no_effect, "a launch is tried until the job ends"},
    {"multi-prog", '\0', none, "", R, "", "SLURM_SRUN_MULTI", "the argument is a file: which tasks run which program", [](Draft& d, Text v) -> Result<void> { return set_environment_flag(d.multi_prog, v); }},
    {"network", '\0', required, "<spec>", BR, "SBATCH_NETWORK", "SLURM_NETWORK", "of the interconnect", [](Draft& d, Text v) -> Result<void> { d.job.mutable_extras()->set_network(std::string{v}); return {}; }, Effect::no_effect, "recorded and shown, and in SLURM_NETWORK; there is no switch plugin"},
    {"no-allocate", 'Z', none, "", R, "", "", "of administrators: on the nodes of --nodelist at once, beside whatever runs there", [](Draft& d, Text) -> Result<void> { d.job.mutable_extras()->set_no_allocate(true); return {}; }},
    {"no-kill", 'k', optional, "[=off]", BR, "SBATCH_NO_KILL", "SLURM_NO_KILL", "go on without nodes that fail; srun: the step too", extra::no_kill},
    {"nodefile", 'F', required, "<file>", BR, "", "", "as --nodelist, from this file", extra::node_file},
    {"ntasks-per-tres", '\0', required, "<count>", BR, "", "SLURM_NTASKS_PER_TRES", "the same as --ntasks-per-gpu", extra::tasks_per_tres},
    {"overcommit", 'O', none, "", BR, "SBATCH_OVERCOMMIT", "SLURM_OVERCOMMIT", "a job: processors for one task on each node, however many there are; a step: more tasks than processors", [](Draft& d, Text v) -> Result<void> { bool on = true; MR_TRY_VOID(set_environment_flag(on, v)); d.job.mutable_extras()->set_overcommit(on); return {}; }},
    {"overlap", '\0', optional, "", R, "", "SLURM_OVERLAP", "share with other steps", [](Draft& d, Text) -> Result<void> { d.overlap = true; return {}; }},
    {"pack-group", '\0', required, "<list>", R, "", "", "the same as --het-group", set_het_group},
    {"het-group", '\0', required, "<list>", R, "", "", "components of the heterogeneous job to run in, counted from 0: 1, 0-2, 0,3", set_het_group},
    {"parsable", '\0', none, "", R, "", "", "with --async: print the number of the step alone", [](Draft& d, Text) -> Result<void> { d.parsable = true; return {}; }},
    {"preserve-env", 'E', none, "", R, "", "", "tasks see SLURM_JOB_NUM_NODES and SLURM_NTASKS as they are here", [](Draft& d, Text) -> Result<void> { d.preserve_env = true; return {}; }},
    {"profile", '\0', required, "<list>", BR, "SBATCH_PROFILE", "SLURM_PROFILE", "all, none, energy, task, filesystem, network", extra::profile, Effect::no_effect, "recorded, and in SLURM_PROFILE; no profiles are written"},
    {"prolog", '\0', required, "<program>", R, "", "SLURM_PROLOG", "run by srun itself before it starts tasks; none: not even that of slurm.conf", [](Draft& d, Text v) -> Result<void> { d.srun_prolog = std::string{v}; return {}; }},
    {"propagate", '\0', optional, "[=<ALL|NONE|list>]", with_tasks, "", "SLURM_PROPAGATE", "which of the shell's limits the job gets: AS, CORE, CPU, DATA, FSIZE, MEMLOCK, NOFILE, NPROC, RSS, STACK", set_propagate},
    {"pty", '\0', optional, "fd", R, "", "", "a terminal for task 0", [](Draft& d, Text v) -> Result<void> { return v.empty() ? (d.pty = true, Result<void>{}) : not_built("--pty=" + std::string{v}); }},
    {"quit-on-interrupt", '\0', none, "", R, "", "", "one Ctrl-C ends the step", [](Draft& d, Text) -> Result<void> { d.quit_on_interrupt = true; return {}; }},
    {"reboot", '\0', none, "", BR, "", "", "of administrators: whole nodes, rebooted before the job begins (RebootProgram)", [](Draft& d, Text) -> Result<void> { d.job.mutable_extras()->set_reboot(true); return {}; }},
    {"relative", 'r', required, "n", R, "", "", "first node of the allocation to use", [](Draft& d, Text v) -> Result<void> { return set_relative(d, v); }},
    {"resources", '\0', required, "spec", BR, "", "", "hierarchical resources", nullptr, Effect::refused, "there are no hierarchical resources"},
    {"resv-ports", '\0', optional, "[=<count>]", BR, "", "SLURM_RESV_PORTS", "ports on its nodes that no other job has, of those in MpiParams: of a step, in SLURM_STEP_RESV_PORTS, without a count as many as it has tasks on a node; of a job for its steps", extra::resv_ports},
    {"segment", '\0', required, "count", BR, "SBATCH_SEGMENT_SIZE", "SRUN_SEGMENT_SIZE", "nodes in groups of so many, each within one block", resource::segment},
    {"send-libs", '\0', optional, "[=yes|no]", R, "", "SLURM_SEND_LIBS", "with --bcast: copy the shared libraries of the program as well", [](Draft& d, Text v) -> Result<void> { d.send_libraries = v != "no" && v != "0"; return {}; }},
    {"signal", '\0', required, "<[B:]signal[@seconds]>", BR, "SBATCH_SIGNAL", "SLURM_SIGNAL", "send the steps this signal so many seconds (60) before the time limit; B: the batch shell only", set_signal},
    {"slurmd-debug", '\0', required, "<level>", R, "", "SLURMD_DEBUG", "what the supervisors of the step say goes to srun's standard error up to this level: quiet, fatal, error, info, verbose, debug ...", set_supervisor_level},
    {"spread-segments", '\0', none, "", BR, "SBATCH_SPREAD_SEGMENTS", "SLURM_SPREAD_SEGMENTS", "each segment in a block of its own", resource::spread_segments},
    {"stepmgr", '\0', none, "", BR, "", "", "steps kept on the job's first node", [](Draft&, Text) -> Result<void> { return {}; }, Effect::no_effect, "it is always so"},
    {"task-epilog", '\0', required, "<program>", R, "", "SLURM_TASK_EPILOG", "run on the node after each task", [](Draft& d, Text v) -> Result<void> { MR_TRY(*d.job.mutable_step_options()->mutable_task_epilog(), full_path(v)); return {}; }},
    {"task-prolog", '\0', required, "<program>", R, "", "SLURM_TASK_PROLOG", "run on the node before each task; its lines \"export N=V\", \"unset N\", \"print text\" act on it", [](Draft& d, Text v) -> Result<void> { MR_TRY(*d.job.mutable_step_options()->mutable_task_prolog(), full_path(v)); return {}; }},
    {"thread-spec", '\0', required, "<count>", BR, "SBATCH_THREAD_SPEC", "SLURM_THREAD_SPEC", "like --core-spec, in threads", extra::thread_spec},
    {"uid", '\0', required, "<user>", B, "", "", "of root: submit for this user", extra::uid},
    {"wait-all-nodes", '\0', required, "<0|1>", B | A, "SBATCH_WAIT_ALL_NODES", "", "wait until all nodes are booted", extra::wait_all_nodes, Effect::no_effect, "it is always so"},
    {"wait-for-children", '\0', none, "", R, "", "", "the step ends with the last process that its tasks have started", [](Draft& d, Text) -> Result<void> { d.job.mutable_step_options()->set_wait_for_children(true); return {}; }},
    {"wckey", '\0', required, "<key>", BR, "SBATCH_WCKEY", "SLURM_WCKEY", "workload characterization key, kept with the job", [](Draft& d, Text v) -> Result<void> { d.job.mutable_extras()->set_wckey(std::string{v}); return {}; }},
    {"whole", '\0', none, "", R, "", "", "all processors of the nodes, also where the step says how many its tasks need", [](Draft& d, Text) -> Result<void> { d.whole = true; return {}; }},
    {"x11", '\0', optional, "all|first|last", RA, "", "MILLRACE_X11", "windows of the tasks on these nodes open on the display of this host; of salloc: for every srun inside", resource::x11},
};
// clang-format on

constexpr bool rows_have_help() {
  for (const JobOption& row : rows)
    if (row.help.empty()) return false;
  return true;
}
static_assert(rows_have_help(), "an option without help does not exist");

}  // namespace

std::span<const JobOption> job_options() { return rows; }

Result<void> check_draft(const JobDraft& draft) {
  if (draft.verbose > 0 && draft.quiet)
    return fail(Errc::refused, "don't specify both --verbose (-v) and --quiet (-Q)");
  return resource::check(draft);
}

}  // namespace millrace
