// src/core/model/topology.h - how nodes hang together: a tree of switches, or blocks, and how far apart a set of nodes
// lies.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/quantity.h"

namespace millrace {

struct SwitchDef {
  std::string name;
  std::vector<std::string> switches;  // below it; empty for a leaf
  std::vector<std::string> nodes;     // of a leaf
  std::uint32_t link_speed = 0;
  bool operator==(const SwitchDef&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "switches", self.switches);
    visit(3, "nodes", self.nodes);
    visit(4, "link_speed", self.link_speed);
  }
};

// What topology.conf says: switches, or blocks of nodes (kept as leaves without anything above them).
struct Topology {
  std::vector<SwitchDef> switches;
  std::vector<std::uint32_t> block_sizes;
  bool blocks = false;
  bool empty() const { return switches.empty(); }
  bool operator==(const Topology&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "switches", self.switches);
    visit(2, "block_sizes", self.block_sizes);
    visit(3, "blocks", self.blocks);
  }
};

// The same as positions, for questions about nodes. A switch is named by its place in the list.
class SwitchTree {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  SwitchTree() = default;
  SwitchTree(Topology facts, const std::map<std::string, NodeIndex, std::less<>>& nodes);

  const Topology& facts() const { return facts_; }
  bool empty() const { return facts_.switches.empty(); }
  std::size_t size() const { return facts_.switches.size(); }
  std::uint32_t leaf_of(NodeIndex node) const { return node.value < leaf_.size() ? leaf_[node.value] : none; }
  std::uint32_t parent_of(std::uint32_t at) const { return parent_.at(at); }
  std::uint32_t level_of(std::uint32_t at) const { return level_.at(at); }  // 0: a leaf
  // Nodes below a switch, in the order of the file.
  const std::vector<NodeIndex>& nodes_of(std::uint32_t at) const { return below_.at(at); }

  // Leaf switches a set of nodes touches; nodes on none count as one each.
  std::size_t leaves_spanned(std::span<const NodeIndex> nodes) const;
  // Levels up to the switch that both hang below: 0 on the same leaf, `none` without a common one.
  std::uint32_t distance(NodeIndex a, NodeIndex b) const;

  // "top.leaf3.n7" and "switch.switch.node" (SLURM_TOPOLOGY_ADDR).
  std::string address_of(NodeIndex node, std::string_view name) const;
  std::string address_pattern_of(NodeIndex node) const;

 private:
  Topology facts_;
  std::vector<std::uint32_t> leaf_;  // by node
  std::vector<std::uint32_t> parent_, level_;
  std::vector<std::vector<NodeIndex>> below_;
};

}  // namespace millrace
