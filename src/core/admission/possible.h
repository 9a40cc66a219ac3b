// src/core/admission/possible.h - could this request ever be met, and if not, what is the nearest that could?
#pragma once

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

// Refuses what no set of nodes of any of the job's partitions could ever hold; the note says what the most is, and
// where.
std::expected<void, Refusal> check_possible(const State& state, const JobSpec& spec);

}  // namespace millrace
