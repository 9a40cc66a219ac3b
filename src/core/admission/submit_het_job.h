// src/core/admission/submit_het_job.h - may a heterogeneous job enter the queue: all of its components, or none.
#pragma once

#include "core/admission/submit_job.h"

namespace millrace {

constexpr std::size_t het_components_max = 128;

// The leader first: the script, the place in the queue, dependencies and begin time are its. One component alone is an
// ordinary job.
std::expected<DecidedSubmission, Refusal> decide(const State& state, std::vector<SubmitJob> components,
                                                 const Actor& actor, Time now);

}  // namespace millrace
