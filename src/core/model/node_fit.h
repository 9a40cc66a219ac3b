// src/core/model/node_fit.h - one node, one request: how many of its tasks fit, and what they take.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/model/features.h"
#include "core/model/job.h"
#include "core/model/node.h"

namespace millrace {

// What the cluster's policy makes of requests.
struct FitRules {
  bool memory_counts = false;
  bool whole_cores = false;    // CPUs are given out by the core (CR_Core)
  bool whole_sockets = false;  // by the socket (CR_Socket)
};

// What a node's CPUs are: threads, cores or sockets, as its line counts them.
struct CpuShape {
  std::uint32_t sockets = 1, cores = 1, threads = 1;  // cores per socket, threads per core
  std::uint32_t per_socket() const { return cores * threads; }
};
CpuShape cpu_shape(const NodeDef& node);

// All that jobs can have of a node, as amounts; of its CPUs no more than `most` (MaxCPUsPerNode of a partition).
Amounts all_of(const NodeDef& node, std::uint32_t most = unlimited);
// The same without devices that are out of order.
Amounts working_of(const NodeDef& node);

// How many tasks of the job the node could take from what is free on it; 0 when it cannot be used at all.
std::uint32_t task_capacity(const JobSpec& spec, const NodeDef& node, const Amounts& free, const FitRules& rules);

// What so many tasks of the job take there of what is free. Only meaningful for a node that has the capacity.
Amounts amounts_for(const JobSpec& spec, const NodeDef& node, const Amounts& free, std::uint32_t tasks,
                    const FitRules& rules);

// Adds `count` of what the ask names, from what is free and not taken yet; returns how many could not be had.
std::int64_t add_gres(const GresAsk& ask, std::int64_t count, const NodeDef& node, const Amounts& free, Amounts& taken);

// Raises CPUs and memory to what the gpus in `taken` ask for (--cpus-per-gpu, --mem-per-gpu). amounts_for has done it;
// who adds gpus of the job as a whole to its answer does it again. False: the node has not got so much free.
bool cover_gpus(const JobSpec& spec, const NodeDef& node, const Amounts& free, Amounts& taken, const FitRules& rules);

// Whether nodes have, by their nature, what the job asks for: sockets, cores, threads, temporary disk, and features as
// far as one node can show them (core/model/features: that all take the same side of [a|b], and counts, is a matter of
// the whole set). What is asked for is read once, and looked at once for each list of features that nodes have, so that
// a long constraint costs no more on ten thousand nodes. The job must outlive it.
class NodeFilter {
 public:
  enum class Features : std::uint8_t { active, available };  // what a job can have there now, or after a change
  explicit NodeFilter(const JobSpec& spec, Features which = Features::active);
  bool admits(const NodeDef& node);

 private:
  const ResourceRequest* ask_ = nullptr;  // null: nothing of a kind
  Features which_{};
  std::optional<FeatureExpression> wanted_;        // not set: it cannot be read, and no node has it
  std::map<std::string, bool, std::less<>> seen_;  // by the list of a node
};

// Of a single node.
bool suits(const JobSpec& spec, const NodeDef& node);

}  // namespace millrace
