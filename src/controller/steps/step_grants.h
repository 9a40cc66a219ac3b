// src/controller/steps/step_grants.h - what a job has on its nodes, told to its step manager; and what of it a
// step may have there, whatever the step manager wrote.
#pragma once

#include "agent.pb.h"
#include "controller/views/views.h"

namespace millrace {

// To the supervisor of its first node.
void describe_allocation(const State& state, const Job& job, wire::LaunchPlan& to);

// `to` has what the ledger says of the job on that node; `asked` is the launch as the step manager wrote it.
void keep_to_job(const Job& job, NodeIndex here, const wire::LaunchPlan& asked, wire::LaunchPlan& to);

}  // namespace millrace
