// src/core/model/fit.h - can this request be met from these free amounts, and which share falls on which node?
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/model/job.h"
#include "core/model/node.h"

namespace millrace {

// A node as a candidate: what is free on it now (or will be), and what it has in all.
struct Candidate {
  NodeIndex node;
  Cpus free_cpus, all_cpus;
  Mebibytes free_memory, all_memory;
};

// How many tasks of the job the node could take; 0 when it cannot be used at all.
std::uint32_t task_capacity(const JobSpec& spec, const Candidate& node, bool memory_counts);

// The job's shares on the first fitting candidates, in the order given (the partition's order of filling), or nothing. Packs tasks:
// each node takes as many as it can while every further node keeps at least one. The first `required` candidates must all be used.
std::optional<std::vector<NodeShare>> choose_nodes(const JobSpec& spec, std::span<const Candidate> candidates,
                                                   std::size_t required, bool memory_counts);

// CPUs and memory the job needs in all, before it is placed (for ReqTRES and messages).
Cpus requested_cpus(const JobSpec& spec);
Mebibytes requested_memory(const JobSpec& spec, Mebibytes whole_node);

}  // namespace millrace
