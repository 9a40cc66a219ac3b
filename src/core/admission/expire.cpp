// src/core/admission/expire.cpp - see expire.h.
#include "core/admission/expire.h"

namespace millrace {

Time next_deadline(const State& state) {
  const auto first = state.deadlines.begin();
  return first == state.deadlines.end() ? never : (*first).first.at;
}

std::vector<Event> decide_expired(const State& state, Time now) {
  const auto first = state.deadlines.begin();
  if (first == state.deadlines.end() || (*first).first.at > now) return {};
  const DeadlineKey due = (*first).first;
  switch (due.kind) {
    case DeadlineKind::begin:
    case DeadlineKind::dependency_delay: return {JobBecameEligible{due.key, now}};
    case DeadlineKind::time_limit: return {JobTimedOut{due.key, now}};
    case DeadlineKind::forget: return {JobForgotten{due.key, now}};
    case DeadlineKind::invalid_dependency: return {JobCancelled{due.key, UserId{0}, now}};
  }
  return {};
}

}  // namespace millrace
