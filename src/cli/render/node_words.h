// src/cli/render/node_words.h - what a node's or partition's state is called, by scontrol and by sinfo.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client.pb.h"

namespace millrace {

std::string node_state_full(const wire::NodeView& node);     // IDLE+DRAIN
std::string node_state_long(const wire::NodeView& node);     // drained, mixed, down*
std::string node_state_compact(const wire::NodeView& node);  // drain, mix, down*
std::uint32_t node_state_order(const wire::NodeView& node);  // sinfo's sort key
bool node_is_allocated(const wire::NodeView& node);
bool node_is_idle(const wire::NodeView& node);

// -t of sinfo: a state name, its compact form or a prefix of either, with & between several, * for not responding.
struct NodeStateFilter {
  std::string word;
};
std::optional<NodeStateFilter> parse_node_state(std::string_view word);
std::string node_state_list();  // one on a line, as --helpstate prints them
bool matches(const NodeStateFilter& filter, const wire::NodeView& node);

std::string_view partition_state(const wire::PartitionView& partition);         // UP
std::string_view partition_availability(const wire::PartitionView& partition);  // up, down, drain, inact

// What jobs can have of it: without what is kept for the system.
inline std::uint32_t usable_cpus(const wire::NodeView& node) {
  return node.cpus() - std::min(node.cpus(), node.withheld_cpus());
}
inline std::uint64_t usable_memory(const wire::NodeView& node) {
  return node.memory_mib() - std::min(node.memory_mib(), node.withheld_memory_mib());
}

}  // namespace millrace
