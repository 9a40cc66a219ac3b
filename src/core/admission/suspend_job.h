// src/core/admission/suspend_job.h - stop a job and let it go on: by order, when its CPUs are free again, when its turn
// comes.
#pragma once

#include "core/admission/job_selection.h"

namespace millrace {

Decision decide_suspend(const State& state, const SelectedJob& which, const Actor& actor, Time now);
// It goes on at once where its CPUs are free, otherwise as soon as they are.
Decision decide_resume(const State& state, const SelectedJob& which, const Actor& actor, Time now);

// All suspended jobs that want their CPUs back and can have them: the highest tier and priority first, then who has
// waited longest. To be asked whenever something came free, and before new placements are accepted.
std::vector<Event> decide_resumptions(const State& state, Time now);

// Jobs on the same CPUs take turns: who has waited longest goes on, whoever is in its way waits.
std::vector<Event> decide_turn(const State& state, Time now);

}  // namespace millrace
