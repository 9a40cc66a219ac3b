// src/cli/options/job_options.h - every option that describes a job, for sbatch and srun: one row each.
#pragma once

#include <span>

#include "cli/options/job_draft.h"
#include "cli/options/option.h"

namespace millrace {

using JobOption = Option<JobDraft>;
std::span<const JobOption> job_options();

// Contradictions that no single option can see; `tool` is sbatch or srun. Errors as those of a setter.
Result<void> check_draft(const JobDraft& draft);

}  // namespace millrace
