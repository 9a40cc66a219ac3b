// src/core/admission/expire.cpp - see expire.h.
#include "core/admission/expire.h"

#include <algorithm>

#include "core/admission/reserve.h"
#include "core/admission/suspend_job.h"
#include "core/ledger/usage_reset.h"

namespace millrace {

Time next_deadline(const State& state) {
  const auto first = state.deadlines.begin();
  const Time turn = state.slice_due.is_set() ? state.slice_due : never;
  return std::min({first == state.deadlines.end() ? never : (*first).first.at, next_usage_reset(state), turn});
}

std::vector<Event> decide_expired(const State& state, Time now, bool turns) {
  if (next_usage_reset(state) <= now) return {UsageReset{{}, now}};
  if (turns && state.slice_due.is_set() && state.slice_due <= now) return decide_turn(state, now);
  const auto first = state.deadlines.begin();
  if (first == state.deadlines.end() || (*first).first.at > now) return {};
  const DeadlineKey due = (*first).first;
  switch (due.kind) {
    case DeadlineKind::begin:
    case DeadlineKind::dependency_delay:
      return {JobBecameEligible{due.key, now}};
    case DeadlineKind::time_limit:
      return {JobTimedOut{due.key, now}};
    case DeadlineKind::forget:
      return {JobForgotten{due.key, now}};
    case DeadlineKind::invalid_dependency:
      return {JobCancelled{due.key, UserId{0}, now}};
    case DeadlineKind::latest_start:
      return {JobDeadlinePassed{due.key, now}};
    case DeadlineKind::preemption:
      return {JobPreempted{due.key, {}, state.job(due.key).preempt_requeue, {}, now}};
    case DeadlineKind::node_resume:
      return {NodeStateChanged{NodeIndex{static_cast<std::uint32_t>(due.key.value)}, NodeOrder::resume, "", UserId{0},
                               now}};
    case DeadlineKind::reservation:
      return decide_reservation_due(state, ReservationId{static_cast<std::uint32_t>(due.key.value)}, now);
  }
  return {};
}

}  // namespace millrace
