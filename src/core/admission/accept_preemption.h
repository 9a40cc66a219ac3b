// src/core/admission/accept_preemption.h - a proposal that a running job makes room, checked against the present.
#pragma once

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

struct PreemptJob {
  JobKey key;
  Attempt attempt;
  JobKey by;
  PartitionIndex where;  // in which the other wants to start
};

// No events: stale, or no longer right.
std::vector<Event> decide_preempt(const State& state, const PreemptJob& proposal, Time now);

}  // namespace millrace
