// src/core/planner/partition_caps.h - how many CPUs of a node the jobs of a partition may still have together
// (MaxCPUsPerNode), now and later.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/ledger/state.h"
#include "core/planner/profile.h"

namespace millrace {

// As the timeline's own profiles: what is so, and the promises of a pass laid over it. Nothing is kept of partitions
// without such a limit.
class PartitionCaps {
 public:
  PartitionCaps() = default;
  explicit PartitionCaps(const State& state);

  bool limits(PartitionIndex partition) const {
    return partition.value < caps_.size() && caps_[partition.value] != unlimited;
  }

  // A job that is there, until it is expected to be gone; `give`: it is not any more.
  void change_base(PartitionIndex partition, NodeIndex node, Time until, std::int64_t cpus, bool give);
  void begin_pass();
  // What a pass promises, or takes back.
  void change_laid(PartitionIndex partition, NodeIndex node, Time from, Time until, std::int64_t cpus, bool give);

  // CPUs left to the partition on that node over the whole span.
  std::int64_t least(PartitionIndex partition, NodeIndex node, Time from, Time until) const;

 private:
  struct Place {
    Profile base, laid;
    bool touched = false;
  };
  Place& place(PartitionIndex partition, NodeIndex node);

  std::vector<std::uint32_t> caps_;  // by partition
  std::map<std::pair<std::uint32_t, std::uint32_t>, Place>
      places_;  // by partition and node; not there: all of it is left
};

}  // namespace millrace
