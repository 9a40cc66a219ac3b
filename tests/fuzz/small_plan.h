// tests/fuzz/small_plan.h - the launch of a job on three nodes, as its supervisor on the first gets it.
#pragma once

#include "agent.pb.h"

namespace millrace::fuzz {

inline wire::LaunchPlan plan_of_job() {
  wire::LaunchPlan plan;
  plan.set_nodes("n[1-3]");
  plan.set_node_name("n1");
  for (const std::uint32_t cpus : {4u, 4u, 2u}) plan.add_cpus_per_node(cpus);
  for (const std::uint32_t tasks : {2u, 1u, 1u}) plan.add_tasks_per_node(tasks);
  return plan;
}

}  // namespace millrace::fuzz
