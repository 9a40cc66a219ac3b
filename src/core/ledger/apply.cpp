// src/core/ledger/apply.cpp - folds one event into the state. Total: no errors, only assertions.
#include "core/ledger/apply.h"

#include <algorithm>

#include "core/ledger/apply_account.h"
#include "core/ledger/apply_clock.h"
#include "core/ledger/apply_end.h"
#include "core/ledger/apply_job.h"
#include "core/ledger/apply_node.h"
#include "core/ledger/apply_partition.h"
#include "core/ledger/apply_power.h"
#include "core/ledger/apply_reservation.h"
#include "core/ledger/apply_standing.h"
#include "core/ledger/apply_steps.h"
#include "core/ledger/apply_suspend.h"
#include "core/ledger/dependency.h"
#include "core/ledger/kept_jobs.h"
#include "core/ledger/licences.h"
#include "core/ledger/modify_spec.h"
#include "core/ledger/put_aside.h"
#include "core/ledger/rebuild.h"
#include "core/ledger/run_times.h"

namespace millrace {
namespace {

void dequeue(State& state, const Job& job) {
  if (is_queueable(job)) state.queue.erase(queue_key(state, job));
}

void enqueue(State& state, const Job& job) {
  if (is_queueable(job)) state.queue.set(queue_key(state, job), {});
}

// Changes a job in place; if it waits, its place in the queue follows.
template <class Change>
void change_job(State& state, JobKey key, Change change) {
  dequeue(state, state.job(key));
  change(state.edit_job(key));
  enqueue(state, state.job(key));
}

}  // namespace

void clear_deadline(State& state, Time at, JobKey key, DeadlineKind kind) { state.deadlines.erase({at, key, kind}); }

namespace {

void live_name(State& state, const Job& job, bool lives) {
  const NameKey name{job.spec->owner->uid, name_bits(job.spec->name), job.key};
  if (lives) {
    state.live_names.set(name, {});
  } else {
    state.live_names.erase(name);
  }
}

// A job that leaves the queue for good waits for nothing any more.
void clear_waits(State& state, const Job& job) {
  clear_deadline(state, job.begin_at, job.key, DeadlineKind::begin);
  clear_deadline(state, at_once, job.key, DeadlineKind::invalid_dependency);
  clear_deadline(state, latest_start(job), job.key, DeadlineKind::latest_start);
  if (!job.dependencies) return;
  for (const Dependency& dependency : job.dependencies->list)
    if (dependency.due_at.is_set()) clear_deadline(state, dependency.due_at, job.key, DeadlineKind::dependency_delay);
}

// With the last of its components a heterogeneous job may be forgotten.
void note_forget(State& state, const Job& job) {
  const JobKey leader = leader_of(job);
  if (const Time due = forget_time(state, state.job(leader)); due != never)
    state.deadlines.set({due, leader, DeadlineKind::forget}, {});
}

void finish(State& state, JobKey key, Time at) {
  count_job(state, state.job(key), Count::take_away, at);
  {
    Job& job = state.edit_job(key);
    job.state = JobState::ended;
    job.ended_at = at;
    job.requeue_wanted = false;
    job.association = {};  // nothing of it counts any more
    if (job.array.value != 0) {
      ArrayState& array = state.edit_array(job.array);
      const std::uint64_t count = job.is_array_rest() ? array.rest.size() : 1;
      array.ended += count;
      if (job.outcome == Outcome::completed) array.ended_well += count;
      if (job.is_array_rest())
        state.unsplit_tasks -=
            array.rest.size() - 1;  // tasks that ended unsplit share one record until it is forgotten
    }
  }
  const Job& job = state.job(key);
  state.active.erase(key);
  live_name(state, job, false);
  forget_dependents(state, job);
  clear_waits(state, job);
  note_forget(state, job);
  const SharedValue<Job> held = state.jobs.at(key);  // resolving edits the table under us
  remember_run_time(state, *held);
  resolve_dependents(state, *held, at);
  resolve_singletons(state, held->spec->owner->uid, name_bits(held->spec->name), at);
}

void to_pending(State& state, JobKey key, bool was_ended, Time begin_at, bool hold, Time at) {
  count_job(state, state.job(key), Count::take_away, at);
  if (was_ended) clear_deadline(state, forget_time(state, state.job(key)), key, DeadlineKind::forget);
  keep_run(state, key, at);
  recur_only_if_listed(state, key);
  Job& job = state.edit_job(key);
  MR_ASSERT(next_state(job.state, Cause::requeued) == JobState::pending);
  if (was_ended) {
    if (job.array.value != 0) {
      ArrayState& array = state.edit_array(job.array);
      --array.ended;
      if (job.outcome == Outcome::completed) --array.ended_well;
    }
  }
  job.state = JobState::pending;
  job.outcome = Outcome::none;
  job.end_reason = Reason::none;
  job.requeue_wanted = false;
  job.preempt_due = Time{};
  job.preempt_requeue = false;
  job.suspension = {};
  job.used = {};
  job.attempt.value += 1;
  job.exit_code = job.exit_signal = 0;
  job.placement = {};
  job.started_at = job.stopped_at = job.ended_at = job.eligible_at = Time{};
  job.begin_at = begin_at;
  if (hold) {
    job.hold = job.hold == Hold::none ? Hold::user : job.hold;
    job.requeue_held = true;
    job.priority = 0;
  }
  job.launch_failed = job.launch_failed && hold;
  if (!hold) job.held_why = HeldWhy::asked;
  job.over_time_minutes = 0;
  job.association = association_of(state, *job.spec);
  count_job(state, job, Count::add, at);
  state.active.erase(key);
  live_name(state, state.job(key), true);
  refresh_eligibility(state, key, at);
  const SharedValue<Job> held = state.jobs.at(key);
  remember_dependents(state, *held);
  add_deadlines(state, *held);
}

// Nothing of the whole is left: all of it goes back to the queue, components that had ended by themselves too.
void whole_to_pending(State& state, JobKey leader, Time begin_at, bool hold, Time at) {
  const std::vector<JobKey> whole = whole_of(state.job(leader));
  for (const JobKey key : whole) to_pending(state, key, state.job(key).state == JobState::ended, begin_at, hold, at);
  follow_leader(state, leader);
}

// What a component holds is free: its supervisors have ended, or it never had any (in logs of old).
void release_component(State& state, JobKey key, Time at) {
  end_steps(state, key, state.job(key).outcome, at);
  Job& job = state.edit_job(key);
  Placement& placement = job.placement.edit();
  for (NodeShare& share : placement.shares) {
    if (share.released) continue;
    share.released = true;
    give_back_share(state, share, key, at);
  }
  clear_deadline(state, kill_time(job), key, DeadlineKind::time_limit);
  give_back_licences(state, job.placement->licences);
}

// A component that goes before the rest of its job does; where it has supervisors, when they have ended.
void end_component(State& state, JobKey key, Time at) {
  Job& job = state.edit_job(key);
  to_completing(state, job, at);
  const bool supervised = job.placement->supervised;
  if (supervised)
    job.placement.edit().stops_alone = true;
  else {
    release_component(state, key, at);
    finish(state, key, at);
  }
  note_boot(state, leader_of(state.job(key)), at);  // the others may have waited for its nodes alone
}

}  // namespace

void bring_along(State& state, JobKey key, Time at) {
  const SharedValue<Job> leader = state.jobs.at(key);
  if (!leader->is_het_leader()) return;
  for (std::uint32_t i = 1; i < leader->het->size; ++i) {
    Job& job = state.edit_job(JobKey{key.value + i});
    if (job.state != JobState::running && job.state != JobState::completing) continue;
    if (job.placement->stops_alone) continue;
    if (leader->state == JobState::completing && job.state == JobState::running) to_completing(state, job, at);
    job.outcome = leader->outcome;
    job.end_reason = leader->end_reason;
    job.exit_code = leader->exit_code;
    job.exit_signal = leader->exit_signal;
    job.cancelled_by = leader->cancelled_by;
    job.failed_node = leader->failed_node;
    job.preempt_due = leader->preempt_due;
    job.preempt_requeue = leader->preempt_requeue;
    job.requeue_wanted = leader->requeue_wanted;
    job.requeue_held = leader->requeue_held;
    job.held_why = leader->held_why;
    job.launch_failed = leader->launch_failed;
    job.trouble = leader->trouble;
  }
}

void settle_component(State& state, JobKey key, Time at) {
  release_component(state, key, at);
  finish(state, key, at);
}

void settle_job(State& state, JobKey key, Time at) {
  bring_along(state, key, at);
  const SharedValue<Job> held = state.jobs.at(key);
  const Job& job = *held;
  end_steps(state, key, job.outcome, at);
  if (job.array.value != 0) --state.edit_array(job.array).running;
  clear_deadline(state, kill_time(job), key, DeadlineKind::time_limit);
  if (job.preempt_due.is_set()) clear_deadline(state, job.preempt_due, key, DeadlineKind::preemption);
  give_back_licences(state, job.placement->licences);
  for (const JobKey each : whole_of(job))
    if (each != key && state.job(each).state == JobState::completing) release_component(state, each, at);
  if (job.requeue_wanted) {
    const bool asked = job.outcome != Outcome::node_fail;
    const std::uint32_t delay =
        asked && state.policy->requeue_delay_seconds > 0 ? state.policy->requeue_delay_seconds + 1 : 0;
    return whole_to_pending(state, key, at + seconds(delay), job.requeue_held, at);
  }
  MR_ASSERT(next_state(job.state, Cause::released) == JobState::ended);
  for (const JobKey each : whole_of(job))
    if (state.job(each).state == JobState::completing) finish(state, each, at);
}

namespace {

void apply_one(State& state, const ControllerStarted& e) {
  MR_ASSERT(e.epoch > state.epoch);
  state.epoch = e.epoch;
}

void apply_one(State& state, const ClusterConfigured& e) {
  settle_all(state, e.at);
  configure(state, e);
  renew_over_times(state);
  turns_may_begin(state, e.at);
  add_tres_names(state);
  if (e.policy.priority.reset != ResetPeriod::none && !state.usage_reset_at.is_set()) state.usage_reset_at = e.at;
  recount(state, e.at);
  if (e.policy.priority.reset == ResetPeriod::now) reset_usage(state, {{}, e.at});
}

void note_latest_start(State& state, const Job& job) {
  if (job.state == JobState::pending && latest_start(job) != never)
    state.deadlines.set({latest_start(job), job.key, DeadlineKind::latest_start}, {});
}

void add_job(State& state, const JobSubmitted& e, const std::optional<HetRole>& het) {
  MR_ASSERT(e.key == state.next_key);
  Job job;
  job.key = e.key;
  job.id = e.id;
  if (het) job.het = SharedValue(*het);
  JobSpec spec = e.spec;
  const auto* owner = state.owners.find(spec.owner->uid);
  if (owner && **owner == *spec.owner)
    spec.owner = *owner;
  else
    state.owners.set(spec.owner->uid, spec.owner);
  job.spec = SharedValue(std::move(spec));
  job.submitted_at = e.at;
  job.begin_at = e.begin_at;
  job.priority = e.priority;
  job.time_limit_minutes = e.time_limit_minutes;
  job.expected_seconds = e.expected_seconds;
  job.hold = e.hold;
  job.qos = e.qos;
  job.priority_fixed = e.priority_fixed;
  job.association = association_of(state, *job.spec);
  if (!e.dependencies.list.empty()) job.dependencies = SharedValue(e.dependencies);
  if (e.array) {
    job.array = e.key;
    state.unsplit_tasks += e.array->tasks.size() - 1;
    state.arrays.set(e.key, SharedValue(ArrayState{e.id, *e.array, e.array->tasks, 0, 0, 0, 0, 1}));
  }
  if (job.spec->submission != SubmissionKey{})
    state.submissions.set({job.spec->owner->uid, job.spec->submission}, e.key);
  const bool fresh = state.jobs.set(e.key, SharedValue(std::move(job)));
  const bool fresh_id = state.by_id.set(e.id, e.key);
  MR_ASSERT(fresh);
  MR_ASSERT(fresh_id);
  state.next_key = JobKey{e.key.value + 1};
  state.last_id = e.id;
  const SharedValue<Job> held = state.jobs.at(e.key);
  count_job(state, *held, Count::add, e.at);
  live_name(state, *held, true);
  remember_dependents(state, *held);
  look_again(state, e.key, e.at);
  refresh_eligibility(state, e.key, e.at);
  note_latest_start(state, *held);
}

void apply_one(State& state, const JobSubmitted& e) { add_job(state, e, std::nullopt); }

void apply_one(State& state, const HetJobSubmitted& e) {
  const auto size = static_cast<std::uint32_t>(e.components.size());
  const JobKey leader = e.components.front().key;
  for (std::uint32_t i = 0; i < size; ++i) {
    MR_ASSERT(e.components[i].key.value == leader.value + i);
    MR_ASSERT(e.components[i].id.value == e.components.front().id.value + i);
    add_job(state, e.components[i], HetRole{leader, i, size});
  }
  follow_leader(state, leader);
}

void apply_one(State& state, const JobHoldChanged& e) {
  const std::vector<JobKey> whole = whole_of(state.job(e.key));
  for (const JobKey key : whole)
    change_job(state, key, [&](Job& job) {
      job.hold = e.hold;
      job.priority = e.priority;
      job.priority_fixed = false;
      if (e.hold != Hold::none) return;
      job.requeue_held = job.launch_failed = false;
      if (job.trouble) job.trouble.edit().tries = 0;
      if (job.held_why == HeldWhy::too_often) job.requeues = 0;
      job.held_why = HeldWhy::asked;
    });
}

void apply_one(State& state, const JobModified& e) {
  count_job(state, state.job(e.key), Count::take_away, e.at);
  live_name(state, state.job(e.key), false);
  clear_deadline(state, latest_start(state.job(e.key)), e.key, DeadlineKind::latest_start);
  if (e.dependencies) {
    const SharedValue<Job> before = state.jobs.at(e.key);
    forget_dependents(state, *before);
    clear_waits(state, *before);
  }
  change_job(state, e.key, [&](Job& job) {
    if (e.time_limit_minutes && job.state == JobState::running) {
      clear_deadline(state, kill_time(job), e.key, DeadlineKind::time_limit);
      job.time_limit_minutes = *e.time_limit_minutes;
      if (kill_time(job) != never) state.deadlines.set({kill_time(job), e.key, DeadlineKind::time_limit}, {});
    } else if (e.time_limit_minutes) {
      job.time_limit_minutes = *e.time_limit_minutes;
    }
    if (e.priority) job.priority = *e.priority;
    if (e.priority_fixed) job.priority_fixed = *e.priority_fixed;
    if (e.qos) job.qos = *e.qos;
    if (e.begin_at) {
      clear_deadline(state, job.begin_at, e.key, DeadlineKind::begin);
      job.begin_at = *e.begin_at;
      job.eligible_at = Time{};
    }
    if (e.dependencies) {
      job.dependencies = e.dependencies->list.empty() ? SharedValue<Dependencies>{} : SharedValue(*e.dependencies);
      job.dependency_never = false;
      job.eligible_at = Time{};
    }
    modify_spec(job.spec.edit(), e);
    job.association = association_of(state, *job.spec);
  });
  count_job(state, state.job(e.key), Count::add, e.at);
  if (e.array_throttle && state.job(e.key).array.value != 0)
    state.edit_array(state.job(e.key).array).spec.throttle = *e.array_throttle;
  if (state.job(e.key).state != JobState::ended) live_name(state, state.job(e.key), true);
  if (e.dependencies) {
    const SharedValue<Job> now = state.jobs.at(e.key);
    remember_dependents(state, *now);
    look_again(state, e.key, e.at);
  }
  refresh_eligibility(state, e.key, e.at);
  note_latest_start(state, state.job(e.key));
}

void apply_one(State& state, const JobBecameEligible& e) {
  const SharedValue<Job> held = state.jobs.at(e.key);
  if (held->begin_at <= e.at) clear_deadline(state, held->begin_at, e.key, DeadlineKind::begin);
  if (held->dependencies)
    for (const Dependency& dependency : held->dependencies->list)
      if (dependency.due_at.is_set() && dependency.due_at <= e.at)
        clear_deadline(state, dependency.due_at, e.key, DeadlineKind::dependency_delay);
  look_again(state, e.key, e.at);
  refresh_eligibility(state, e.key, e.at);
}

void apply_one(State& state, const ArrayTaskSplit& e) {
  const SharedValue<Job> rest = state.jobs.at(e.array);
  MR_ASSERT(rest->is_array_rest() && rest->state == JobState::pending);
  MR_ASSERT(state.arrays.at(e.array)->rest.contains(e.task));
  {
    ArrayState& array = state.edit_array(e.array);
    array.rest.erase(e.task);
    MR_ASSERT(array.rest.empty() == (e.key == e.array));
    if (e.key != e.array) {
      ++array.records;
      --state.unsplit_tasks;
    }
  }
  state.tasks.set({e.array, e.task}, e.key);
  if (e.key == e.array) {
    Job& last = state.edit_job(e.key);
    last.array_task = e.task;
    if (correspond(last, e.task)) {
      look_again(state, e.key, e.at);
      refresh_eligibility(state, e.key, e.at);
    }
    return;
  }
  MR_ASSERT(e.key == state.next_key);
  Job job = *rest;
  job.key = e.key;
  job.id = e.id;
  job.array_task = e.task;
  const bool corresponds = correspond(job, e.task);
  state.jobs.set(e.key, SharedValue(std::move(job)));
  const bool fresh_id = state.by_id.set(e.id, e.key);
  MR_ASSERT(fresh_id);
  state.next_key = JobKey{e.key.value + 1};
  state.last_id = e.id;
  const SharedValue<Job> held = state.jobs.at(e.key);
  live_name(state, *held, true);
  remember_dependents(state, *held);
  add_deadlines(state, *held);
  enqueue(state, *held);
  if (!corresponds) return;
  look_again(state, e.key, e.at);
  refresh_eligibility(state, e.key, e.at);
}

// It keeps the others, in case it has to wait again.
void use_partition(Job& job, PartitionIndex partition) {
  JobSpec& spec = job.spec.edit();
  ResourceRequest request = spec.resource_request();
  std::ranges::replace(request.more_partitions, partition.value, spec.partition.value);
  spec.partition = partition;
  spec.resources = SharedValue(std::move(request));
}

void apply_one(State& state, const JobPlaced& e) {
  {
    const Job& seen = state.job(e.key);
    MR_ASSERT(next_state(seen.state, Cause::placed) == JobState::running);
    MR_ASSERT(seen.attempt == e.attempt);
    MR_ASSERT(!seen.is_array_rest());
    dequeue(state, seen);
    count_job(state, seen, Count::take_away, e.at);
    clear_waits(state, seen);  // a '?' list may be met while one of its delays still runs
  }
  Job& job = state.edit_job(e.key);
  job.state = JobState::running;
  job.started_at = e.at;
  if (e.priority != 0) job.priority = e.priority;
  job.placement = SharedValue(Placement{.shares = e.shares,
                                        .by_backfill = e.by_backfill,
                                        .licences = e.licences,
                                        .shared = e.shared,
                                        .on_all_nodes = e.on_all_nodes,
                                        .supervised = e.supervised});
  job.program = e.prolog ? JobProgram::prolog : JobProgram::none;
  job.suspension = {};
  job.used = {};
  take_licences(state, e.licences);
  if (e.partition) use_partition(job, *e.partition);
  if (e.waited) job.waited = SharedValue(*e.waited);
  if (e.limit_minutes) job.time_limit_minutes = *e.limit_minutes;
  job.over_time_minutes = over_time_of(state, job.spec->partition);
  job.association = association_of(state, *job.spec);
  count_job(state, job, Count::add, e.at);
  for (const NodeShare& share : e.shares) take_share(state, share, e.key, e.at);
  state.active.set(e.key, {});
  if (kill_time(job) != never) state.deadlines.set({kill_time(job), e.key, DeadlineKind::time_limit}, {});
  if (job.array.value != 0) {
    ArrayState& array = state.edit_array(job.array);
    ++array.running;
    if (job.attempt.value == 0) ++array.started;
  }
  if (job.spec->extra_request().reboot) reboot_for(state, e.key, e.at);
  note_boot(state, e.key, e.at);
  const SharedValue<Job> held = state.jobs.at(e.key);
  resolve_dependents(state, *held, e.at);
}

void apply_one(State& state, const AttemptExited& e) { exit_attempt(state, e); }
void apply_one(State& state, const AttemptEnded& e) { end_attempt(state, e); }
void apply_one(State& state, const JobLostNode& e) { leave_node(state, e); }
void apply_one(State& state, const JobShrunk& e) { give_up_nodes(state, e); }
void apply_one(State& state, const JobPortsHeld& e) {
  MR_ASSERT(state.job(e.key).attempt == e.attempt);
  state.edit_job(e.key).placement.edit().ports = e.ports;
}
void apply_one(State& state, const JobProgramEnded& e) { end_program(state, e); }

void apply_one(State& state, const HetJobPlaced& e) {
  for (const JobPlaced& placed : e.components) apply_one(state, placed);
}

// A job that waits ends at once, and with it all its components.
template <class Change>
void end_waiting(State& state, JobKey key, Time at, Change change) {
  const std::vector<JobKey> whole = whole_of(state.job(key));
  for (const JobKey each : whole) {
    dequeue(state, state.job(each));
    Job& job = state.edit_job(each);
    MR_ASSERT(job.state == JobState::pending);
    change(job);
    finish(state, each, at);
  }
}

void apply_one(State& state, const JobCancelled& e) {
  const auto cancel = [&](Job& job) {
    job.outcome = Outcome::cancelled;
    job.end_reason = Reason::none;
    job.cancelled_by = e.by;
    job.requeue_wanted = false;
  };
  if (state.job(e.key).state == JobState::pending) return end_waiting(state, e.key, e.at, cancel);
  Job& job = state.edit_job(e.key);
  cancel(job);
  MR_ASSERT(next_state(job.state, Cause::stopped) == JobState::completing);
  if (job.is_component()) return end_component(state, e.key, e.at);
  to_completing(state, job, e.at);
  bring_along(state, e.key, e.at);
}

void apply_one(State& state, const JobDeadlinePassed& e) {
  end_waiting(state, e.key, e.at, [](Job& job) {
    job.outcome = Outcome::deadline;
    job.end_reason = Reason::deadline;
  });
}

void apply_one(State& state, const JobTimedOut& e) {
  Job& job = state.edit_job(e.key);
  MR_ASSERT(job.state == JobState::running || job.state == JobState::suspended);
  job.outcome = Outcome::timeout;
  job.end_reason = e.inactive ? Reason::inactive_limit : Reason::time_limit;
  if (job.is_component()) return end_component(state, e.key, e.at);
  to_completing(state, job, e.at);
  bring_along(state, e.key, e.at);
}

void apply_one(State& state, const JobPreempted& e) {
  Job& job = state.edit_job(e.key);
  MR_ASSERT(job.state == JobState::running || job.state == JobState::suspended);
  if (e.due > e.at) {
    if (job.preempt_due.is_set()) clear_deadline(state, job.preempt_due, e.key, DeadlineKind::preemption);
    job.preempt_due = e.due;
    job.preempt_requeue = e.requeue;
    state.deadlines.set({e.due, e.key, DeadlineKind::preemption}, {});
    return bring_along(state, e.key, e.at);
  }
  to_completing(state, job, e.at);
  job.preempt_due = e.at;
  job.requeue_wanted = e.requeue;
  job.outcome = e.requeue ? Outcome::none : Outcome::preempted;
  bring_along(state, e.key, e.at);
}

void apply_one(State& state, const JobRequeued& e) {
  const Job& seen = state.job(e.key);
  if (seen.state == JobState::ended) {
    const std::uint32_t delay = state.policy->requeue_delay_seconds;
    Job& again = state.edit_job(e.key);
    again.held_why = e.special_exit ? HeldWhy::special_exit : HeldWhy::asked;
    if (e.begin_at.is_set()) again.requeues = 0;  // the next run of a crontab's job has all its tries
    return whole_to_pending(state, e.key, e.begin_at.is_set() ? e.begin_at : e.at + seconds(delay > 0 ? delay + 1 : 0),
                            e.hold, e.at);
  }
  MR_ASSERT(next_state(seen.state, Cause::stopped) == JobState::completing);
  Job& job = state.edit_job(e.key);
  to_completing(state, job, e.at);
  job.requeue_wanted = true;
  job.requeue_held = e.hold;
  job.held_why = e.special_exit ? HeldWhy::special_exit : HeldWhy::asked;
  job.outcome = Outcome::none;
  bring_along(state, e.key, e.at);
}

void apply_one(State& state, const NodeRegistered& e) {
  register_node(state, e);
  forget_resume(state, e.node);
}
void apply_one(State& state, const NodeLost& e) { lose_node(state, e); }
void apply_one(State& state, const DevicesJudged& e) { judge_devices(state, e); }
void apply_one(State& state, const NodeClockJudged& e) { judge_clock(state, e); }
void apply_one(State& state, const ClockStepped& e) { step_clock(state, e); }
void apply_one(State& state, const NodeStateChanged& e) { change_node(state, e); }
void apply_one(State& state, const NodeModified& e) { modify_node(state, e); }
void apply_one(State& state, const NodesPowered& e) { change_power(state, e); }
void apply_one(State& state, const NodeCreated& e) { create_node(state, e); }
void apply_one(State& state, const NodeDeleted& e) { delete_node(state, e); }

void apply_one(State& state, const PartitionStateChanged& e) {
  Partition& partition = state.partitions.edit().at(e.partition.value);
  if (partition.changed && !partition.afterwards) partition.afterwards = partition.def.availability;
  partition.def.availability = e.availability;
}

void apply_one(State& state, const PartitionChanged& e) { change_partition(state, e); }
void apply_one(State& state, const PartitionDeleted& e) { delete_partition(state, e); }
void apply_one(State& state, const DampingChanged& e) { state.policy.edit().priority.damping = e.factor; }

void forget_job(State& state, JobKey key, Time at) {
  const SharedValue<Job> job = state.jobs.at(key);
  MR_ASSERT(job->state == JobState::ended);
  keep_ended(state, key, at);
  forget_steps(state, key);
  state.jobs.erase(key);
  state.by_id.erase(job->id);
  if (!job->spec->extra_request().cron.empty()) forget_in_crontab(state, *job);
  if (job->array != key) forget_target(state, key);  // else others may still wait for the array as a whole
  if (job->spec->submission != SubmissionKey{} && (job->array.value == 0 || job->array == key))
    state.submissions.erase({job->spec->owner->uid, job->spec->submission});
  if (job->array.value == 0) return;
  if (job->array_task) state.tasks.erase({job->array, *job->array_task});
  if (--state.edit_array(job->array).records == 0) {
    state.arrays.erase(job->array);
    forget_target(state, job->array);
  }
}

void apply_one(State& state, const JobForgotten& e) {
  clear_deadline(state, forget_time(state, state.job(e.key)), e.key, DeadlineKind::forget);
  const std::vector<JobKey> whole = whole_of(state.job(e.key));
  for (const JobKey key : whole) forget_job(state, key, e.at);
}

void apply_one(State& state, const ReservationSet& e) { set_reservation(state, e); }
void apply_one(State& state, const ReservationRemoved& e) { remove_reservation(state, e); }
void apply_one(State& state, const JobSuspended& e) { suspend_job(state, e); }
void apply_one(State& state, const JobResumeWanted& e) { want_resumed(state, e); }
void apply_one(State& state, const JobResumed& e) { resume_job(state, e.key, e.at); }
void apply_one(State& state, const TimeSliceTurned& e) { turn_time_slice(state, e); }
void apply_one(State& state, const StepsReported& e) { report_steps(state, e); }
void apply_one(State& state, const AssociationChanged& e) { change_association(state, e); }
void apply_one(State& state, const AssociationRemoved& e) { remove_association(state, e); }
void apply_one(State& state, const QosChanged& e) { change_qos(state, e); }
void apply_one(State& state, const QosRemoved& e) { remove_qos(state, e); }

void apply_one(State& state, const CrontabSet& e) {
  for (const JobKey key : leave_crontab(state, e)) apply_one(state, JobCancelled{key, e.by, e.at});
  for (const JobSubmitted& job : e.submitted) add_job(state, job, std::nullopt);
  keep_crontab(state, e);
}
void apply_one(State& state, const RecordsPutAside& e) { put_aside(state, e); }
void apply_one(State& state, const TriggerSet& e) { set_trigger(state, e); }
void apply_one(State& state, const TriggerRemoved& e) { state.triggers.erase(e.id); }
void apply_one(State& state, const UsageReset& e) { reset_usage(state, e); }
void apply_one(State& state, const AccountUserChanged& e) { change_account_user(state, e); }
void apply_one(State& state, const TransactionNoted& e) { note_transaction(state, e); }
void apply_one(State& state, const RecordAnnotated& e) { annotate_record(state, e); }

}  // namespace

void apply(State& state, const Event& event) {
  std::visit([&](const auto& e) { apply_one(state, e); }, event);
  ++state.version;
}

}  // namespace millrace
