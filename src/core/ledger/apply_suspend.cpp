// src/core/ledger/apply_suspend.cpp - see apply_suspend.h.
#include "core/ledger/apply_suspend.h"

#include <algorithm>

#include "core/ledger/apply_account.h"
#include "core/ledger/apply_node.h"

namespace millrace {
namespace {

void count_on_nodes(State& state, const Job& job, int by) {
  for (const NodeShare& share : job.placement->shares)
    if (!share.released) state.edit_node(share.node).suspended += static_cast<std::uint32_t>(by);
}

void stop(State& state, JobKey key, SuspendWhy why, JobKey by, Time at) {
  Job& job = state.edit_job(key);
  MR_ASSERT(next_state(job.state, Cause::suspended) == JobState::suspended);
  const bool wants_cpus = why != SuspendWhy::administrator;
  if (job.state == JobState::suspended) {
    Suspension& held = job.suspension.edit();
    held.why = why;
    held.by = by;
    held.wants_cpus = wants_cpus;
    return;
  }
  count_job(state, job, Count::take_away, at);
  state.deadlines.erase({kill_time(job), key, DeadlineKind::time_limit});
  for (const NodeShare& share : job.placement->shares)
    if (!share.released) give_back_cpus(state, job, share);
  job.suspension = SharedValue(Suspension{at, at - job.ran_from(), why, by, wants_cpus, true});
  job.state = JobState::suspended;
  count_on_nodes(state, job, 1);
  count_job(state, job, Count::add, at);
  state.suspended.set(key, {});
}

// Only among those that share CPUs, and only where they take turns.
bool waits_for_a_turn(const State& state, const Job& job) {
  return state.policy->gang && job.placement->shared && job.wants_cpus_back();
}

void note_turn(State& state, JobKey key, Time at) {
  if (!state.slice_due.is_set() && waits_for_a_turn(state, state.job(key)))
    state.slice_due = at + seconds(state.policy->time_slice_seconds);
}

}  // namespace

void suspend_job(State& state, const JobSuspended& e) {
  stop(state, e.key, e.why, e.by, e.at);
  note_turn(state, e.key, e.at);
}

void want_resumed(State& state, const JobResumeWanted& e) {
  Job& job = state.edit_job(e.key);
  MR_ASSERT(job.state == JobState::suspended);
  job.suspension.edit().wants_cpus = true;
  note_turn(state, e.key, e.at);
}

void resume_job(State& state, JobKey key, Time at) {
  Job& job = state.edit_job(key);
  MR_ASSERT(next_state(job.state, Cause::resumed) == JobState::running);
  count_job(state, job, Count::take_away, at);
  count_on_nodes(state, job, -1);
  Suspension& suspension = job.suspension.edit();
  suspension.changed_at = at;
  suspension.cpus_free = suspension.wants_cpus = false;
  job.state = JobState::running;
  for (const NodeShare& share : job.placement->shares)
    if (!share.released) take_cpus(state, job, share);
  count_job(state, job, Count::add, at);
  state.suspended.erase(key);
  if (kill_time(job) != never) state.deadlines.set({kill_time(job), key, DeadlineKind::time_limit}, {});
}

void turn_time_slice(State& state, const TimeSliceTurned& e) {
  for (const JobKey key : e.suspended) stop(state, key, SuspendWhy::time_slice, {}, e.at);
  for (const JobKey key : e.resumed) resume_job(state, key, e.at);
  bool anyone = false;
  for (const auto& [key, nothing] : state.suspended) anyone = anyone || waits_for_a_turn(state, state.job(key));
  state.slice_due = anyone ? e.at + seconds(state.policy->time_slice_seconds) : Time{};
}

void turns_may_begin(State& state, Time at) {
  if (state.slice_due.is_set() || !state.policy->gang) return;
  for (const auto& [key, nothing] : state.active)
    if (state.job(key).placement->shared) state.slice_due = at + seconds(state.policy->time_slice_seconds);
}

void end_suspended(State& state, Job& job, Time at) {
  count_on_nodes(state, job, -1);
  Suspension& suspension = job.suspension.edit();
  suspension.changed_at = at;
  suspension.wants_cpus = false;
  state.suspended.erase(job.key);
}

}  // namespace millrace
