// src/core/ledger/rebuild.h - the indexes of a state from its records alone; what a snapshot does not have to carry.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

// Expects jobs, arrays, nodes, partitions and policy; makes everything that can be derived from them.
void rebuild_indexes(State& state);

// Everything this job waits for or will be ended by, as far as its record says.
void add_deadlines(State& state, const Job& job);
void add_deadline(State& state, const Reservation& reservation);

}  // namespace millrace
