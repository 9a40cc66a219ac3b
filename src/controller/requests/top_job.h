// src/controller/requests/top_job.h - scontrol top: one's job before one's other waiting jobs, at the cost of those and
// of nobody else.
#pragma once

#include "core/admission/job_selection.h"

namespace millrace {

Decision decide_top(const State& state, const SelectedJob& which, const Actor& actor, Time now);

}  // namespace millrace
