// src/core/admission/shrink_job.h - scontrol update NumNodes= or NodeList= of a running job: it goes on with fewer
// nodes.
#pragma once

#include "core/admission/modify_job.h"

namespace millrace {

// Of a job that is not pending any more.
bool resizes(const Job& job, const ModifyJob& ask);

// The first ones stay, among them that of the script, or those that are named. No event: it has just these.
Decision decide_shrink(const State& state, const Job& job, const ModifyJob& ask, const Actor& actor, Time now);

}  // namespace millrace
