// src/cli/options/resource_setters.cpp - see resource_setters.h.
#include "cli/options/resource_setters.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/options/job_values.h"
#include "core/model/cpu_bind.h"
#include "core/model/features.h"
#include "core/model/gres_text.h"
#include "core/model/layout.h"

namespace millrace::resource {
namespace {

using Wishes = wire::ResourceWishes;

Wishes& wishes(JobDraft& d) { return *d.job.mutable_resources(); }

std::unexpected<Error> invalid(Text option, const std::string& why = {}) {
  return fail(Errc::invalid, "Invalid --" + std::string{option} + " specification" + (why.empty() ? "" : ": " + why));
}

Result<void> put_count(JobDraft& d, Text option, Text v, void (Wishes::*set)(std::uint32_t)) {
  MR_TRY(const std::uint32_t count, parse_positive(option, v));
  (wishes(d).*set)(count);
  return {};
}

Result<void> put_gpus(Text option, Text v, std::string& field) {
  const auto parsed = parse_gpu_asks(v, GresScope::job);
  if (!parsed) return invalid(option, parsed.error().story);
  field = v;
  return {};
}

Result<void> put_features(Text option, Text v, std::string& field) {
  const auto parsed = parse_features(v);
  if (!parsed) return invalid(option, parsed.error().story);
  field = v;
  return {};
}

bool says_no(Text v) {
  return v == "0" || equals_ignoring_case(v, "no") || equals_ignoring_case(v, "false");
}  // from the environment

}  // namespace

Result<void> constraint(JobDraft& d, Text v) { return put_features("constraint", v, *wishes(d).mutable_features()); }
Result<void> prefer(JobDraft& d, Text v) { return put_features("prefer", v, *wishes(d).mutable_prefer()); }

Result<void> gres(JobDraft& d, Text v) {
  d.list_gres = v == "help";
  if (d.list_gres) return {};
  const auto parsed = parse_gres_asks(v, GresScope::node);
  if (!parsed) return invalid("gres", parsed.error().story);
  wishes(d).set_gres(std::string{v});
  return {};
}

Result<void> gpus(JobDraft& d, Text v) { return put_gpus("gpus", v, *wishes(d).mutable_gpus()); }
Result<void> gpus_per_node(JobDraft& d, Text v) {
  return put_gpus("gpus-per-node", v, *wishes(d).mutable_gpus_per_node());
}
Result<void> gpus_per_task(JobDraft& d, Text v) {
  return put_gpus("gpus-per-task", v, *wishes(d).mutable_gpus_per_task());
}
Result<void> gpus_per_socket(JobDraft& d, Text v) {
  return put_gpus("gpus-per-socket", v, *wishes(d).mutable_gpus_per_socket());
}

Result<void> tres_per_task(JobDraft& d, Text v) {
  if (v.empty()) return invalid("tres-per-task");
  wishes(d).set_tres_per_task(std::string{v});
  return {};
}

namespace {

constexpr Text flags_not_built[] = {"allow-task-sharing", "multiple-tasks-per-sharing", "one-task-per-sharing"};
bool is_known_flag(Text word) {
  return std::ranges::any_of(flags_not_built, [&](Text flag) { return equals_ignoring_case(word, flag); });
}

}  // namespace

Result<void> gres_flags(JobDraft& d, Text v) {
  for (const Text word : split(v, ','))
    if (!equals_ignoring_case(word, "enforce-binding") && !equals_ignoring_case(word, "disable-binding"))
      return is_known_flag(word)
                 ? fail(Errc::refused, "--gres-flags=" + std::string{word} + " is not built yet in Millrace")
                 : invalid("gres-flags");
  wishes(d).set_gres_flags(std::string{v});
  return {};
}

Result<void> licenses(JobDraft& d, Text v) {
  const auto parsed = parse_licences(v);
  if (!parsed) return invalid("licenses", parsed.error().story);
  wishes(d).set_licenses(std::string{v});
  return {};
}

Result<void> distribution(JobDraft& d, Text v) {
  const auto parsed = parse_distribution(v);
  if (!parsed) return invalid("distribution", parsed.error().story);
  wishes(d).set_distribution(std::string{v});
  return {};
}

// What kind of program it is, as numbers of tasks and threads.
Result<void> hint(JobDraft& d, Text v) {
  if (v == "help")
    return fail(Errc::refused, "--hint is one of nomultithread, multithread, compute_bound, memory_bound");
  if (v != "nomultithread" && v != "multithread" && v != "compute_bound" && v != "memory_bound")
    return fail(Errc::refused, "unrecognized --hint argument \"" + std::string{v} + "\", see --hint=help");
  if (v != "multithread") wishes(d).set_threads_per_core(1);
  if (v == "memory_bound") wishes(d).set_tasks_per_socket(1);
  wishes(d).set_hint(std::string{v});
  return {};
}

Result<void> cpu_bind(JobDraft& d, Text v) {
  if (v == "help")
    return fail(Errc::refused,
                "--cpu-bind is [quiet,|verbose,] and one of none, threads, cores, sockets, ldoms, rank, rank_ldom, "
                "map_cpu:LIST, mask_cpu:LIST, map_ldom:LIST, mask_ldom:LIST");
  if (const auto parsed = parse_cpu_bind(v); !parsed) return invalid("cpu-bind", parsed.error().story);
  d.job.set_cpu_bind(std::string{v});
  return {};
}

Result<void> mem_bind(JobDraft& d, Text v) {
  if (v == "help")
    return fail(Errc::refused,
                "--mem-bind is [quiet,|verbose,][prefer,] and one of none, local, rank, map_mem:LIST, mask_mem:LIST");
  if (const auto parsed = parse_memory_bind(v); !parsed) return invalid("mem-bind", parsed.error().story);
  d.job.set_mem_bind(std::string{v});
  return {};
}

Result<void> gpu_bind(JobDraft& d, Text v) {
  if (const auto parsed = parse_gpu_bind(v); !parsed) return invalid("gpu-bind", parsed.error().story);
  d.job.set_gpu_bind(std::string{v});
  return {};
}

Result<void> x11(JobDraft& d, Text v) {
  const std::string word = lower(v);
  wire::X11Wish::Nodes nodes = wire::X11Wish::ALL;
  if (word == "first")
    nodes = wire::X11Wish::FIRST;
  else if (word == "last")
    nodes = wire::X11Wish::LAST;
  else if (!word.empty() && word != "all")
    return invalid("x11", "all, first or last would be right");
  d.job.mutable_step_options()->mutable_x11()->set_nodes(nodes);
  return {};
}

Result<void> container(JobDraft& d, Text v) {
  if (v.empty()) return invalid("container", "the folder of an OCI bundle would be right");
  char here[4096]{};
  if (!v.starts_with('/') && getcwd(here, sizeof here) == nullptr)
    return invalid("container", "the working directory cannot be found");
  d.job.set_container(v.starts_with('/') ? std::string{v} : std::string{here} + "/" + std::string{v});
  return {};
}

// gres/gpu:TYPE alone; other resources have no binding.
Result<void> tres_bind(JobDraft& d, Text v) {
  if (!v.starts_with("gres/gpu:"))
    return invalid("tres-bind",
                   "'" + std::string{v} + "' is wrong, gres/gpu:closest or another binding of gpus would be right");
  return gpu_bind(d, v.substr(9));
}

Result<void> oom_kill_step(JobDraft& d, Text v) {
  if (!v.empty() && v != "0" && v != "1") return invalid("oom-kill-step");
  d.job.set_oom_kill_step(v != "0");
  return {};
}

Result<void> reservation(JobDraft& d, Text v) {
  wishes(d).set_reservation(std::string{v});
  return {};
}

Result<SwitchAsk> parse_switches(Text v) {
  const std::size_t at = v.find('@');
  SwitchAsk out;
  MR_TRY(out.count, parse_positive("switches", v.substr(0, at)));
  if (at == Text::npos) return out;
  const auto wait = parse_duration(v.substr(at + 1));
  if (!wait || wait->seconds > UINT32_MAX) return invalid("switches");
  out.wait_seconds = wait->unlimited ? UINT32_MAX : static_cast<std::uint32_t>(wait->seconds);
  return out;
}

Result<void> switches(JobDraft& d, Text v) {
  MR_TRY(const SwitchAsk ask, parse_switches(v));
  wishes(d).set_switches(ask.count);
  if (ask.wait_seconds > 0) wishes(d).set_switches_wait_seconds(ask.wait_seconds);
  return {};
}

Result<void> segment(JobDraft& d, Text v) { return put_count(d, "segment", v, &Wishes::set_segment); }
Result<void> spread_segments(JobDraft& d, Text v) {
  wishes(d).set_spread_segments(!says_no(v));
  return {};
}
Result<void> consolidate_segments(JobDraft& d, Text v) {
  wishes(d).set_consolidate_segments(!says_no(v));
  return {};
}

Result<void> cpus_per_gpu(JobDraft& d, Text v) { return put_count(d, "cpus-per-gpu", v, &Wishes::set_cpus_per_gpu); }
Result<void> tasks_per_socket(JobDraft& d, Text v) {
  return put_count(d, "ntasks-per-socket", v, &Wishes::set_tasks_per_socket);
}
Result<void> tasks_per_core(JobDraft& d, Text v) {
  return put_count(d, "ntasks-per-core", v, &Wishes::set_tasks_per_core);
}
Result<void> tasks_per_gpu(JobDraft& d, Text v) {
  return put_count(d, "ntasks-per-gpu", v, &Wishes::set_tasks_per_gpu);
}
Result<void> sockets_per_node(JobDraft& d, Text v) {
  return put_count(d, "sockets-per-node", v, &Wishes::set_sockets_per_node);
}
Result<void> cores_per_socket(JobDraft& d, Text v) {
  return put_count(d, "cores-per-socket", v, &Wishes::set_cores_per_socket);
}
Result<void> threads_per_core(JobDraft& d, Text v) {
  return put_count(d, "threads-per-core", v, &Wishes::set_threads_per_core);
}

Result<void> memory_per_gpu(JobDraft& d, Text v) {
  const auto size = parse_size_mib(v);
  if (!size) return invalid("mem-per-gpu");
  d.job.clear_memory_per_cpu_mib();
  d.job.clear_memory_per_node_mib();
  wishes(d).set_memory_per_gpu_mib(*size);
  return {};
}

Result<void> extra_node_info(JobDraft& d, Text v) {
  const auto words = split(v, ':');
  if (words.size() > 3) return invalid("extra-node-info");
  using Set = Result<void> (*)(JobDraft&, Text);
  constexpr Set levels[] = {sockets_per_node, cores_per_socket, threads_per_core};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "*") continue;
    if (const auto number = parse_integer(words[i].substr(0, words[i].find('-'))); !number || *number < 1)
      return invalid("extra-node-info");
    MR_TRY_VOID(levels[i](d, words[i].substr(0, words[i].find('-'))));  // of a range the least counts
  }
  return {};
}

Result<void> tmp(JobDraft& d, Text v) {
  const auto size = parse_size_mib(v);
  if (!size) return invalid("tmp");
  wishes(d).set_tmp_disk_mib(*size);
  return {};
}

Result<void> time_min(JobDraft& d, Text v) {
  const auto minutes = parse_limit_minutes(v);
  if (!minutes) return invalid("time-min");
  wishes(d).set_time_min_minutes(*minutes == UINT32_MAX ? 0 : *minutes);
  return {};
}

Result<void> deadline(JobDraft& d, Text v) {
  const auto at = parse_time_of_day(v, time(nullptr));
  if (!at) return invalid("deadline");
  wishes(d).set_deadline_us(*at * 1'000'000);
  return {};
}

Result<void> contiguous(JobDraft& d, Text) {
  wishes(d).set_contiguous(true);
  return {};
}

Result<void> spread_job(JobDraft& d, Text v) {
  wishes(d).set_spread_job(!says_no(v));
  return {};
}

Result<void> use_min_nodes(JobDraft& d, Text v) {
  wishes(d).set_use_min_nodes(!says_no(v));
  return {};
}

Result<void> oversubscribe(JobDraft& d, Text) {
  d.job.set_oversubscribe(true);
  return {};
}

Result<void> check(const JobDraft& draft) {
  const wire::JobDescription& job = draft.job;
  const Wishes& ask = job.resources();
  if (ask.has_cpus_per_gpu() && job.cpus_per_task() != 0)
    return fail(Errc::refused, "--cpus-per-gpu and --cpus-per-task are mutually exclusive");
  if (ask.has_gpus_per_socket() && !ask.has_sockets_per_node())
    return fail(Errc::refused, "--gpus-per-socket needs --sockets-per-node");
  if (ask.has_tasks_per_gpu() && ask.has_gpus_per_task())
    return fail(Errc::refused, "--ntasks-per-gpu and --gpus-per-task are mutually exclusive");
  if (ask.deadline_us() != 0 && job.begin_at_us() >= ask.deadline_us())
    return fail(Errc::refused, "Incompatible begin and deadline time specification");
  return {};
}

void take_host_file(JobDraft& draft) {
  const char* file = std::getenv("SLURM_HOSTFILE");
  if (file == nullptr || *file == '\0' || !draft.job.required_nodes().empty()) return;
  wishes(draft).set_distribution("arbitrary");
}

Result<void> complete(JobDraft& draft) {
  wire::JobDescription& job = draft.job;
  const auto parsed = parse_distribution(job.resources().distribution());
  if (!parsed || parsed->order != NodeOrderOfTasks::arbitrary) return {};
  std::string list = job.required_nodes();
  if (const char* file = std::getenv("SLURM_HOSTFILE"); file != nullptr && *file != '\0') {
    std::string path = file;
    if (path.find('/') == std::string::npos) path.insert(0, "./");
    MR_TRY(list, node_list(path));
  }
  if (list.empty())
    return fail(Errc::refused,
                "--distribution=arbitrary needs --nodelist, or a file with a node for each task in SLURM_HOSTFILE");
  MR_TRY(std::vector<std::string> nodes, expand_hostlist(list));
  if (job.tasks() != 0 && job.tasks() > nodes.size())
    return fail(Errc::refused, "--distribution=arbitrary: " + std::to_string(job.tasks()) + " tasks, but only " +
                                   std::to_string(nodes.size()) + " nodes are listed");
  if (job.tasks() != 0) nodes.resize(job.tasks());
  job.set_tasks(static_cast<std::uint32_t>(nodes.size()));
  std::string tasks;
  for (const std::string& name : nodes) tasks += (tasks.empty() ? "" : ",") + name;
  wishes(draft).set_task_nodes(std::move(tasks));
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  job.set_min_nodes(static_cast<std::uint32_t>(nodes.size()));
  job.set_max_nodes(static_cast<std::uint32_t>(nodes.size()));
  job.set_required_nodes(compress_hostlist(nodes));
  return {};
}

}  // namespace millrace::resource
