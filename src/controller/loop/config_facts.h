// src/controller/loop/config_facts.h - what slurm.conf says, as the fact the ledger records.
#pragma once

#include <functional>

#include "config/configuration.h"
#include "core/ledger/event.h"
#include "core/ledger/state.h"

namespace millrace {

// Asks the host for a group's number; nothing when there is no such group.
using GroupLookup = std::function<std::optional<std::uint32_t>(const std::string& group)>;

ClusterConfigured to_facts(const Configuration& configuration, const GroupLookup& group);

// What a change of a partition depends on besides the ledger.
struct SitePartitions {
  std::vector<ConfiguredNodeSet> node_sets{};
  bool disable_root_jobs = false;  // of the whole cluster
  GroupLookup group = [](const std::string&) { return std::nullopt; };
};
// The partition as it is, or a new one, with these settings (Key=value, Nodes+=, Nodes-=).
Result<PartitionDef> partition_from_words(const State& state, const std::string& name,
                                          const std::vector<std::string>& words, const SitePartitions& site);
// Nodes that are made while the controller runs: their names, and what a NodeName line would say of them.
Result<std::vector<NodeDef>> nodes_from_words(const std::string& names, const std::string& words);

}  // namespace millrace
