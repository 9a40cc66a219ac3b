// src/controller/views/accounted.h - what sacct asks for: jobs with their steps, running, ended and hidden, and who
// ended them.
#pragma once

#include "controller/views/views.h"

namespace millrace {

// The job, and of this run of it the script (or srun's tasks) first, then the steps in the order of their numbers.
void show_accounted(const ReadView& snapshot, const Priorities& priorities, const Job& job, const KeptJob* kept,
                    wire::JobView& out);

// Whether sacct asked for it: its time, its owner, and that no newer run or job has its number.
bool is_asked(const State& state, const wire::QueryJobs& ask, const Job& job);
bool is_asked(const State& state, const wire::QueryJobs& ask, KeptNumber number, const KeptJob& kept, Time now);

// The jobs of `ask.jobs()`: hidden ones before the others, each once. False: too many are named.
bool named_accounted(const ReadView& snapshot, const wire::QueryJobs& ask, wire::Jobs& out);

}  // namespace millrace
