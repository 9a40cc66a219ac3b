// src/core/ledger/apply_steps.h - steps of jobs: started, ended, ended with their attempt, forgotten with their job.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

constexpr std::uint32_t ended_steps_max = 10'000;  // kept of one job; a part of the log's meaning, never to be changed

void report_steps(State& state, const StepsReported& e);
// Its attempt is over, and with it whatever of its steps nobody saw end.
void end_steps(State& state, JobKey key, Outcome outcome, Time at);
void forget_steps(State& state, JobKey key);

// Of a step that is still known; null: it never was, or is no longer.
const Step* find_step(const State& state, const StepKey& key);

}  // namespace millrace
