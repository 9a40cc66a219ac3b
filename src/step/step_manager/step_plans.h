// src/step/step_manager/step_plans.h - what a step is launched with: the plan of its job, narrowed to what the step was
// given. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent.pb.h"
#include "base/index_set.h"
#include "base/result.h"
#include "step/step_manager/step_allocator.h"

namespace millrace {

// Of a job, as far as its steps need it: without script, environment and arguments, which may be large.
wire::LaunchPlan plan_for_steps(const wire::LaunchPlan& job);
// The same for all nodes of the step.
wire::LaunchPlan plan_of_step(const wire::LaunchPlan& job, const StepAllocator& allocator, const wire::CreateStep& ask,
                              const StepPlacement& placement, std::uint32_t id, const std::string& ports);
// What is one node's own, for each share of the placement.
std::vector<wire::LaunchPlan> plans_of_nodes(const wire::LaunchPlan& job, const wire::LaunchPlan& step,
                                             const StepAllocator& allocator, const wire::CreateStep& ask,
                                             const StepPlacement& placement);
// Of the ports that the job has, some that none of its other steps has now. Errc::unavailable: later there are.
Result<std::string> ports_for(const wire::CreateStep& ask, const StepPlacement& placement, const IndexSet& used);

// What srun says of the other parts of a step over several components is taken as it is, as far as it can be true.
bool fits_together(const wire::PartOfStep& part, const StepPlacement& placement);
// Makes the plan of a component's part that of the whole step.
void make_part(const wire::PartOfStep& part, wire::LaunchPlan& plan);

// What the log hears of a step that starts.
wire::StepFact fact_of_start(const wire::LaunchPlan& step, const std::string& job_name,
                             const wire::StepRequest& request, const StepAllocator& allocator,
                             const StepPlacement& placement);
// What has ended on one of its nodes: of the exit codes the highest counts, of the ends the worst.
void add_end(wire::StepFact& fact, const wire::AttemptStatus& status);

}  // namespace millrace
