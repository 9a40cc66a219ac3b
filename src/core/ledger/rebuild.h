// src/core/ledger/rebuild.h - the indexes of a state from its records alone; what a snapshot does not have to carry.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

// Expects jobs, arrays, nodes, partitions and policy; makes everything that can be derived from them.
void rebuild_indexes(State& state);

// What nodes and licences are used by the jobs that hold them. Expects that nothing is counted yet.
void add_up_shares(State& state);

// Forgets everything that follows from the records and makes it anew, `at` being the time from which usage without one
// counts.
void rebuild_all(State& state, Time at);

// Everything this job waits for or will be ended by, as far as its record says.
void add_deadlines(State& state, const Job& job);
void add_deadline(State& state, const Reservation& reservation);

}  // namespace millrace
