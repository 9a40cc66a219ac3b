// src/core/ledger/apply_clock.h - what becomes of times when somebody sets the controller's clock, and of nodes whose
// clocks are wrong.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

void step_clock(State& state, const ClockStepped& e);
void judge_clock(State& state, const NodeClockJudged& e);

// What was held against it is over after a boot, too.
void begin_boot(Node& node, const std::string& id);
// Somebody gives an order about it: what we held against it is over, or is somebody else's matter from now on.
void take_over(Node& node, NodeOrder order);

}  // namespace millrace
