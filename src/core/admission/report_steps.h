// src/core/admission/report_steps.h - what the step manager of a job says of them: only what is new and can be true
// becomes a fact.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

// What was told before, is about another attempt or about nodes the job does not have, changes nothing.
std::vector<Event> decide_steps(const State& state, JobKey key, Attempt attempt,
                                const std::vector<ReportedStep>& reported, Time now);

}  // namespace millrace
