// src/core/admission/place_unasked.h - srun -Z: an administrator's program on the nodes he names, beside whatever is
// there.
#pragma once

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

// The job waits, and its list of nodes says where. It takes nothing of them: no plan has it and no job has less for it.
Decision decide_place_unasked(const State& state, JobKey key, Time now);

}  // namespace millrace
