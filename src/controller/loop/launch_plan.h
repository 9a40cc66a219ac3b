// src/controller/loop/launch_plan.h - everything a supervisor needs to run one node's part of a job, from the ledger.
#pragma once

#include "agent.pb.h"
#include "base/index_set.h"
#include "core/ledger/state.h"

namespace millrace {

struct ClusterFacts {
  std::string cluster_name;
  std::string config_path;
  bool append_output = false;  // JobFileAppend
  std::string task_prolog, task_epilog;
  std::uint32_t sample_every_seconds = 0;  // JobAcctGatherFrequency; 0: usage is measured only when somebody asks
  std::uint32_t steps_max = 0;             // MaxStepCount; 0: no limit of the site's
  std::uint32_t tasks_per_node_max = 0;    // MaxTasksPerNode; 0: none
  IndexSet reserved_ports{};               // MpiParams: for steps that ask for some
  bool allow_spec_resources = false;       // AllowSpecResourcesUsage
};

// Without the payloads; those are read from the log.
wire::LaunchPlan make_launch_plan(const State& state, const Job& job, NodeIndex here, const ClusterFacts& facts);

// What root's programs on the node are told of the site, and the site's own programs: never what a step manager says of
// it.
void put_site(const ClusterFacts& facts, wire::LaunchPlan& to);

}  // namespace millrace
