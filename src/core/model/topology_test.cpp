// src/core/model/topology_test.cpp - leaves, distances and addresses in a small tree of switches.
#include "core/model/topology.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

SwitchTree tree() {
  Topology facts;
  facts.switches = {{"leaf0", {}, {"n0", "n1"}, 0},
                    {"leaf1", {}, {"n2"}, 0},
                    {"leaf2", {}, {"n3"}, 0},
                    {"mid", {"leaf0", "leaf1"}, {}, 0},
                    {"top", {"mid", "leaf2"}, {}, 0}};
  std::map<std::string, NodeIndex, std::less<>> nodes;
  for (std::uint32_t i = 0; i < 5; ++i) nodes["n" + std::to_string(i)] = NodeIndex{i};
  return {facts, nodes};
}

TEST(SwitchTree, Knows_leaves_parents_and_levels) {
  const SwitchTree t = tree();
  EXPECT_EQ(t.leaf_of(NodeIndex{1}), 0u);
  EXPECT_EQ(t.leaf_of(NodeIndex{4}), SwitchTree::none) << "on no switch";
  EXPECT_EQ(t.parent_of(0), 3u);
  EXPECT_EQ(t.level_of(3), 1u);
  EXPECT_EQ(t.level_of(4), 2u);
  EXPECT_EQ(t.nodes_of(3).size(), 3u);
  EXPECT_EQ(t.nodes_of(4).size(), 4u);
}

TEST(SwitchTree, Counts_leaves_and_levels_between_nodes) {
  const SwitchTree t = tree();
  const NodeIndex n0{0}, n1{1}, n2{2}, n3{3}, n4{4};
  const std::vector<NodeIndex> two{n0, n1, n2}, lost{n0, n4};
  EXPECT_EQ(t.leaves_spanned(two), 2u);
  EXPECT_EQ(t.leaves_spanned(lost), 2u);
  EXPECT_EQ(t.distance(n0, n1), 0u);
  EXPECT_EQ(t.distance(n0, n2), 1u);
  EXPECT_EQ(t.distance(n0, n3), 2u);
  EXPECT_EQ(t.distance(n0, n4), SwitchTree::none);
  EXPECT_EQ(t.address_of(n2, "n2"), "top.mid.leaf1.n2");
  EXPECT_EQ(t.address_pattern_of(n3), "switch.switch.node");
  EXPECT_EQ(SwitchTree{}.address_of(n2, "n2"), "n2");
}

}  // namespace
}  // namespace millrace
