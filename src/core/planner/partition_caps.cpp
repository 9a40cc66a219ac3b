// src/core/planner/partition_caps.cpp - see partition_caps.h.
#include "core/planner/partition_caps.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr Time since_ever{INT64_MIN};

Amounts only_cpus(std::int64_t cpus) { return {cpus, 0, {}}; }

}  // namespace

PartitionCaps::PartitionCaps(const State& state) {
  for (const Partition& partition : *state.partitions) caps_.push_back(partition.def.max_cpus_per_node);
}

PartitionCaps::Place& PartitionCaps::place(PartitionIndex partition, NodeIndex node) {
  const auto [it, fresh] = places_.try_emplace({partition.value, node.value});
  if (fresh) it->second.base = Profile(only_cpus(caps_[partition.value]));
  return it->second;
}

void PartitionCaps::change_base(PartitionIndex partition, NodeIndex node, Time until, std::int64_t cpus, bool give) {
  if (!limits(partition) || cpus == 0) return;
  Profile& base = place(partition, node).base;
  give ? base.give(since_ever, until, only_cpus(cpus)) : base.take(since_ever, until, only_cpus(cpus));
}

void PartitionCaps::begin_pass() {
  for (auto& [where, place] : places_) {
    place.touched = false;
    place.laid = {};
  }
}

void PartitionCaps::change_laid(PartitionIndex partition, NodeIndex node, Time from, Time until, std::int64_t cpus,
                                bool give) {
  if (!limits(partition) || cpus == 0) return;
  Place& there = place(partition, node);
  if (!there.touched) {
    there.laid = there.base;
    there.touched = true;
  }
  give ? there.laid.give(from, until, only_cpus(cpus)) : there.laid.take(from, until, only_cpus(cpus));
}

std::int64_t PartitionCaps::least(PartitionIndex partition, NodeIndex node, Time from, Time until) const {
  const auto found = places_.find({partition.value, node.value});
  if (found == places_.end()) return caps_[partition.value];
  return (found->second.touched ? found->second.laid : found->second.base).least(from, until).cpus;
}

}  // namespace millrace
