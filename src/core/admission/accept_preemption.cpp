// src/core/admission/accept_preemption.cpp - see accept_preemption.h.
#include "core/admission/accept_preemption.h"

#include "core/ledger/preempt_rule.h"

namespace millrace {

std::vector<Event> decide_preempt(const State& state, const PreemptJob& proposal, Time now) {
  const Job* job = state.find_job(proposal.key);
  const Job* by = state.find_job(proposal.by);
  if (!job || !by || job->attempt != proposal.attempt || is_yielding(*job) || !is_queueable(state.job(leader_of(*by))))
    return {};
  const auto yield = must_yield_whole(state, *job, *by, proposal.where, now);
  if (!yield) return {};
  if (yield->mode == PreemptMode::suspend)
    return {JobSuspended{proposal.key, SuspendWhy::preempted, proposal.by, {}, now}};
  return {JobPreempted{leader_of(*job), proposal.by, yield->mode == PreemptMode::requeue,
                       now + seconds(yield->grace_seconds), now}};
}

}  // namespace millrace
