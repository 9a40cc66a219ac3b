// src/sim/scenario_cluster.h - the lines of a scenario that say what the cluster is: nodes, partitions, rules.
#pragma once

#include <string>
#include <vector>

#include "core/ledger/state.h"
#include "sim/scenario_power.h"

namespace millrace {

struct ScenarioCluster {
  std::vector<NodeDef>& nodes;
  std::vector<PartitionDef>& partitions;
  Policy& policy;
  Topology& topology;
  ScenarioPower& power;
  std::uint32_t& depth;  // bf_max_job_test
};

// False: the line is about something else.
Result<bool> read_cluster_line(const std::vector<std::string>& words, ScenarioCluster cluster);

}  // namespace millrace
