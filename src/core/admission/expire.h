// src/core/admission/expire.h - what has become due: time limits, begin times, nodes that come back to service, records
// old enough to go.
#pragma once

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

// The earliest deadline, or `never`.
Time next_deadline(const State& state);
// One deadline that is due, as facts; call again until nothing comes. Bounded: each call removes the deadline it acts
// on. Without `turns` those who share CPUs do not take turns now; all else has its time.
std::vector<Event> decide_expired(const State& state, Time now, bool turns = true);

}  // namespace millrace
