// src/cli/told_options.h - what sbatch, srun and salloc say with -v before they ask for anything.
#pragma once

#include "cli/submission.h"

namespace millrace {

// The options that were given, wherever, as Slurm lists them; with -vv also the limits that go on to the job.
void tell_options(const Command& command, const JobDraft& draft);

}  // namespace millrace
