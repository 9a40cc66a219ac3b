// src/core/admission/modify_job.cpp - see modify_job.h.
#include "core/admission/modify_job.h"

#include <algorithm>
#include <set>

#include "core/admission/cancel_job.h"
#include "core/admission/charge_job.h"
#include "core/admission/parse_dependency.h"
#include "core/admission/partition_rules.h"
#include "core/admission/reserve.h"
#include "core/admission/shrink_job.h"
#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"
#include "core/ledger/modify_spec.h"

namespace millrace {
namespace {

// What only makes sense while the job waits.
bool touches_request(const ModifyJob& ask) {
  const JobModified& c = ask.change;
  return c.min_nodes || c.max_nodes || c.tasks || c.cpus_per_task || c.memory_per_node || c.memory_per_cpu ||
         c.begin_at || c.priority || c.nice || c.std_in || c.std_out || c.std_err || c.work_dir || ask.partition ||
         ask.dependency || ask.required_nodes || ask.excluded_nodes || c.tasks_per_node || c.min_cpus_per_node ||
         c.exclusive || c.oversubscribe || ask.wishes != ResourceWishes{} || ask.min_cpus || ask.reset_accrue;
}

std::expected<void, Refusal> fill_time_limit(const Job& job, const ModifyJob& ask, const Actor& actor,
                                             JobModified& out) {
  if (ask.time_limit_change_minutes) {
    if (job.time_limit_minutes == unlimited)
      return refuse(RefusalCode::invalid_time_limit, "the job has no limit to change");
    const std::int64_t sum = static_cast<std::int64_t>(job.time_limit_minutes) + *ask.time_limit_change_minutes;
    if (sum <= 0) return refuse(RefusalCode::invalid_time_limit, "the limit would become zero or less");
    out.time_limit_minutes = static_cast<std::uint32_t>(std::min<std::int64_t>(sum, unlimited - 1));
  }
  if (ask.end_at) {
    if (job.state != JobState::running)
      return refuse(RefusalCode::invalid_time,
                    "only a running job has an end; StartTime and TimeLimit are what a waiting one has");
    const std::int64_t span = std::max<std::int64_t>((*ask.end_at - job.ran_from()).value, 1);
    out.time_limit_minutes = static_cast<std::uint32_t>(
        std::min<std::int64_t>((span + minutes(1).value - 1) / minutes(1).value, unlimited - 1));
  }
  if (out.time_limit_minutes && *out.time_limit_minutes > job.time_limit_minutes && !actor.is_admin)
    return refuse(RefusalCode::access_denied, "only an administrator may raise a time limit");
  return {};
}

// Each job on the way is looked at once. What waits for more than can be looked at in one turn is refused.
std::expected<void, Refusal> check_cycle(const State& state, const Job& job, const Dependencies& dependencies) {
  constexpr std::size_t most = 200'000;
  std::vector<JobKey> open;
  std::set<JobKey> seen;
  std::size_t looked_at = 0;
  const auto follow = [&](const Dependencies& list) {
    looked_at += list.list.size();
    for (const Dependency& d : list.list)
      if (d.kind != DependencyKind::singleton && seen.insert(d.target).second) open.push_back(d.target);
  };
  follow(dependencies);
  while (!open.empty()) {
    const JobKey key = open.back();
    open.pop_back();
    if (key == job.key) return refuse(RefusalCode::circular_dependency);
    if (looked_at > most) return refuse(RefusalCode::dependency, "its dependency chain is too long");
    const Job* next = state.find_job(key);
    if (next && next->dependencies && next->state == JobState::pending) follow(*next->dependencies);
  }
  return {};
}

std::expected<void, Refusal> fill_texts(const State& state, const Job& job, const ModifyJob& ask, JobModified& out) {
  if (ask.dependency) {
    auto dependencies = parse_dependencies(state, *ask.dependency);
    if (!dependencies) return std::unexpected(std::move(dependencies).error());
    for (Dependency& dependency : dependencies->list) {
      if (dependency.kind != DependencyKind::aftercorr) continue;
      if (job.is_array_rest())
        return refuse(RefusalCode::not_supported,
                      "aftercorr can be given to an array at submission, later to its tasks one by one");
      if (job.array_task && state.find_array(dependency.target))
        dependency.task = job.array_task;
      else
        dependency.kind = DependencyKind::afterok;
    }
    if (auto cycle = check_cycle(state, job, *dependencies); !cycle) return cycle;
    const std::size_t had = job.dependencies ? job.dependencies->list.size() : 0, wants = dependencies->list.size();
    if (auto room = check_dependency_room(state, job.spec->owner->uid, wants > had ? wants - had : 0); !room)
      return room;
    out.dependencies = *std::move(dependencies);
  }
  if (ask.required_nodes) {
    auto nodes = resolve_nodes(state, *ask.required_nodes);
    if (!nodes) return std::unexpected(std::move(nodes).error());
    out.required_nodes = *std::move(nodes);
  }
  if (ask.excluded_nodes) {
    auto nodes = resolve_nodes(state, *ask.excluded_nodes);
    if (!nodes) return std::unexpected(std::move(nodes).error());
    out.excluded_nodes = *std::move(nodes);
  }
  if (!ask.required_nodes && !ask.excluded_nodes) return {};
  const RareRequest& rare = job.spec->rare_request();
  return check_named_nodes(state, out.required_nodes.value_or(rare.required_nodes),
                           out.excluded_nodes.value_or(rare.excluded_nodes));
}

// Another account, QOS or partition must take the job as at submission.
std::expected<void, Refusal> fill_charge(const State& state, const Job& job, const ModifyJob& ask, JobModified& out) {
  if (!out.account && !ask.qos && !out.partition) return {};
  JobSpec spec = *job.spec;
  if (out.account) spec.account = *out.account;
  const Qos* present = state.find_qos(job.qos);
  auto charge = decide_charge(state, spec, out.partition.value_or(spec.partition),
                              ask.qos.value_or(present ? present->name : ""));
  if (!charge) return std::unexpected(std::move(charge).error());
  if (charge->account != job.spec->account) out.account = charge->account;
  if (charge->qos != job.qos) out.qos = charge->qos;
  return {};
}

// The whole of it goes into the fact.
std::expected<void, Refusal> fill_extras(const Job& job, const ModifyJob& ask, const Actor& actor, JobModified& out,
                                         Time now) {
  if (!ask.extras && !ask.reset_accrue) return {};
  if (ask.admin_words && !actor.is_admin)
    return refuse(RefusalCode::access_denied,
                  "only an administrator may set AdminComment, SystemComment and SiteFactor");
  JobExtras extras = job.spec->extra_request();
  if (ask.extras) ask.extras(extras);
  if (ask.reset_accrue) extras.accrue_from = now;
  out.extras = std::move(extras);
  return {};
}

// So many CPUs in all: each of its nodes has to have its part of them.
std::expected<void, Refusal> fill_cpus(const Job& job, const ModifyJob& ask, JobModified& out) {
  if (!ask.min_cpus) return {};
  JobSpec spec = *job.spec;
  modify_spec(spec, out);
  const std::uint32_t nodes = std::max(spec.min_nodes, 1u);
  const std::uint64_t by_tasks = std::uint64_t{spec.overcommits() ? nodes : spec.tasks} * spec.cpus_per_task;
  if (*ask.min_cpus < by_tasks)
    return refuse(RefusalCode::invalid_cpu_count, "its " + std::to_string(spec.tasks) + " tasks need " +
                                                      std::to_string(by_tasks) +
                                                      " CPUs; NumTasks and CPUsPerTask make them fewer");
  if (*ask.min_cpus > 1'000'000'000) return refuse(RefusalCode::invalid_cpu_count);
  out.min_cpus_per_node = (*ask.min_cpus + nodes - 1) / nodes;
  return {};
}

// A number of nodes takes the place of a list of sizes; a list holds the nodes that are named.
std::expected<void, Refusal> fill_counts(const Job& job, JobModified& out) {
  JobSpec spec = *job.spec;
  modify_spec(spec, out);
  const std::uint32_t least = spec.min_nodes;
  if (auto counts = complete_counts(spec); !counts) return counts;
  if (spec.min_nodes != least) out.min_nodes = spec.min_nodes;
  if (!spec.resource_request().node_counts.empty() && spec.max_nodes != out.max_nodes.value_or(job.spec->max_nodes))
    out.max_nodes = spec.max_nodes;
  return {};
}

// An administrator's number stays; the highest means "compute it again".
void fill_priority(const State& state, const Job& job, JobModified& out) {
  if (!out.priority) return;
  out.priority_fixed = *out.priority != unlimited;
  if (*out.priority == unlimited) out.priority = initial_priority(state, job.key, out.nice.value_or(job.spec->nice));
}

// The request as it would become: the whole of it goes into the fact.
std::expected<void, Refusal> fill_resources(const State& state, const Job& job, const ModifyJob& ask, JobModified& out,
                                            Time now) {
  const bool several = !job.spec->resource_request().more_partitions.empty();
  if (!ask.partition && ask.wishes == ResourceWishes{} && !(several && out.required_nodes)) return {};
  JobSpec spec = *job.spec;
  if (auto wishes = apply_wishes(state, ask.wishes, spec); !wishes) return wishes;
  if (ask.wishes.reservation)
    if (auto reserved = check_reservation(state, spec); !reserved) return reserved;
  if (ask.partition || out.required_nodes) {
    std::vector<PartitionIndex> partitions{spec.partition};
    for (const std::uint32_t more : spec.resource_request().more_partitions) partitions.push_back(PartitionIndex{more});
    if (ask.partition) {
      auto named = find_partitions(state, *ask.partition);
      if (!named) return std::unexpected(named.error());
      partitions = *std::move(named);
    }
    set_partitions(spec,
                   with_nodes(state, partitions, out.required_nodes.value_or(job.spec->rare_request().required_nodes)));
    if (spec.partition != job.spec->partition || ask.partition) out.partition = spec.partition;
  }
  if (auto times = check_times(spec.resource_request(), out.time_limit_minutes.value_or(job.time_limit_minutes),
                               job.begin_at, now);
      !times)
    return times;
  if (spec.cpus_per_task != job.spec->cpus_per_task) out.cpus_per_task = spec.cpus_per_task;
  if (!(spec.resource_request() == job.spec->resource_request())) out.resources = spec.resource_request();
  return {};
}

// What partitions demand of jobs at submission they demand of what a user makes of one later. An administrator may do
// as he likes.
std::expected<void, Refusal> check_partition_rules(const State& state, const Job& job, const ModifyJob& ask,
                                                   const Actor& actor, JobModified& out) {
  if (actor.is_admin || job.state != JobState::pending) return {};
  const bool resized = out.min_nodes || out.max_nodes || out.required_nodes || out.time_limit_minutes,
             memory = out.memory_per_cpu || out.memory_per_node;
  if (!out.partition && !out.resources && !resized && !memory) return {};
  JobSpec spec = *job.spec;
  modify_spec(spec, out);
  std::vector<PartitionIndex> partitions{spec.partition};
  for (const std::uint32_t more : spec.resource_request().more_partitions) partitions.push_back(PartitionIndex{more});
  if (ask.partition)
    for (const PartitionIndex each : partitions)
      if (auto access = check_access(state.partition(each).def, spec, actor); !access) return access;
  if (out.partition || resized)
    if (auto limits =
            check_partition_limits(state, partitions, spec, out.time_limit_minutes.value_or(job.time_limit_minutes));
        !limits)
      return limits;
  if (!out.partition && !memory) return {};
  if (auto limited = limit_memory(spec, state.partition(spec.partition).def, *state.policy); !limited) return limited;
  if (spec.cpus_per_task != out.cpus_per_task.value_or(job.spec->cpus_per_task)) out.cpus_per_task = spec.cpus_per_task;
  if (spec.memory_per_cpu &&
      spec.memory_per_cpu != (out.memory_per_cpu ? out.memory_per_cpu : job.spec->memory_per_cpu))
    out.memory_per_cpu = spec.memory_per_cpu;
  if (spec.min_cpus_per_node != out.min_cpus_per_node.value_or(job.spec->min_cpus_per_node))
    out.min_cpus_per_node = spec.min_cpus_per_node;
  return {};
}

// Its place in the queue, when it may begin and whether it comes back is for a heterogeneous job as a whole to say.
bool touches_whole(const ModifyJob& ask) {
  const JobModified& c = ask.change;
  return c.begin_at || c.priority || c.nice || c.requeue || c.priority_fixed || ask.dependency;
}

ModifyJob for_component(ModifyJob ask) {
  ask.change.begin_at.reset();
  ask.change.priority.reset();
  ask.change.nice.reset();
  ask.change.requeue.reset();
  ask.change.priority_fixed.reset();
  ask.dependency.reset();
  return ask;
}

std::expected<void, Refusal> check_numbers_with(const Job& job, const JobModified& change) {
  JobSpec spec = *job.spec;
  modify_spec(spec, change);
  return check_numbers(spec);
}

Decision decide_for(const State& state, const SelectedJob& which, ModifyJob ask, const Actor& actor, Time now) {
  const Job& job = state.job(which.key);
  if (auto numbers = check_numbers_with(job, ask.change); !numbers) return std::unexpected(std::move(numbers).error());
  if (ask.change.min_nodes && !ask.wishes.node_counts && !job.spec->resource_request().node_counts.empty())
    ask.wishes.node_counts = "";
  if (job.het && ask.wishes.time_min_minutes.value_or(0) != 0)
    return refuse(RefusalCode::not_supported, "the limit of a heterogeneous job cannot be shortened (TimeMin)");
  if (!may_change(job, actor)) return refuse(RefusalCode::access_denied);
  const bool moves_files = ask.change.std_in || ask.change.std_out || ask.change.std_err || ask.change.work_dir;
  if (moves_files && !may_act_as_owner(job, actor))
    return refuse(RefusalCode::access_denied,
                  "only its owner, root or SlurmUser may change which files a job reads and writes");
  if (job.state == JobState::ended || job.state == JobState::completing) return refuse(RefusalCode::already_finished);
  if (job.state != JobState::pending && touches_request(ask)) return refuse(RefusalCode::not_pending);
  JobModified change = ask.change;
  if (change.priority && !actor.is_admin && *change.priority > job.priority)
    return refuse(RefusalCode::access_denied, "only an administrator may raise a priority");
  if (change.nice && !actor.is_admin && *change.nice < job.spec->nice)
    return refuse(RefusalCode::access_denied, "only an administrator may lower a nice value");
  if (auto limit = fill_time_limit(job, ask, actor, change); !limit) return std::unexpected(std::move(limit).error());
  if (auto texts = fill_texts(state, job, ask, change); !texts) return std::unexpected(std::move(texts).error());
  if (auto resources = fill_resources(state, job, ask, change, now); !resources)
    return std::unexpected(std::move(resources).error());
  if (auto charge = fill_charge(state, job, ask, change); !charge) return std::unexpected(std::move(charge).error());
  if (auto rules = check_partition_rules(state, job, ask, actor, change); !rules)
    return std::unexpected(std::move(rules).error());
  if (auto extras = fill_extras(job, ask, actor, change, now); !extras)
    return std::unexpected(std::move(extras).error());
  fill_priority(state, job, change);
  if (change.nice && !change.priority && !job.priority_fixed && job.hold == Hold::none)
    change.priority = initial_priority(state, job.key, *change.nice);
  if (change.required_nodes && change.required_nodes->size() > job.spec->min_nodes)
    change.min_nodes = static_cast<std::uint32_t>(change.required_nodes->size());
  if (job.state == JobState::pending) {
    if (auto counts = fill_counts(job, change); !counts) return std::unexpected(std::move(counts).error());
    if (auto cpus = fill_cpus(job, ask, change); !cpus) return std::unexpected(std::move(cpus).error());
  }
  if (change.tasks && *change.tasks == 0) return refuse(RefusalCode::bad_task_count);
  if (change.cpus_per_task && *change.cpus_per_task == 0) return refuse(RefusalCode::bad_task_count);
  if (auto numbers = check_numbers_with(job, change); !numbers) return std::unexpected(std::move(numbers).error());
  std::vector<Event> events;
  change.key = split_if_needed(state, which, now, events);
  change.at = now;
  events.emplace_back(change);
  // The request as it would become must still be possible: try it on a copy.
  if (touches_request(ask)) {
    State copy = state;
    for (const Event& event : events) apply(copy, event);
    if (auto possible = check_possible(copy, *copy.job(change.key).spec); !possible)
      return std::unexpected(std::move(possible).error());
  }
  return events;
}

// What else is asked for is decided as it would be then.
Decision followed_by(const State& state, std::vector<Event> first, const SelectedJob& which, const ModifyJob& rest,
                     const Actor& actor, Time now) {
  State copy = state;
  for (const Event& event : first) apply(copy, event);
  Decision second = decide_modify(copy, which, rest, actor, now);
  if (second)
    second->insert(second->begin(), std::make_move_iterator(first.begin()), std::make_move_iterator(first.end()));
  return second;
}

}  // namespace

Decision decide_modify(const State& state, const SelectedJob& which, const ModifyJob& ask, const Actor& actor,
                       Time now) {
  const Job& job = state.job(which.key);
  // A held job is one of priority 0: giving it this number holds it, having it computed again releases it.
  const bool holds = ask.change.priority == 0u, releases = ask.change.priority == unlimited && job.hold != Hold::none;
  if (holds || releases) {
    Decision first = holds ? decide_hold(state, which, false, actor, now) : decide_release(state, which, actor, now);
    ModifyJob rest = ask;
    rest.change.priority.reset();
    if (!first || first->empty()) return first;
    SelectedJob same = which;
    same.key = std::get<JobHoldChanged>(first->back()).key;  // a task has a record of its own by now
    same.task.reset();
    return followed_by(state, *std::move(first), same, rest, actor, now);
  }
  if (resizes(job, ask)) {
    Decision first = decide_shrink(state, job, ask, actor, now);
    ModifyJob rest = ask;
    rest.change.min_nodes.reset(), rest.change.max_nodes.reset(), rest.required_nodes.reset();
    if (!first) return first;
    return followed_by(state, *std::move(first), which, rest, actor, now);
  }
  if (ask.change.priority && job.hold != Hold::none) return refuse(RefusalCode::job_held);
  if (!job.is_component() || !touches_whole(ask)) {
    if (job.is_het_leader() && which.component && touches_whole(ask)) return refuse(RefusalCode::not_whole_het_job);
    return decide_for(state, which, ask, actor, now);
  }
  if (which.component) return refuse(RefusalCode::not_whole_het_job);
  return decide_for(state, which, for_component(ask), actor, now);
}

}  // namespace millrace
