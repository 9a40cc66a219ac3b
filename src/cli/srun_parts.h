// src/cli/srun_parts.h - a step over several components of a heterogeneous job: srun --het-group=0,1 a, srun a : b,
// also as a job of its own.
#pragma once

#include <functional>

#include "cli/console.h"
#include "cli/srun_console.h"
#include "cli/submission.h"

namespace millrace {

// In the job, or without one in a heterogeneous job that is made for it.
int run_srun_parts(const Command& command, std::vector<SrunPart>& parts, const ClientSettings& settings,
                   std::optional<std::uint32_t> job_id);

// What a step of one component and the parts of a greater one are made of (srun.cpp).
struct StepStdio {
  std::string host;
  std::uint32_t port = 0;
  std::string secret;
};
wire::CreateStep make_step_ask(const JobDraft& draft, std::uint32_t job_id, const StepStdio& stdio);
Result<SrunPlan> make_srun_plan(const Command& command, Submission& all, const ClientSettings& settings);
int with_srun_hooks(const Command& command, const JobDraft& draft, const ClientSettings& settings,
                    const std::function<int()>& work);

}  // namespace millrace
