// src/core/ledger/apply_clock.h - what becomes of times when somebody sets the controller's clock, and of nodes whose
// clocks are wrong.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

void step_clock(State& state, const ClockStepped& e);
void judge_clock(State& state, const NodeClockJudged& e);

}  // namespace millrace
