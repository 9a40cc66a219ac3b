// src/wire/step_facts.h - what step managers tell of steps, between core's types and the wire's.
#pragma once

#include "agent.pb.h"
#include "core/model/step.h"

namespace millrace {

ReportedStep reported_step(const wire::StepFact& from);
StepUsage usage_of(const wire::StepUsage& from);
wire::StepUsage to_wire(const StepUsage& from);
// CPU time and bytes add up, memory is the largest.
void add_usage(wire::StepUsage& sum, const wire::StepUsage& more);

template <class Facts>
std::vector<ReportedStep> reported_steps(const Facts& facts) {
  std::vector<ReportedStep> out;
  for (const wire::StepFact& fact : facts) out.push_back(reported_step(fact));
  return out;
}

}  // namespace millrace
