// tests/fuzz/fuzz_step.cpp - what the supervisor of a job reads: wishes for steps, the plan of a launch, facts of
// steps.
#include "agent.pb.h"
#include "client.pb.h"
#include "small_plan.h"
#include "step/attempt/affinity.h"
#include "step/environment/compat_environment.h"
#include "step/environment/environment.h"
#include "step/step_manager/step_allocator.h"
#include "target.h"
#include "task.pb.h"
#include "wire/launch_plan_check.h"
#include "wire/program_environment.h"
#include "wire/step_facts.h"

using namespace millrace;

FUZZ_SEEDS(create_step) {
  wire::CreateStep ask;
  ask.mutable_step()->set_min_nodes(2);
  ask.mutable_step()->set_tasks(3);
  ask.mutable_step()->set_required_nodes("n[1-2]");
  ask.mutable_step()->mutable_resources()->set_distribution("arbitrary");
  ask.mutable_step()->mutable_resources()->set_task_nodes("n2,n1,n1");
  ask.mutable_step()->mutable_resources()->set_node_counts("1-3:2");
  return {ask.SerializeAsString(), std::string{}};
}

FUZZ_BINARY(create_step) {
  wire::CreateStep ask;
  if (!ask.ParseFromArray(input.data(), static_cast<int>(input.size()))) return;
  StepAllocator allocator(fuzz::plan_of_job(), 0);
  const auto room = allocator.find_room(ask);
  if (!room) return;
  const std::uint32_t step = allocator.start(*room, ask.overlap());
  fuzz::use(allocator.ranks_of(room->shares, ask.step().resources()));
  fuzz::use(allocator.tasks_on(step, "n2", ask.step().resources()));
  fuzz::use(allocator.find_room(ask));
}

FUZZ_SEEDS(launch_plan) { return {fuzz::plan_of_job().SerializeAsString()}; }

FUZZ_BINARY(launch_plan) {
  wire::LaunchPlan plan;
  if (!plan.ParseFromArray(input.data(), static_cast<int>(input.size()))) return;
  if (!check_plan(plan)) return;  // as the agent does, before anybody else sees it
  wire::Credential identity;
  fuzz::use(node_environment(plan, identity));
  fuzz::use(ranks_of_node(plan));
  fuzz::use(step_name(plan));
  fuzz::use(program_environment("prolog_slurmd", plan, identity, nullptr));
  StepAllocator allocator(plan, 0);
  wire::CreateStep ask;
  fuzz::use(allocator.find_room(ask));
}

FUZZ_BINARY(step_facts) {
  wire::StepFacts facts;
  if (!facts.ParseFromArray(input.data(), static_cast<int>(input.size()))) return;
  fuzz::use(reported_steps(facts.facts()));
  wire::StepUsage sum;
  for (const wire::StepFact& fact : facts.facts()) add_usage(sum, fact.usage());
  fuzz::use(usage_of(sum));
}
