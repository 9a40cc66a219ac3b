// src/core/model/assign.h - which CPUs and devices of a node exactly a job gets, when a placement is accepted.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/model/node_use.h"

namespace millrace {

// Chooses devices first, on as few sockets as possible and where they leave the fewest fragments, then CPUs near them:
// the socket with the least free that still holds all, whole cores before single threads. Nothing: the amounts are
// free, but not in a way the job can use (parts of different gpus, tasks per socket, cores near devices). Pure; takes
// well below a microsecond on a plain node.
std::optional<ShareDetail> assign(const JobSpec& spec, const NodeDef& node, const NodeUse& use, const Amounts& wanted,
                                  const FitRules& rules);

// Whether a share of this node says which CPUs and devices it has: there is something to choose.
inline bool is_assigned(const NodeDef& node) { return node.cpus.value > 1 || !node.kinds.empty(); }

// "0-3,8": the CPUs or devices of a set, and the first of them counted from `first`.
std::string format_bits(std::span<const std::uint64_t> words, std::uint32_t first = 0);

}  // namespace millrace
