// src/core/model/layout_test.cpp - tasks over nodes in every distribution.
#include "core/model/layout.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace millrace {
namespace {

using Counts = std::vector<std::uint32_t>;
using Ranks = std::vector<std::vector<std::uint32_t>>;

Counts laid(std::string_view how, std::uint32_t tasks, const Counts& capacities) {
  return lay_out(*parse_distribution(how), tasks, capacities);
}
Ranks ranks(std::string_view how, const Counts& counts) { return ranks_by_node(*parse_distribution(how), counts); }

TEST(Layout, Reads_distributions) {
  EXPECT_EQ(parse_distribution("cyclic:block,NoPack")->order, NodeOrderOfTasks::cyclic);
  EXPECT_EQ(parse_distribution("plane=4")->plane, 4u);
  EXPECT_FALSE(parse_distribution("*")->asked);
  EXPECT_FALSE(parse_distribution("")->asked);
  for (const char* wrong : {"blok", "plane", "plane=0", "block:x", "cyclic,Maybe", "a:b:c:d"})
    EXPECT_FALSE(parse_distribution(wrong)) << wrong;
}

TEST(Layout, Counts_by_node) {
  EXPECT_EQ(laid("block", 6, {4, 4, 4}), (Counts{4, 1, 1})) << "packed, but none empty";
  EXPECT_EQ(laid("cyclic", 7, {4, 4, 4}), (Counts{3, 2, 2}));
  EXPECT_EQ(laid("cyclic", 6, {1, 4, 4}), (Counts{1, 3, 2}));
  EXPECT_EQ(laid("plane=2", 8, {4, 4, 4}), (Counts{4, 2, 2}));
  EXPECT_EQ(laid("plane=3", 4, {4, 4}), (Counts{3, 1}));
  EXPECT_EQ(laid("block", 13, {4, 4, 4}), Counts{});
  EXPECT_EQ(laid("block", 2, {4, 4, 4}), Counts{});
}

TEST(Layout, Task_numbers_by_node) {
  EXPECT_EQ(ranks("block", {3, 1}), (Ranks{{0, 1, 2}, {3}}));
  EXPECT_EQ(ranks("cyclic", {3, 1}), (Ranks{{0, 2, 3}, {1}}));
  EXPECT_EQ(ranks("plane=2", {3, 2}), (Ranks{{0, 1, 4}, {2, 3}}));
}

TEST(Layout, Arbitrary_follows_its_list) {
  JobSpec spec;
  spec.tasks = 3;
  ResourceRequest ask;
  ask.distribution = "arbitrary";
  ask.task_nodes = {7, 5, 7};
  spec.resources = SharedValue(ask);
  const std::vector<NodeIndex> nodes{NodeIndex{5}, NodeIndex{7}};
  EXPECT_EQ(lay_out(spec, nodes, Counts{4, 4}), (Counts{1, 2}));
  EXPECT_EQ(lay_out(spec, nodes, Counts{4, 1}), Counts{});
  const std::vector<NodeShare> shares{{NodeIndex{5}, {}, {}, 1}, {NodeIndex{7}, {}, {}, 2}};
  EXPECT_EQ(ranks_by_node(spec, shares), (Ranks{{1}, {0, 2}}));
}

// Small lists of every kind, against one look at each node for each task.
TEST(Layout, Arbitrary_of_any_list_is_what_a_search_would_give) {
  std::uint32_t seed = 1;
  const auto below = [&](std::uint32_t end) { return (seed = seed * 1664525 + 1013904223) / 65536 % end; };
  for (int round = 0; round < 500; ++round) {
    std::vector<NodeIndex> nodes;
    for (std::uint32_t i = 7; i-- > 0;)  // not in the order of their numbers
      if (below(2) == 0)
        nodes.insert(nodes.begin() + below(static_cast<std::uint32_t>(nodes.size()) + 1), NodeIndex{i});
    const auto known = static_cast<std::uint32_t>(nodes.size());
    ResourceRequest ask;
    ask.distribution = "arbitrary";
    for (std::uint32_t task = 1 + below(6); task-- > 0;)
      ask.task_nodes.push_back(known > 0 && below(16) > 0 ? nodes[below(known)].value : below(7));
    JobSpec spec;
    spec.tasks = static_cast<std::uint32_t>(ask.task_nodes.size());
    spec.resources = SharedValue(ask);
    std::vector<std::string> listed, names;
    for (const std::uint32_t node : ask.task_nodes) listed.push_back("n" + std::to_string(node));
    for (const NodeIndex node : nodes) names.push_back("n" + std::to_string(node.value));
    Counts counts(known);
    Ranks found(known);
    std::uint32_t placed = 0;
    for (std::uint32_t rank = 0; rank < spec.tasks; ++rank)
      for (std::size_t i = 0; i < known; ++i)
        if (nodes[i].value == ask.task_nodes[rank]) ++counts[i], ++placed, found[i].push_back(rank);
    const bool whole = placed == spec.tasks && std::ranges::find(counts, 0u) == counts.end();
    EXPECT_EQ(lay_out(spec, nodes, Counts(known, 6)), whole ? counts : Counts{});
    EXPECT_EQ(ranks_by_list(listed, names), whole ? found : Ranks{});
    std::vector<NodeShare> shares;
    for (std::size_t i = 0; i < known; ++i) shares.push_back({nodes[i], {}, {}, counts[i]});
    EXPECT_EQ(ranks_by_node(spec, shares), found);
  }
}

}  // namespace
}  // namespace millrace
