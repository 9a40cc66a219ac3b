// src/core/admission/submit_job.cpp - see submit_job.h.
#include "core/admission/submit_job.h"

#include <algorithm>

#include "base/hostlist.h"
#include "core/admission/charge_job.h"
#include "core/admission/parse_dependency.h"
#include "core/admission/reserve.h"
#include "core/ledger/apply_account.h"
#include "core/model/fit.h"

namespace millrace {
namespace {

std::expected<PartitionIndex, Refusal> find_partition(const State& state, const std::string& name) {
  if (!name.empty()) {
    if (const auto found = state.find_partition(name)) return *found;
    return refuse(RefusalCode::invalid_partition, "invalid partition specified: " + name);
  }
  for (std::uint32_t i = 0; i < state.partitions->size(); ++i)
    if (state.partition(PartitionIndex{i}).configured && state.partition(PartitionIndex{i}).def.is_default)
      return PartitionIndex{i};
  return refuse(RefusalCode::no_default_partition);
}

std::expected<void, Refusal> check_access(const PartitionDef& def, const JobSpec& spec, const Actor& actor) {
  const bool is_root = spec.owner->uid.value == 0;
  if (def.availability == Availability::drain || def.availability == Availability::inactive)
    return refuse(RefusalCode::partition_not_available);
  if (def.root_only && !is_root) return refuse(RefusalCode::access_denied, "partition " + def.name + " is for root only");
  if (def.disable_root_jobs && is_root) return refuse(RefusalCode::access_denied, "partition " + def.name + " takes no jobs of root");
  const auto in = [](const auto& list, const auto& value) { return std::ranges::find(list, value) != list.end(); };
  const bool group_ok = def.allow_groups.empty() || actor.is_admin || in(def.allow_gids, spec.owner->gid.value) ||
                        std::ranges::any_of(spec.owner->groups, [&](std::uint32_t gid) { return in(def.allow_gids, gid); });
  if (!group_ok) return refuse(RefusalCode::group_not_permitted);
  if ((!def.allow_accounts.empty() && !in(def.allow_accounts, spec.account)) || in(def.deny_accounts, spec.account))
    return refuse(RefusalCode::invalid_account);
  return {};
}

std::expected<void, Refusal> complete_size(JobSpec& spec, std::size_t required) {
  spec.nodes_asked = spec.min_nodes > 0;
  spec.tasks_asked = spec.tasks > 0;
  spec.cpus_per_task_asked = spec.cpus_per_task > 0;
  spec.cpus_per_task = std::max(spec.cpus_per_task, 1u);
  if (spec.max_nodes > 0 && spec.max_nodes < spec.min_nodes)
    return refuse(RefusalCode::invalid_node_count, "at most " + std::to_string(spec.max_nodes) + " nodes asked, but at least " +
                                                       std::to_string(spec.min_nodes));
  if (spec.max_nodes > 0 && spec.max_nodes < required)
    return refuse(RefusalCode::invalid_node_count, "more nodes are named than the job may have");
  spec.min_nodes = std::max({spec.min_nodes, 1u, static_cast<std::uint32_t>(required)});
  const std::uint64_t per_node = std::max(spec.tasks_per_node, 1u);
  if (!spec.tasks_asked) {
    if (per_node * spec.min_nodes > 1'000'000) return refuse(RefusalCode::bad_task_count);
    spec.tasks = static_cast<std::uint32_t>(per_node * spec.min_nodes);
  } else if (spec.tasks_per_node > 0 && !spec.nodes_asked) {
    spec.min_nodes = std::max(spec.min_nodes, (spec.tasks + spec.tasks_per_node - 1) / spec.tasks_per_node);
  }
  if (spec.tasks > 1'000'000 || spec.cpus_per_task > 1'000'000) return refuse(RefusalCode::bad_task_count);
  if (spec.tasks < spec.min_nodes && spec.tasks_asked) spec.min_nodes = std::max<std::uint32_t>(spec.tasks, static_cast<std::uint32_t>(required));
  if (spec.tasks < spec.min_nodes) spec.tasks = spec.min_nodes;
  return {};
}

void complete_memory(JobSpec& spec, const PartitionDef& partition, const Policy& policy) {
  if (spec.memory_per_cpu || spec.memory_per_node || spec.exclusive) return;
  if (partition.default_memory_per_cpu)
    spec.memory_per_cpu = partition.default_memory_per_cpu;
  else if (partition.default_memory_per_node)
    spec.memory_per_node = partition.default_memory_per_node;
  else if (policy.default_memory_per_cpu)
    spec.memory_per_cpu = policy.default_memory_per_cpu;
  else if (policy.default_memory_per_node)
    spec.memory_per_node = policy.default_memory_per_node;
}

std::expected<std::optional<ArraySpec>, Refusal> parse_array(const std::string& text, const Policy& policy) {
  if (text.empty()) return std::optional<ArraySpec>{};
  ArraySpec array;
  std::string_view list = text;
  const auto bad = [&](const std::string& why) { return refuse(RefusalCode::invalid_array, "array '" + text + "': " + why); };
  if (const std::size_t percent = list.find('%'); percent != std::string_view::npos) {
    const auto limit = parse_index_set(list.substr(percent + 1), 10'000'000);
    if (!limit || limit->size() != 1 || limit->front() == 0) return bad("after % comes the number of tasks that may run at once");
    array.throttle = limit->front();
    list = list.substr(0, percent);
  }
  const auto tasks = parse_index_set(list, policy.max_array_size - 1);
  if (!tasks || tasks->empty())
    return bad("a list like 1-10:2,15 with numbers below MaxArraySize=" + std::to_string(policy.max_array_size) + " is right");
  array.tasks = *tasks;
  return std::optional{std::move(array)};
}

std::expected<std::uint32_t, Refusal> time_limit(const SubmitJob& ask, const PartitionDef& partition, const Policy& policy) {
  const std::uint32_t asked = ask.time_limit_minutes.value_or(0);
  if (asked == 0) return partition.default_time_minutes > 0 ? partition.default_time_minutes : partition.max_time_minutes;
  if (asked > partition.max_time_minutes && policy.enforce_partition_limits)
    return refuse(RefusalCode::invalid_time_limit, "partition " + partition.name + " allows at most " +
                                                       std::to_string(partition.max_time_minutes) + " minutes");
  return asked;
}

std::expected<void, Refusal> check_limits_of(const State& state, const JobSubmitted& event, Time now) {
  if (state.policy->enforce == 0) return {};
  Job job;
  job.spec = SharedValue(event.spec);
  job.qos = event.qos;
  job.association = association_of(state, event.spec);
  job.time_limit_minutes = event.time_limit_minutes;
  return check_submit_limits(state, job, event.array ? static_cast<std::uint32_t>(event.array->tasks.size()) : 1, now);
}

}  // namespace

std::uint32_t initial_priority(const State& state, JobKey key, std::int32_t nice) {
  constexpr std::int64_t top = 4294901759;  // where Slurm's basic priority starts
  const std::int64_t base = state.policy->basic_priority ? top - static_cast<std::int64_t>(key.value % (top / 2)) : 1;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(base - nice, 1, unlimited - 1));
}

std::expected<std::vector<std::uint32_t>, Refusal> resolve_nodes(const State& state, const std::string& hostlist) {
  std::vector<std::uint32_t> out;
  if (hostlist.empty()) return out;
  const auto names = expand_hostlist(hostlist);
  if (!names) return refuse(RefusalCode::invalid_node_name, names.error().story);
  for (const std::string& name : *names) {
    const auto index = state.find_node(name);
    if (!index) return refuse(RefusalCode::invalid_node_name, "no such node: " + name);
    if (std::ranges::find(out, index->value) == out.end()) out.push_back(index->value);
  }
  return out;
}

std::expected<void, Refusal> check_possible(const State& state, const JobSpec& spec) {
  const Partition& partition = state.partition(spec.partition);
  const RareRequest& rare = spec.rare_request();
  std::vector<Candidate> candidates;
  const auto add = [&](NodeIndex index) {
    const NodeDef& def = *state.node(index).def;
    candidates.push_back({index, &def, all_of(def)});
  };
  for (const std::uint32_t index : rare.required_nodes) {
    if (std::ranges::find(partition.nodes, NodeIndex{index}) == partition.nodes.end())
      return refuse(RefusalCode::nodes_not_in_partition,
                    "node " + state.node(NodeIndex{index}).def->name + " is not in partition " + partition.def.name);
    add(NodeIndex{index});
  }
  const Node* largest = nullptr;
  for (const NodeIndex index : partition.nodes) {
    const auto in = [&](const auto& list) { return std::ranges::find(list, index.value) != list.end(); };
    if (in(rare.required_nodes) || in(rare.excluded_nodes) || !state.node(index).configured || !suits(spec, *state.node(index).def)) continue;
    add(index);
  }
  for (const Candidate& candidate : candidates) {
    const Node& node = state.node(candidate.node);
    if (!largest || std::pair{node.def->cpus, node.def->memory} > std::pair{largest->def->cpus, largest->def->memory})
      largest = &node;
  }
  if (choose_nodes(spec, candidates, rare.required_nodes.size(), fit_rules(*state.policy))) return {};
  std::string note = "partition " + partition.def.name + " has " + std::to_string(candidates.size()) + " usable nodes";
  if (largest)
    note += "; the largest is " + largest->def->name + " with " + std::to_string(largest->def->cpus.value) + " CPUs and " +
            std::to_string(largest->def->memory.value) + "M of memory";
  return refuse(RefusalCode::node_configuration_unavailable, std::move(note));
}

std::expected<Submission, Refusal> decide(const State& state, const SubmitJob& ask, const Actor& actor, Time now) {
  if (ask.spec.submission != SubmissionKey{}) {
    const JobKey* known = state.submissions.find({ask.spec.owner->uid, ask.spec.submission});
    if (known) return Submission{state.job(*known).id, true, {}};
  }
  if (!ask.spec.interactive && ask.script_bytes == 0) return refuse(RefusalCode::script_missing);
  if (ask.script_bytes > state.policy->max_script_bytes)
    return refuse(RefusalCode::not_supported, "the script has " + std::to_string(ask.script_bytes) + " bytes; max_script_size is " +
                                                  std::to_string(state.policy->max_script_bytes));
  if (ask.spec.work_dir.empty()) return refuse(RefusalCode::missing_work_dir);
  const auto partition = find_partition(state, ask.partition);
  if (!partition) return std::unexpected(partition.error());
  const PartitionDef& def = state.partition(*partition).def;
  JobSubmitted event;
  event.spec = ask.spec;
  JobSpec& spec = event.spec;
  spec.partition = *partition;
  auto charge = decide_charge(state, spec, *partition, spec.rare_request().qos);
  if (!charge) return std::unexpected(std::move(charge).error());
  spec.account = charge->account;
  event.qos = charge->qos;
  if (auto access = check_access(def, spec, actor); !access) return std::unexpected(std::move(access).error());
  auto required = resolve_nodes(state, ask.required_nodes);
  if (!required) return std::unexpected(std::move(required).error());
  auto excluded = resolve_nodes(state, ask.excluded_nodes);
  if (!excluded) return std::unexpected(std::move(excluded).error());
  if (auto size = complete_size(spec, required->size()); !size) return std::unexpected(std::move(size).error());
  if (!required->empty() || !excluded->empty()) {
    RareRequest rare = spec.rare_request();
    rare.required_nodes = *std::move(required);
    rare.excluded_nodes = *std::move(excluded);
    spec.rare = SharedValue(std::move(rare));
  }
  if (def.exclusive) spec.exclusive = true;
  complete_memory(spec, def, *state.policy);
  spec.requeue = spec.is_batch() && ask.requeue.value_or(state.policy->job_requeue);
  if (!actor.is_admin && spec.nice < 0) return refuse(RefusalCode::invalid_nice, "only an administrator may use a negative nice value");
  if (auto reserved = check_reservation(state, spec); !reserved) return std::unexpected(std::move(reserved).error());
  if (auto possible = check_possible(state, spec); !possible) return std::unexpected(std::move(possible).error());
  auto limit = time_limit(ask, def, *state.policy);
  if (!limit) return std::unexpected(std::move(limit).error());
  auto dependencies = parse_dependencies(state, ask.dependency);
  if (!dependencies) return std::unexpected(std::move(dependencies).error());
  auto array = parse_array(ask.array, *state.policy);
  if (!array) return std::unexpected(std::move(array).error());
  if (*array && spec.interactive) return refuse(RefusalCode::invalid_array, "only batch jobs can be arrays");
  if (state.jobs.size() + state.unsplit_tasks + (*array ? (*array)->tasks.size() : 1) > state.policy->max_job_count)
    return refuse(RefusalCode::too_many_jobs, "MaxJobCount=" + std::to_string(state.policy->max_job_count));
  if (ask.priority && !actor.is_admin) return refuse(RefusalCode::access_denied, "only an administrator may set a priority");

  event.key = state.next_key;
  event.id = next_job_id(state, state.last_id);
  event.dependencies = *std::move(dependencies);
  event.array = *std::move(array);
  event.time_limit_minutes = *limit;
  event.hold = ask.hold ? Hold::user : Hold::none;
  event.priority = ask.hold ? 0 : ask.priority.value_or(initial_priority(state, event.key, spec.nice));
  event.priority_fixed = ask.priority.has_value() && !ask.hold;
  event.begin_at = ask.begin_at > now ? ask.begin_at : Time{};
  event.at = now;
  if (auto allowed = check_limits_of(state, event, now); !allowed) return std::unexpected(std::move(allowed).error());
  const JobId id = event.id;
  return Submission{id, false, {Event{std::move(event)}}};
}

}  // namespace millrace
