// src/core/model/fit_test.cpp - which share falls on which node.
#include "core/model/fit.h"

#include <gtest/gtest.h>

#include <deque>

namespace millrace {
namespace {

Candidate node(std::uint32_t index, std::int64_t free_cpus, std::int64_t cpus = 8, std::int64_t free_memory = 1000) {
  static std::deque<NodeDef> defs;  // outlive the candidates
  defs.emplace_back().cpus = Cpus{cpus};
  defs.back().memory = Mebibytes{1000};
  return {NodeIndex{index}, &defs.back(), {free_cpus, free_memory, {}}};
}

JobSpec request(std::uint32_t tasks, std::uint32_t cpus_per_task, std::uint32_t nodes = 1) {
  JobSpec spec;
  spec.tasks = tasks;
  spec.cpus_per_task = cpus_per_task;
  spec.min_nodes = nodes;
  return spec;
}

std::string shown(const std::optional<std::vector<NodeShare>>& shares) {
  if (!shares) return "no";
  std::string out;
  for (const NodeShare& share : *shares)
    out += (out.empty() ? "" : " ") + std::to_string(share.node.value) + ":" + std::to_string(share.tasks) + "x" +
           std::to_string(share.cpus.value);
  return out;
}

TEST(Fit, says_how_many_nodes_hold_it_at_the_least) {
  EXPECT_EQ(least_nodes(request(8, 1), Cpus{4}), 2u);
  EXPECT_EQ(least_nodes(request(8, 1), Cpus{8}), 1u);
  EXPECT_EQ(least_nodes(request(8, 3), Cpus{8}), 4u);
  EXPECT_EQ(least_nodes(request(8, 1, 3), Cpus{8}), 3u);
  EXPECT_EQ(least_nodes(request(1, 9), Cpus{8}), 1u);  // nowhere: as asked
  JobSpec few_each = request(8, 1);
  few_each.tasks_per_node = 2;
  EXPECT_EQ(least_nodes(few_each, Cpus{64}), 4u);
  few_each.max_nodes = 3;
  EXPECT_EQ(least_nodes(few_each, Cpus{64}), 3u);
}

TEST(Fit, takes_the_first_node_that_holds_a_small_job) {
  EXPECT_EQ(shown(choose_nodes(request(1, 2), std::vector{node(0, 1), node(1, 2), node(2, 8)}, 0, FitRules{})),
            "1:1x2");
  EXPECT_EQ(shown(choose_nodes(request(1, 9), std::vector{node(0, 8)}, 0, FitRules{})), "no");
}

TEST(Fit, packs_tasks_but_gives_every_asked_node_one) {
  EXPECT_EQ(shown(choose_nodes(request(10, 1), std::vector{node(0, 8), node(1, 8)}, 0, FitRules{})), "0:8x8 1:2x2");
  EXPECT_EQ(shown(choose_nodes(request(4, 1, 3), std::vector{node(0, 8), node(1, 8), node(2, 8)}, 0, FitRules{})),
            "0:2x2 1:1x1 2:1x1");
}

TEST(Fit, keeps_the_largest_nodes_when_the_job_may_have_only_so_many) {
  JobSpec spec = request(10, 1, 2);
  spec.max_nodes = 2;
  EXPECT_EQ(shown(choose_nodes(spec, std::vector{node(0, 1), node(1, 4), node(2, 8)}, 0, FitRules{})), "1:4x4 2:6x6");
}

TEST(Fit, uses_all_required_nodes_or_none) {
  EXPECT_EQ(shown(choose_nodes(request(2, 1, 2), std::vector{node(5, 8), node(0, 8)}, 1, FitRules{})), "5:1x1 0:1x1");
  EXPECT_EQ(shown(choose_nodes(request(1, 1), std::vector{node(5, 0), node(0, 8)}, 1, FitRules{})), "no");
}

TEST(Fit, counts_memory_per_node_and_per_cpu_where_it_counts) {
  JobSpec spec = request(4, 2);
  spec.memory_per_cpu = Mebibytes{200};
  EXPECT_EQ(shown(choose_nodes(spec, std::vector{node(0, 8), node(1, 8)}, 0, FitRules{true, false})), "0:2x4 1:2x4");
  spec.memory_per_cpu.reset();
  spec.memory_per_node = Mebibytes{900};
  EXPECT_EQ(shown(choose_nodes(spec, std::vector{node(0, 8, 8, 800), node(1, 8)}, 0, FitRules{true, false})), "1:4x8");
  EXPECT_EQ(shown(choose_nodes(spec, std::vector{node(0, 8, 8, 800)}, 0, FitRules{})), "0:4x8");
}

TEST(Fit, gives_an_exclusive_job_whole_empty_nodes) {
  JobSpec spec = request(1, 1);
  spec.exclusive = true;
  EXPECT_EQ(shown(choose_nodes(spec, std::vector{node(0, 7), node(1, 8)}, 0, FitRules{})), "1:1x8");
}

}  // namespace
}  // namespace millrace
