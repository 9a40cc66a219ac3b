// src/sim/scenario_explain.h - the lines of a scenario about why a job waits.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/planner/plan.h"

namespace millrace {

// As squeue shows it after a pass with these findings.
Reason squeue_reason(const State& state, const Job& job, std::span<const Finding> findings, Time now);

// `expect t=5 says a words`: the same line when `millrace why` says these words, also among what it proposes or when it
// starts; otherwise all that it says. `expect t=5 silent a words`: the same line when it does not.
std::string explain_answer(const State& state, const PlannerSettings& settings,
                           const std::vector<std::string>& expectation, const Job* job, Time now);

}  // namespace millrace
