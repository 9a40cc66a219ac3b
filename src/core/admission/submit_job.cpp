// src/core/admission/submit_job.cpp - see submit_job.h.
#include "core/admission/submit_job.h"

#include <algorithm>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "core/admission/charge_job.h"
#include "core/admission/job_selection.h"
#include "core/admission/parse_dependency.h"
#include "core/admission/partition_rules.h"
#include "core/admission/reserve.h"
#include "core/ledger/apply.h"
#include "core/ledger/apply_account.h"
#include "core/model/request_limits.h"

namespace millrace {
namespace {

std::expected<PartitionIndex, Refusal> default_partition(const State& state) {
  for (std::uint32_t i = 0; i < state.partitions->size(); ++i)
    if (state.partition(PartitionIndex{i}).configured && state.partition(PartitionIndex{i}).def.is_default)
      return PartitionIndex{i};
  return refuse(RefusalCode::no_default_partition);
}

// aftercorr waits task by task: an array that says so is taken apart at once, so that each task can wait for its own.
std::expected<void, Refusal> split_corresponding(const State& state, DecidedSubmission& submission) {
  const JobSubmitted& submitted = std::get<JobSubmitted>(submission.events.front());
  const auto waits = [](const Dependency& d) { return d.kind == DependencyKind::aftercorr; };
  if (!submitted.array || std::ranges::none_of(submitted.dependencies.list, waits)) return {};
  for (const Dependency& dependency : submitted.dependencies.list) {
    const ArrayState* other = waits(dependency) ? state.find_array(dependency.target) : nullptr;
    std::optional<std::uint32_t> missing;
    submitted.array->tasks.for_each([&](std::uint32_t task) {
      if (other && !missing && !other->spec.tasks.contains(task)) missing = task;
    });
    if (missing)
      return refuse(RefusalCode::dependency, "aftercorr: job " + std::to_string(dependency.shown.value) +
                                                 " has no task " + std::to_string(*missing));
  }
  State copy = state;
  millrace::apply(copy, submission.events.front());
  const JobKey array = submitted.key;
  const Time now = submitted.at;
  while (!copy.arrays.at(array)->rest.empty()) {
    std::vector<Event> split;
    split_if_needed(copy, {array, copy.arrays.at(array)->rest.front()}, now, split);
    millrace::apply(copy, split.front());
    submission.events.push_back(std::move(split.front()));
  }
  return {};
}

std::expected<void, Refusal> complete_size(JobSpec& spec, std::size_t required) {
  spec.nodes_asked = spec.min_nodes > 0 || !spec.resource_request().node_counts.empty();
  spec.tasks_asked = spec.tasks > 0;
  spec.cpus_per_task_asked = spec.cpus_per_task > 0;
  spec.cpus_per_task = std::max(spec.cpus_per_task, 1u);
  if (spec.max_nodes > 0 && spec.max_nodes < spec.min_nodes)
    return refuse(RefusalCode::invalid_node_count, "at most " + std::to_string(spec.max_nodes) +
                                                       " nodes asked, but at least " + std::to_string(spec.min_nodes));
  if (spec.max_nodes > 0 && spec.max_nodes < required)
    return refuse(RefusalCode::invalid_node_count, "more nodes are named than the job may have");
  spec.min_nodes = std::max({spec.min_nodes, 1u, static_cast<std::uint32_t>(required)});
  if (auto counts = complete_counts(spec); !counts) return counts;
  const std::uint64_t per_node = std::max(spec.tasks_per_node, 1u);
  if (!spec.tasks_asked) {
    if (per_node * spec.min_nodes > 1'000'000) return refuse(RefusalCode::bad_task_count);
    spec.tasks = static_cast<std::uint32_t>(per_node * spec.min_nodes);
    // So many on each node, not so many somewhere: a node without room for them is none for this job.
    if (spec.tasks_per_node > 0 && !spec.overcommits())
      spec.min_cpus_per_node =
          std::max(spec.min_cpus_per_node,
                   static_cast<std::uint32_t>(std::min<std::uint64_t>(per_node * spec.cpus_per_task, 1'000'000)));
  } else if (spec.tasks_per_node > 0 && !spec.nodes_asked) {
    spec.min_nodes = std::max(spec.min_nodes, (spec.tasks + spec.tasks_per_node - 1) / spec.tasks_per_node);
  }
  if (spec.tasks < spec.min_nodes && spec.tasks_asked)
    spec.min_nodes = std::max<std::uint32_t>(spec.tasks, static_cast<std::uint32_t>(required));
  if (spec.tasks < spec.min_nodes) spec.tasks = spec.min_nodes;
  return {};
}

std::expected<std::optional<ArraySpec>, Refusal> parse_array(const std::string& text, const Policy& policy) {
  if (text.empty()) return std::optional<ArraySpec>{};
  ArraySpec array;
  std::string_view list = text;
  const auto bad = [&](const std::string& why) {
    return refuse(RefusalCode::invalid_array, "array '" + text + "': " + why);
  };
  if (const std::size_t percent = list.find('%'); percent != std::string_view::npos) {
    const auto limit = parse_index_set(list.substr(percent + 1), 10'000'000);
    if (!limit || limit->size() != 1) return bad("after % comes the number of tasks that may run at once");
    array.throttle = limit->front();
    list = list.substr(0, percent);
  }
  const auto tasks = parse_index_set(list, policy.max_array_size - 1);
  if (!tasks || tasks->empty())
    return bad("a list like 1-10:2,15 with numbers below MaxArraySize=" + std::to_string(policy.max_array_size) +
               " is right");
  array.tasks = *tasks;
  return std::optional{std::move(array)};
}

std::uint32_t time_limit(std::uint32_t asked, const PartitionDef& partition) {
  if (asked != 0) return asked;
  return partition.default_time_minutes > 0 ? partition.default_time_minutes : partition.max_time_minutes;
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

// From what the user's last jobs did; 0: nothing but the limit is known.
std::uint32_t expected_seconds(const State& state, UserId uid, std::uint32_t limit_minutes) {
  if (!state.policy->predict_run_times) return 0;
  const RunHistory* history = state.run_histories.find(uid);
  if (!history || history->before == 0) return 0;
  const std::uint64_t limit = limit_minutes == unlimited ? UINT32_MAX : std::uint64_t{limit_minutes} * 60;
  return predicted_seconds(*history, static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, UINT32_MAX)));
}

// Each task of an array needs a number once it is a record of its own.
std::expected<void, Refusal> check_job_count(const State& state, std::uint64_t added) {
  const Policy& policy = *state.policy;
  const std::uint64_t count = state.jobs.size() + state.unsplit_tasks + added;
  if (count > policy.max_job_count)
    return refuse(RefusalCode::too_many_jobs, "MaxJobCount=" + std::to_string(policy.max_job_count));
  if (count > std::uint64_t{policy.max_job_id} - policy.first_job_id + 1)
    return refuse(RefusalCode::too_many_jobs,
                  "all job numbers are in use: FirstJobId=" + std::to_string(policy.first_job_id) +
                      " MaxJobId=" + std::to_string(policy.max_job_id));
  return {};
}

}  // namespace

std::expected<std::vector<PartitionIndex>, Refusal> find_partitions(const State& state, const std::string& names) {
  std::vector<PartitionIndex> out;
  if (names.empty()) {
    const auto found = default_partition(state);
    if (!found) return std::unexpected(found.error());
    return std::vector{*found};
  }
  for (const std::string_view name : split(names, ',')) {
    const auto found = state.find_partition(trim(name));
    if (!found)
      return refuse(RefusalCode::invalid_partition, "invalid partition specified: " + std::string{trim(name)});
    if (std::ranges::find(out, *found) == out.end()) out.push_back(*found);
  }
  return out;
}

void set_partitions(JobSpec& spec, const std::vector<PartitionIndex>& partitions) {
  spec.partition = partitions.front();
  if (partitions.size() == 1 && spec.resource_request().more_partitions.empty()) return;
  ResourceRequest request = spec.resource_request();
  request.more_partitions.clear();
  for (std::size_t i = 1; i < partitions.size(); ++i) request.more_partitions.push_back(partitions[i].value);
  spec.resources = request == ResourceRequest{} ? SharedValue<ResourceRequest>{} : SharedValue(std::move(request));
}

std::vector<PartitionIndex> with_nodes(const State& state, const std::vector<PartitionIndex>& partitions,
                                       const std::vector<std::uint32_t>& required) {
  if (required.empty()) return partitions;
  std::vector<PartitionIndex> out;
  for (const PartitionIndex each : partitions) {
    std::vector<NodeIndex> nodes = state.partition(each).nodes;
    std::ranges::sort(nodes);
    const auto is_there = [&](std::uint32_t index) { return std::ranges::binary_search(nodes, NodeIndex{index}); };
    if (std::ranges::all_of(required, is_there)) out.push_back(each);
  }
  return out.empty() ? std::vector{partitions.front()} : out;
}

std::expected<void, Refusal> check_times(const ResourceRequest& request, std::uint32_t limit_minutes, Time begin_at,
                                         Time now) {
  if (request.time_min_minutes > limit_minutes)
    return refuse(RefusalCode::invalid_time_min, "the least time, " + std::to_string(request.time_min_minutes) +
                                                     " minutes, is above the limit of " +
                                                     std::to_string(limit_minutes));
  if (!request.deadline.is_set()) return {};
  const std::uint32_t least = request.time_min_minutes > 0 ? request.time_min_minutes : limit_minutes;
  const Time from = begin_at > now ? begin_at : now;
  if (request.deadline <= from || (least != unlimited && from + minutes(least) > request.deadline))
    return refuse(RefusalCode::invalid_time, "the job cannot have ended by its deadline");
  return {};
}

std::expected<void, Refusal> complete_counts(JobSpec& spec) {
  const IndexSet& counts = spec.resource_request().node_counts;
  if (counts.empty()) return {};
  std::optional<std::uint32_t> least;
  counts.for_each([&](std::uint32_t count) {
    if (!least && count >= spec.min_nodes) least = count;
  });
  if (!least || (spec.tasks_asked && *least > spec.tasks))
    return refuse(RefusalCode::invalid_node_count,
                  "none of the sizes " + format_index_set(counts) + " is at least " + std::to_string(spec.min_nodes) +
                      (spec.tasks_asked ? " and at most " + std::to_string(spec.tasks) + ", the number of tasks" : ""));
  spec.min_nodes = *least;
  spec.max_nodes = counts.back();
  return {};
}

std::uint32_t initial_priority(const State& state, JobKey key, std::int32_t nice) {
  constexpr std::int64_t top = 4294901759;  // where Slurm's basic priority starts
  const std::int64_t base = state.policy->basic_priority ? top - static_cast<std::int64_t>(key.value % (top / 2)) : 1;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(base - nice, 1, unlimited - 1));
}

std::expected<std::vector<std::uint32_t>, Refusal> resolve_nodes(const State& state, const std::string& hostlist) {
  std::vector<std::uint32_t> out;
  if (hostlist.empty()) return out;
  // Some may be named twice; a list of far more names than there are nodes is not looked through.
  const std::size_t names_max = 2 * state.nodes.size() + 64;
  const auto names = expand_hostlist(hostlist, names_max);
  if (!names) return refuse(RefusalCode::invalid_node_name, names.error().story);
  const auto found = find_nodes(state, *names);
  std::set<NodeIndex> named;
  for (std::size_t i = 0; i < names->size(); ++i) {
    if (!found[i]) return refuse(RefusalCode::invalid_node_name, "no such node: " + (*names)[i]);
    if (named.insert(*found[i]).second) out.push_back(found[i]->value);
  }
  return out;
}

std::expected<void, Refusal> check_named_nodes(const State& state, const std::vector<std::uint32_t>& required,
                                               const std::vector<std::uint32_t>& excluded) {
  const std::set<std::uint32_t> left_out{excluded.begin(), excluded.end()};
  for (const std::uint32_t node : required)
    if (left_out.contains(node))
      return refuse(RefusalCode::invalid_node_name,
                    "node " + state.node(NodeIndex{node}).def->name + " is both required and excluded");
  return {};
}

// Every partition that takes this user's jobs, the default one first.
std::expected<std::vector<PartitionIndex>, Refusal> open_partitions(const State& state, const JobSpec& spec,
                                                                    const Actor& actor) {
  std::vector<PartitionIndex> out;
  const auto usual = default_partition(state);
  for (std::uint32_t i = 0; i < state.partitions->size(); ++i) {
    const Partition& partition = state.partition(PartitionIndex{i});
    if (!partition.configured || partition.def.availability != Availability::up ||
        !check_access(partition.def, spec, actor))
      continue;
    if (usual && usual->value == i)
      out.insert(out.begin(), *usual);
    else
      out.push_back(PartitionIndex{i});
  }
  if (out.empty()) return find_partitions(state, {});
  return out;
}

// What SelectTypeParameters says for jobs that do not say it themselves.
void complete_layout(JobSpec& spec, const Policy& policy) {
  ResourceRequest ask = spec.resource_request();
  if (policy.one_task_per_core && ask.tasks_per_core == 0 && ask.threads_per_core == 0 && ask.hint.empty() &&
      !spec.overcommits())
    ask.tasks_per_core = 1;
  if (policy.enforce_gres_binding && !ask.gres.empty() && !ask.disable_binding) ask.enforce_binding = true;
  if (ask != spec.resource_request()) spec.resources = SharedValue(std::move(ask));
}

std::expected<DecidedSubmission, Refusal> decide(const State& state, const SubmitJob& ask, const Actor& actor,
                                                 Time now) {
  if (ask.spec.submission != SubmissionKey{}) {
    const JobKey* known = state.submissions.find({ask.spec.owner->uid, ask.spec.submission});
    if (known) return DecidedSubmission{state.job(*known).id, true, {}};
  }
  if (!ask.spec.interactive && !ask.spec.allocation_only && ask.script_bytes == 0)
    return refuse(RefusalCode::script_missing);
  if (ask.script_bytes > state.policy->max_script_bytes)
    return refuse(RefusalCode::not_supported, "the script has " + std::to_string(ask.script_bytes) +
                                                  " bytes; max_script_size is " +
                                                  std::to_string(state.policy->max_script_bytes));
  if (ask.spec.work_dir.empty()) return refuse(RefusalCode::missing_work_dir);
  if (state.policy->require_time_limit && !ask.time_limit_minutes)
    return refuse(RefusalCode::missing_time_limit, "--time says how long the job may run");
  auto partitions = state.policy->all_partitions && ask.partition.empty() ? open_partitions(state, ask.spec, actor)
                                                                          : find_partitions(state, ask.partition);
  if (!partitions) return std::unexpected(partitions.error());
  auto required = resolve_nodes(state, ask.required_nodes);
  if (!required) return std::unexpected(std::move(required).error());
  *partitions = with_nodes(state, *partitions, *required);
  const PartitionDef& def = state.partition(partitions->front()).def;
  JobSubmitted event;
  event.spec = ask.spec;
  JobSpec& spec = event.spec;
  if (auto wishes = apply_wishes(state, ask.wishes, spec); !wishes) return std::unexpected(std::move(wishes).error());
  set_partitions(spec, *partitions);
  auto charge = decide_charge(state, spec, spec.partition, spec.rare_request().qos);
  if (!charge) return std::unexpected(std::move(charge).error());
  spec.account = charge->account;
  event.qos = charge->qos;
  for (const PartitionIndex each : *partitions) {
    if (auto access = check_access(state.partition(each).def, spec, actor); !access)
      return std::unexpected(std::move(access).error());
    if (auto taken = decide_charge(state, spec, each, spec.rare_request().qos); !taken)
      return std::unexpected(std::move(taken).error());
  }
  complete_gpus(spec, def, *state.policy);
  complete_layout(spec, *state.policy);
  if (auto related = relate_gpus(spec); !related) return std::unexpected(std::move(related).error());
  if (auto numbers = check_numbers(spec); !numbers) return std::unexpected(std::move(numbers).error());
  auto excluded = resolve_nodes(state, ask.excluded_nodes);
  if (!excluded) return std::unexpected(std::move(excluded).error());
  if (auto named = check_named_nodes(state, *required, *excluded); !named)
    return std::unexpected(std::move(named).error());
  if (auto size = complete_size(spec, required->size()); !size) return std::unexpected(std::move(size).error());
  if (!required->empty() || !excluded->empty()) {
    RareRequest rare = spec.rare_request();
    rare.required_nodes = *std::move(required);
    rare.excluded_nodes = *std::move(excluded);
    spec.rare = SharedValue(std::move(rare));
  }
  if (def.exclusive || state.policy->cpu_unit == CpuUnit::node) spec.exclusive = true;
  complete_memory(spec, def, *state.policy);
  if (auto memory = limit_memory(spec, def, *state.policy); !memory) return std::unexpected(std::move(memory).error());
  if (def.exclusive_user && !spec.exclusive && !spec.resource_request().exclusive_user) {
    ResourceRequest request = spec.resource_request();
    request.exclusive_user = true;
    spec.resources = SharedValue(std::move(request));
  }
  spec.kill_on_invalid_dependency = spec.kill_on_invalid_dependency || state.policy->kill_invalid_dependency;
  spec.requeue = spec.is_batch() && !spec.allocation_only && ask.requeue.value_or(state.policy->job_requeue);
  if (!actor.is_admin && spec.nice < 0)
    return refuse(RefusalCode::invalid_nice, "only an administrator may use a negative nice value");
  const auto wckey = decide_wckey(state, spec.owner->user_name, spec.extra_request().wckey);
  if (!wckey) return std::unexpected(wckey.error());
  if (*wckey != spec.extra_request().wckey) {
    JobExtras extras = spec.extra_request();
    extras.wckey = *wckey;
    spec.extras = SharedValue(std::move(extras));
  }
  if (auto reserved = check_reservation(state, spec); !reserved) return std::unexpected(std::move(reserved).error());
  if (auto possible = check_possible(state, spec); !possible) return std::unexpected(std::move(possible).error());
  const std::uint32_t asked_minutes = ask.time_limit_minutes.value_or(0);
  if (auto limits = check_partition_limits(state, *partitions, spec, asked_minutes); !limits)
    return std::unexpected(std::move(limits).error());
  const std::uint32_t limit = time_limit(asked_minutes, def);
  if (auto times = check_times(spec.resource_request(), limit, ask.begin_at, now); !times)
    return std::unexpected(std::move(times).error());
  auto dependencies = parse_dependencies(state, ask.dependency);
  if (!dependencies) return std::unexpected(std::move(dependencies).error());
  auto array = parse_array(ask.array, *state.policy);
  if (!array) return std::unexpected(std::move(array).error());
  if (*array && (spec.interactive || spec.allocation_only))
    return refuse(RefusalCode::invalid_array, "only batch jobs can be arrays");
  if (auto room = check_job_count(state, *array ? (*array)->tasks.size() : 1); !room)
    return std::unexpected(std::move(room).error());
  // Tasks that correspond to others wait each for itself.
  const auto corresponds = [](const Dependency& each) { return each.kind == DependencyKind::aftercorr; };
  const bool each_task = *array && std::ranges::any_of(dependencies->list, corresponds);
  if (auto room = check_dependency_room(state, spec.owner->uid,
                                        dependencies->list.size() * (each_task ? (*array)->tasks.size() : 1));
      !room)
    return std::unexpected(std::move(room).error());
  if (ask.priority && !actor.is_admin)
    return refuse(RefusalCode::access_denied, "only an administrator may set a priority");

  event.key = state.next_key;
  event.id = next_job_id(state, state.last_id);
  event.dependencies = *std::move(dependencies);
  event.array = *std::move(array);
  event.time_limit_minutes = limit;
  event.expected_seconds = expected_seconds(state, spec.owner->uid, limit);
  event.hold = ask.hold ? Hold::user : Hold::none;
  event.priority = ask.hold ? 0 : ask.priority.value_or(initial_priority(state, event.key, spec.nice));
  event.priority_fixed = ask.priority.has_value() && !ask.hold;
  event.begin_at = ask.begin_at > now ? ask.begin_at : Time{};
  event.at = now;
  // What corresponds to nothing waits for the whole.
  if (!event.array)
    for (Dependency& dependency : event.dependencies.list)
      if (dependency.kind == DependencyKind::aftercorr) dependency.kind = DependencyKind::afterok;
  if (auto allowed = check_limits_of(state, event, now); !allowed) return std::unexpected(std::move(allowed).error());
  const JobId id = event.id;
  DecidedSubmission submission{id, false, {Event{std::move(event)}}};
  if (auto split = split_corresponding(state, submission); !split) return std::unexpected(std::move(split).error());
  return submission;
}

}  // namespace millrace
