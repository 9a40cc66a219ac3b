// src/cli/step_wishes.h - which of srun's options mean something to a step of a job, and which do not.
#pragma once

#include "cli/console.h"
#include "cli/options/job_draft.h"

namespace millrace {

// In a job's environment stands what the job was given as a whole; a step of it does not ask for that.
void forget_wishes_of_job();

// What a step cannot have is refused by name; what chooses nodes for a job, and means nothing where they are chosen, is
// dropped as Slurm does.
Result<void> settle_step_wishes(const Command& command, JobDraft& draft);

// --interactive: one task on the first node with all that the job has there, whatever the variables of the job say.
void settle_interactive_step(JobDraft& draft);

// It wants no more CPUs than it asks for.
bool is_exact(const JobDraft& draft);

}  // namespace millrace
