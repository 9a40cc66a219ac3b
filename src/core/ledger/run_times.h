// src/core/ledger/run_times.h - how long the jobs of each user ran, where that is to be predicted.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

void remember_run_time(State& state, const Job& job);  // of one that has ended

}  // namespace millrace
