// src/core/admission/cancel_job.cpp - see cancel_job.h.
#include "core/admission/cancel_job.h"

#include "core/admission/submit_job.h"

namespace millrace {

Decision decide_cancel(const State& state, const SelectedJob& which, const Actor& actor, Time now) {
  const Job& job = state.job(which.key);
  if (!may_change(job, actor)) return refuse(RefusalCode::access_denied);
  if (job.state == JobState::ended) return refuse(RefusalCode::already_done);
  if (follows_leader(job, which)) return refuse(RefusalCode::not_whole_het_job);
  if (job.is_component() && job.state == JobState::completing) return std::vector<Event>{};
  if (job.het && which.component && job.state == JobState::pending) return refuse(RefusalCode::not_whole_het_job);
  if (job.state == JobState::completing && job.outcome == Outcome::cancelled) return std::vector<Event>{};
  // One that is going anyway keeps its cause, unless it would come back.
  if (job.state == JobState::completing && !job.requeue_wanted) return std::vector<Event>{};
  std::vector<Event> events;
  const JobKey key = split_if_needed(state, which, now, events);
  events.emplace_back(JobCancelled{key, actor.uid, now});
  return events;
}

Decision decide_requeue(const State& state, const SelectedJob& which, bool hold, const Actor& actor, Time now,
                        bool special_exit) {
  const Job& job = state.job(which.key);
  if (!may_change(job, actor)) return refuse(RefusalCode::access_denied);
  if (job.is_component()) return refuse(RefusalCode::not_whole_het_job);
  if (which.task || job.state == JobState::pending) return refuse(RefusalCode::job_pending);
  if (job.is_array_rest()) return refuse(RefusalCode::already_done, "a cancelled rest of an array cannot come back");
  if (!job.spec->is_batch() || job.spec->allocation_only)
    return refuse(RefusalCode::disabled, "only batch jobs can be requeued");
  if (!job.spec->requeue) return refuse(RefusalCode::disabled, "the job was submitted with --no-requeue");
  if (job.state == JobState::completing && job.requeue_wanted) return std::vector<Event>{};
  return std::vector<Event>{
      JobRequeued{.key = job.key, .hold = hold, .by = actor.uid, .at = now, .special_exit = hold && special_exit}};
}

Decision decide_hold(const State& state, const SelectedJob& which, bool as_user, const Actor& actor, Time now) {
  const Job& job = state.job(which.key);
  if (!may_change(job, actor)) return refuse(RefusalCode::access_denied);
  if (job.state == JobState::ended) return refuse(RefusalCode::already_finished);
  if (job.state != JobState::pending) return refuse(RefusalCode::not_pending);
  if (follows_leader(job, which) || (job.het && which.component)) return refuse(RefusalCode::not_whole_het_job);
  const bool owner_style = as_user || !actor.is_admin || job.spec->owner->uid == actor.uid;
  const Hold hold = owner_style && job.hold != Hold::admin ? Hold::user : Hold::admin;
  if (job.hold == hold) return std::vector<Event>{};
  std::vector<Event> events;
  const JobKey key = split_if_needed(state, which, now, events);
  events.emplace_back(JobHoldChanged{key, hold, 0, now});
  return events;
}

Decision decide_release(const State& state, const SelectedJob& which, const Actor& actor, Time now) {
  const Job& job = state.job(which.key);
  if (!may_change(job, actor)) return refuse(RefusalCode::access_denied);
  if (job.state == JobState::ended) return refuse(RefusalCode::already_finished);
  if (job.state != JobState::pending)
    return std::vector<Event>{};  // it has gone on: a list of jobs is released without looking
  if (follows_leader(job, which) || (job.het && which.component)) return refuse(RefusalCode::not_whole_het_job);
  if (job.hold == Hold::admin && !actor.is_admin) return refuse(RefusalCode::access_denied, "held by an administrator");
  if (job.hold == Hold::none) return std::vector<Event>{};
  std::vector<Event> events;
  const JobKey key = split_if_needed(state, which, now, events);
  events.emplace_back(JobHoldChanged{key, Hold::none, initial_priority(state, job.key, job.spec->nice), now});
  return events;
}

}  // namespace millrace
