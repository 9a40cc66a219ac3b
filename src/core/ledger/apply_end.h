// src/core/ledger/apply_end.h - the part of apply that ends attempts, node by node, and what runs before and after
// them.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

void exit_attempt(State& state, const AttemptExited& e);
void end_attempt(State& state, const AttemptEnded& e);
// One of its nodes is gone, and it goes on. What it holds there is free; the others keep their places among its nodes.
void leave_node(State& state, const JobLostNode& e);
void give_up_nodes(State& state, const JobShrunk& e);
void end_program(State& state, const JobProgramEnded& e);
// From now on its time counts: it could not begin before.
void begin_anew(State& state, JobKey key, Time at);

}  // namespace millrace
