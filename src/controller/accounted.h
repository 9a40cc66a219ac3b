// src/controller/accounted.h - what sacct shows of a job besides the job itself: its steps, running and ended, and who ended it.
#pragma once

#include "core/ledger/state.h"
#include "millrace.pb.h"

namespace millrace {

// Of its latest attempt: the script (or srun's tasks) first, then the steps in the order of their numbers.
void show_accounted(const State& state, const Job& job, wire::Accounted& out);

}  // namespace millrace
