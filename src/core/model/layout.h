// src/core/model/layout.h - which tasks run on which node: block, cyclic, plane or as a list says.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/job.h"

namespace millrace {

enum class NodeOrderOfTasks : std::uint8_t { block, cyclic, plane, arbitrary };

// The first level of --distribution; the others (sockets, cores) are kept as text.
struct Distribution {
  NodeOrderOfTasks order{};
  std::uint32_t plane = 1;  // tasks at a time
  bool asked = false;       // false: nothing was said, or '*'
  bool operator==(const Distribution&) const = default;
};

// block, cyclic, plane=N, arbitrary or *, then :block, :cyclic or :fcyclic for sockets and cores, then ,Pack or
// ,NoPack.
Result<Distribution> parse_distribution(std::string_view text);
// The word for SLURM_DISTRIBUTION.
std::string_view word_of(const Distribution& distribution);

// How many of `tasks` each node gets, given how many it could take, every node at least one; empty when they do not
// fit.
std::vector<std::uint32_t> lay_out(const Distribution& distribution, std::uint32_t tasks,
                                   std::span<const std::uint32_t> capacities);
// The same for a job; an arbitrary one takes its counts from the list, `nodes` being the node of each capacity.
std::vector<std::uint32_t> lay_out(const JobSpec& spec, std::span<const NodeIndex> nodes,
                                   std::span<const std::uint32_t> capacities);

// The task numbers of every node, for these counts.
std::vector<std::vector<std::uint32_t>> ranks_by_node(const Distribution& distribution,
                                                      std::span<const std::uint32_t> tasks_per_node);
// The same where a list names the node of each task; empty when it names one that is not there, or not every one.
std::vector<std::vector<std::uint32_t>> ranks_by_list(std::span<const std::string> task_nodes,
                                                      std::span<const std::string> nodes);
std::vector<std::vector<std::uint32_t>> ranks_by_node(const JobSpec& spec, std::span<const NodeShare> shares);

}  // namespace millrace
