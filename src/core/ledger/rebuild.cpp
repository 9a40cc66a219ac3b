// src/core/ledger/rebuild.cpp - see rebuild.h.
#include "core/ledger/rebuild.h"

#include <algorithm>
#include <map>

#include "core/ledger/apply_account.h"
#include "core/ledger/apply_node.h"
#include "core/ledger/dependency.h"
#include "core/ledger/kept_jobs.h"
#include "core/ledger/licences.h"

namespace millrace {

void add_deadlines(State& state, const Job& job) {
  const auto due = [&](Time at, DeadlineKind kind) { state.deadlines.set({at, job.key, kind}, {}); };
  switch (job.state) {
    case JobState::pending:
      if (!job.eligible_at.is_set() && dependencies_met(job) && !job.is_component())
        due(job.begin_at, DeadlineKind::begin);
      if (latest_start(job) != never) due(latest_start(job), DeadlineKind::latest_start);
      if (job.dependency_never && job.spec->kill_on_invalid_dependency && !job.is_component())
        due(at_once, DeadlineKind::invalid_dependency);
      if (job.dependencies)
        for (const Dependency& dependency : job.dependencies->list)
          if (dependency.due_at.is_set() && dependency.state == DependencyState::unfulfilled)
            due(dependency.due_at, DeadlineKind::dependency_delay);
      break;
    case JobState::running:
      if (kill_time(job) != never) due(kill_time(job), DeadlineKind::time_limit);
      if (job.preempt_due.is_set() && !job.is_component()) due(job.preempt_due, DeadlineKind::preemption);
      break;
    case JobState::suspended:
      if (job.preempt_due.is_set()) due(job.preempt_due, DeadlineKind::preemption);
      break;
    case JobState::completing:
      break;
    case JobState::ended:
      if (forget_time(state, job) != never) due(forget_time(state, job), DeadlineKind::forget);
      break;
  }
}

namespace {

template <class Key, class Value>
SharedMap<Key, Value> sorted_map(std::vector<std::pair<Key, Value>> pairs) {
  std::ranges::sort(pairs, {}, &std::pair<Key, Value>::first);
  return SharedMap<Key, Value>::from_sorted(std::move(pairs));
}

}  // namespace

void rebuild_indexes(State& state) {
  std::vector<std::pair<JobId, JobKey>> by_id;
  std::vector<std::pair<TaskKey, JobKey>> tasks;
  std::vector<std::pair<SubmissionOf, JobKey>> submissions;
  std::vector<std::pair<QueueKey, Nothing>> queue;
  std::vector<std::pair<JobKey, Nothing>> active;
  std::vector<std::pair<JobKey, Nothing>> suspended;
  std::vector<std::pair<NameKey, Nothing>> live_names;
  for (const auto& [key, held] : state.jobs) {
    const Job& job = *held;
    by_id.emplace_back(job.id, key);
    if (job.array_task) tasks.emplace_back(TaskKey{job.array, *job.array_task}, key);
    if (job.is_array_rest() && job.state != JobState::ended)
      state.unsplit_tasks += state.arrays.at(job.array)->rest.size() - 1;
    if (job.spec->submission != SubmissionKey{} && (job.array.value == 0 || job.array == key))
      submissions.emplace_back(SubmissionOf{job.spec->owner->uid, job.spec->submission}, key);
    if (is_queueable(job)) queue.emplace_back(queue_key(state, job), Nothing{});
    if (job.is_on_nodes()) active.emplace_back(key, Nothing{});
    if (job.state == JobState::suspended) suspended.emplace_back(key, Nothing{});
    if (job.state != JobState::ended) {
      live_names.emplace_back(NameKey{job.spec->owner->uid, name_bits(job.spec->name), key}, Nothing{});
      if (job.state == JobState::pending) remember_dependents(state, job);
    }
    add_deadlines(state, job);
  }
  for (const auto& [id, reservation] : state.reservations) add_deadline(state, *reservation);
  for (const auto& [index, node] : state.nodes)
    if (node->resume_at.is_set())
      state.deadlines.set({node->resume_at, JobKey{index.value}, DeadlineKind::node_resume}, {});
  state.by_id = sorted_map(std::move(by_id));
  state.tasks = sorted_map(std::move(tasks));
  state.submissions = sorted_map(std::move(submissions));
  state.queue = sorted_map(std::move(queue));
  state.active = sorted_map(std::move(active));
  state.suspended = sorted_map(std::move(suspended));
  state.live_names = sorted_map(std::move(live_names));
  for (const auto& [id, association] : state.associations) {
    const AssociationName name{association->account, association->user, association->partition};
    if (!state.association_names.contains(name)) state.association_names.set(name, id);  // of two the older has it
  }
  recount(state, {});
}

void add_up_shares(State& state) {
  for (const auto& [key, job] : state.jobs) {
    if (!job->placement || !job->is_on_nodes()) continue;
    for (const NodeShare& share : job->placement->shares)
      if (!share.released) add_share(state.edit_node(share.node), *job, share);
    take_licences(state, job->placement->licences);
  }
}

namespace {

void recount_arrays(State& state) {
  std::vector<JobKey> empty;
  std::vector<std::pair<JobKey, SharedValue<ArrayState>>> arrays;
  for (const auto& [key, array] : state.arrays) {
    arrays.emplace_back(key, array);
    ArrayState& counted = arrays.back().second.edit();
    counted.records = counted.running = 0;
  }
  SharedMap<JobKey, SharedValue<ArrayState>> fresh =
      SharedMap<JobKey, SharedValue<ArrayState>>::from_sorted(std::move(arrays));
  for (const auto& [key, job] : state.jobs) {
    auto* array = job->array.value != 0 ? fresh.edit(job->array) : nullptr;
    if (!array) continue;
    array->edit().records += 1;
    array->edit().running += job->is_on_nodes() ? 1 : 0;
  }
  for (const auto& [key, array] : fresh)
    if (array->records == 0) empty.push_back(key);
  for (const JobKey key : empty) fresh.erase(key);
  state.arrays = std::move(fresh);
}

void recount_steps(State& state) {
  state.running_steps = {};
  std::map<JobKey, std::uint32_t> ended;
  for (const auto& [key, step] : state.steps) {
    if (step->is_running())
      state.running_steps.set(key, {});
    else
      ++ended[key.job];
  }
  std::vector<std::pair<JobKey, StepTally>> tallies;
  for (const auto& [key, tally] : state.step_tallies) {
    tallies.emplace_back(key, tally);
    tallies.back().second.ended = ended[key];
  }
  state.step_tallies = SharedMap<JobKey, StepTally>::from_sorted(std::move(tallies));
}

}  // namespace

void rebuild_all(State& state, Time at) {
  state.unsplit_tasks = 0;
  state.deadlines = {};
  state.dependents = {};
  state.singletons = {};
  state.association_names = {};
  state.kept_names = {};
  state.kept_rows = 0;
  state.licences_used = SharedValue(std::vector<LicenceAsk>{});
  std::vector<NodeIndex> nodes;
  for (const auto& [index, node] : state.nodes) nodes.push_back(index);
  for (const NodeIndex index : nodes) {
    Node& node = state.edit_node(index);
    node.used_cpus = {};
    node.used_memory = {};
    node.used_gres = {};
    node.use = {};
    node.jobs.clear();
    node.suspended = 0;
  }
  recount_arrays(state);
  recount_steps(state);
  add_up_shares(state);
  rebuild_indexes(state);
  for (const auto& [number, kept] : state.kept) index_kept(state, number, *kept);
  recount(state, at);
}

}  // namespace millrace
