// src/core/model/layout_test.cpp - tasks over nodes in every distribution.
#include "core/model/layout.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace millrace
