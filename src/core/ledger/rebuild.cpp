// src/core/ledger/rebuild.cpp - see rebuild.h.
#include "core/ledger/rebuild.h"

#include <algorithm>

#include "core/ledger/apply_account.h"
#include "core/ledger/dependency.h"

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
  for (const auto& [id, association] : state.associations)
    state.association_names.set({association->account, association->user, association->partition}, id);
  recount(state, {});
}

}  // namespace millrace
