// src/controller/views/planned_nodes.cpp - how many nodes a waiting job will have, as squeue shows it; part of the
// views.
#include "controller/views/views.h"
#include "core/model/fit.h"

namespace millrace {

std::uint32_t planned_node_count(const ReadView& snapshot, const Job& job) {
  const PlanReport& plan = *snapshot.plan;
  if (const auto it = plan.findings.find(job.key); it != plan.findings.end() && !it->second.planned_shares.empty())
    return static_cast<std::uint32_t>(it->second.planned_shares.size());
  const std::size_t partition = job.spec->partition.value;
  return partition < plan.largest_nodes.size() ? least_nodes(*job.spec, plan.largest_nodes[partition])
                                               : job.spec->min_nodes;
}

}  // namespace millrace
