// src/core/ledger/apply_job.h - turns in the life of a job that several parts of apply bring about.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

void clear_deadline(State& state, Time at, JobKey key, DeadlineKind kind);
void to_completing(State& state, Job& job, Time at);
// What was decided about the leader holds for the components that still run: they stop with it.
void bring_along(State& state, JobKey key, Time at);
// A component that stopped before the rest of its job did: nothing of it is left.
void settle_component(State& state, JobKey key, Time at);
// Nothing of it is left and nothing has to run: the attempt is over, and with a leader's that of all components.
void settle_job(State& state, JobKey key, Time at);

}  // namespace millrace
