// src/core/admission/place_unasked.cpp - see place_unasked.h.
#include "core/admission/place_unasked.h"

#include <algorithm>

#include "core/model/layout.h"

namespace millrace {

Decision decide_place_unasked(const State& state, JobKey key, Time now) {
  const Job& job = state.job(key);
  const JobSpec& spec = *job.spec;
  if (spec.rare_request().required_nodes.empty())
    return refuse(RefusalCode::invalid_node_name, "must specify a node list with -Z, --no-allocate.");
  if (job.het || job.array.value != 0 || !is_queueable(job))
    return refuse(RefusalCode::not_supported,
                  "--no-allocate runs one program, at once: no array, no dependency, no begin time");
  JobPlaced placed{key, job.attempt, {}, false, now, {}, {}, 0};
  for (const std::uint32_t index : spec.rare_request().required_nodes) {
    const Node& node = state.node(NodeIndex{index});
    if (!node.configured || node.future || !node.is_ready() || !node.inventory || node.condition != NodeCondition::up)
      return refuse(RefusalCode::node_configuration_unavailable, "node " + node.def->name + " is not up");
    placed.shares.emplace_back().node = NodeIndex{index};
  }
  std::vector<std::uint32_t> any(placed.shares.size(), UINT32_MAX / 2);
  const auto nodes = static_cast<std::uint32_t>(placed.shares.size());
  const std::vector<std::uint32_t> counts =
      lay_out(Distribution{.order = NodeOrderOfTasks::cyclic}, std::max(spec.tasks, nodes), any);
  if (counts.size() != placed.shares.size()) return refuse(RefusalCode::bad_task_count);
  for (std::size_t i = 0; i < counts.size(); ++i) placed.shares[i].tasks = counts[i];
  placed.on_all_nodes = state.policy->node_programs;
  placed.prolog = state.policy->job_prolog;
  return std::vector<Event>{std::move(placed)};
}

}  // namespace millrace
