// src/core/ledger/rebuild.cpp - see rebuild.h.
#include "core/ledger/rebuild.h"

#include "core/ledger/dependency.h"

namespace millrace {

void add_deadlines(State& state, const Job& job) {
  const auto due = [&](Time at, DeadlineKind kind) { state.deadlines.set({at, job.key, kind}, {}); };
  switch (job.state) {
    case JobState::pending:
      if (!job.eligible_at.is_set() && dependencies_met(job)) due(job.begin_at, DeadlineKind::begin);
      if (job.dependency_never && job.spec->kill_on_invalid_dependency) due(at_once, DeadlineKind::invalid_dependency);
      if (job.dependencies)
        for (const Dependency& dependency : job.dependencies->list)
          if (dependency.due_at.is_set() && dependency.state == DependencyState::unfulfilled)
            due(dependency.due_at, DeadlineKind::dependency_delay);
      break;
    case JobState::running:
      if (job.time_limit_minutes != unlimited) due(job.started_at + minutes(job.time_limit_minutes), DeadlineKind::time_limit);
      break;
    case JobState::completing: break;
    case JobState::ended: due(job.ended_at + seconds(state.policy->min_job_age_seconds), DeadlineKind::forget); break;
  }
}

void rebuild_indexes(State& state) {
  for (const auto& [key, held] : state.jobs) {
    const Job& job = *held;
    state.by_id.set(job.id, key);
    if (job.array_task) state.tasks.set({job.array, *job.array_task}, key);
    if (job.is_array_rest()) state.unsplit_tasks += state.arrays.at(job.array)->rest.size() - 1;
    if (job.spec->submission != SubmissionKey{} && (job.array.value == 0 || job.array == key))
      state.submissions.set({job.spec->owner->uid, job.spec->submission}, key);
    if (is_queueable(job)) state.queue.set(queue_key(state, job), {});
    if (job.state == JobState::running || job.state == JobState::completing) state.active.set(key, {});
    if (job.state != JobState::ended) {
      state.live_names.set({job.spec->owner->uid, name_bits(job.spec->name), key}, {});
      if (job.state == JobState::pending) remember_dependents(state, job);
    }
    add_deadlines(state, job);
  }
}

}  // namespace millrace
