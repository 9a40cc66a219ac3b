// src/core/model/fit.h - can this request be met from these nodes, and which share falls on which?
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/model/node_fit.h"

namespace millrace {

// A node as a candidate: what is free on it now, or will be.
struct Candidate {
  NodeIndex node;
  const NodeDef* def = nullptr;
  Amounts free;
  std::int64_t idle = 0;  // CPUs of it, whether the job could have them all or not
};

// The job's shares on the first fitting candidates, in the order given (the partition's order of filling), or nothing.
// Packs tasks: each node takes as many as it can while every further node keeps at least one. The first `required`
// candidates must all be used.
std::optional<std::vector<NodeShare>> choose_nodes(const JobSpec& spec, std::span<const Candidate> candidates,
                                                   std::size_t required, const FitRules& rules);

// CPUs and memory the job needs in all, before it is placed (for ReqTRES and messages).
Cpus requested_cpus(const JobSpec& spec);
// No fewer nodes can hold it where none has more CPUs than this.
std::uint32_t least_nodes(const JobSpec& spec, Cpus largest);
Mebibytes requested_memory(const JobSpec& spec, Mebibytes whole_node);

}  // namespace millrace
