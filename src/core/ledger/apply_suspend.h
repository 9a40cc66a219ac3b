// src/core/ledger/apply_suspend.h - jobs that are stopped and go on: their CPUs, their clocks, their turns.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

void suspend_job(State& state, const JobSuspended& e);
void want_resumed(State& state, const JobResumeWanted& e);
void resume_job(State& state, JobKey key, Time at);
void turn_time_slice(State& state, const TimeSliceTurned& e);
// Whoever shares CPUs is looked at once the configuration may have begun or ended the taking of turns.
void turns_may_begin(State& state, Time at);
// It is ended as it lies: its CPUs may have others by now and are not taken again. Its state is the caller's to change.
void end_suspended(State& state, Job& job, Time at);

}  // namespace millrace
