// src/core/planner/arrange_test.cpp - which nodes a job gets that wants to be spread, and how long the choice takes.
#include "core/planner/arrange.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr std::size_t many = 2000;

struct Spreading : testing::Test {
  NodeDef def;
  JobSpec spec;
  ResourceRequest ask;
  std::int64_t steps = 0;

  Spreading() {
    def.cpus = Cpus{64};
    ask.spread_job = true;
  }
  std::size_t nodes_for(const std::vector<std::int64_t>& free_cpus) {
    std::vector<Candidate> candidates;
    for (std::uint32_t i = 0; i < free_cpus.size(); ++i)
      candidates.push_back({NodeIndex{i}, &def, {free_cpus[i], 0, {}}, free_cpus[i]});
    Wishes wishes;
    wishes.spread = true;
    spec.resources = SharedValue(ask);
    steps = 0;
    const auto shares = arrange(wishes, spec, candidates, 0, FitRules{}, SwitchTree{}, false, steps);
    return shares ? shares->size() : 0;
  }
};

TEST_F(Spreading, takes_as_many_nodes_as_there_are_tasks_and_nodes) {
  spec.tasks = 5;
  EXPECT_EQ(nodes_for({64, 64, 64}), 3u);
  EXPECT_EQ(nodes_for({64, 64, 64, 64, 64, 64, 64}), 5u);
  spec.max_nodes = 4;
  EXPECT_EQ(nodes_for({64, 64, 64, 64, 64, 64, 64}), 4u);
  EXPECT_EQ(nodes_for({1, 1, 1, 1, 64, 64}), 4u) << "as the first nodes that hold it, wherever they are";
  ask.node_counts = *parse_index_set("2,3,6", 100);
  EXPECT_EQ(nodes_for({64, 64, 64, 64, 64, 64, 64}), 3u);
}

TEST_F(Spreading, looks_at_each_of_many_nodes_a_few_times_where_no_number_of_them_holds_it) {
  spec.tasks = many * 64 - 1;
  spec.max_nodes = many - 5;
  EXPECT_EQ(nodes_for(std::vector<std::int64_t>(many, 64)), 0u);
  EXPECT_GE(steps, static_cast<std::int64_t>(many));
  EXPECT_LE(steps, static_cast<std::int64_t>(3 * many));
}

TEST_F(Spreading, tries_few_numbers_of_nodes_where_most_fail_for_another_reason) {
  spec.tasks = many;
  ask.distribution = "arbitrary";
  ask.task_nodes = std::vector<std::uint32_t>(many, 0);  // all on the first
  EXPECT_EQ(nodes_for(std::vector<std::int64_t>(many, many)), 1u);
  EXPECT_LE(steps, static_cast<std::int64_t>(16 * many));
}

}  // namespace
}  // namespace millrace
