// src/core/admission/create_node.cpp - see create_node.h.
#include "core/admission/create_node.h"

#include <algorithm>

namespace millrace {

Decision decide_create_node(const State& state, const NodeDef& def, const Actor& actor, Time now) {
  if (!actor.is_admin) return refuse(RefusalCode::access_denied);
  std::uint32_t there = 0;
  for (const auto& [index, node] : state.nodes) {
    if (node->configured) ++there;
    if (node->def->name == def.name && (node->configured || !node->jobs.empty()))
      return refuse(RefusalCode::invalid_node_name, "node " + def.name + " is there already");
  }
  if (there >= state.policy->max_nodes)
    return refuse(RefusalCode::invalid_node_name, "there are " + std::to_string(there) +
                                                      " nodes already, and MaxNodeCount allows " +
                                                      std::to_string(std::max(state.policy->max_nodes, there)) +
                                                      "; a larger MaxNodeCount in slurm.conf makes room");
  return std::vector<Event>{NodeCreated{def, actor.uid, now}};
}

Decision decide_delete_node(const State& state, NodeIndex index, const Actor& actor, Time now) {
  if (!actor.is_admin) return refuse(RefusalCode::access_denied);
  const Node& node = state.node(index);
  if (!node.configured || node.def->kind != NodeKind::dynamic)
    return refuse(RefusalCode::invalid_node_state,
                  "node " + node.def->name + " is in slurm.conf; only nodes that were created may be deleted");
  if (!node.jobs.empty())
    return refuse(RefusalCode::nodes_busy,
                  "node " + node.def->name + " has jobs; it may be deleted when they are gone");
  for (const auto& [id, reservation] : state.reservations)
    if (std::ranges::binary_search(reservation->nodes, index.value))
      return refuse(RefusalCode::nodes_busy, "node " + node.def->name + " is in reservation " + reservation->name);
  return std::vector<Event>{NodeDeleted{index, actor.uid, now}};
}

}  // namespace millrace
