// src/sim/compare_test.cpp - spreads, names, and the table of a comparison.
#include "sim/compare.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Compare, a_spread_is_that_of_a_sample) {
  const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
  const Spread spread = spread_of(values);
  EXPECT_DOUBLE_EQ(spread.mean, 5);
  EXPECT_NEAR(spread.deviation, 2.13809, 1e-5);
  EXPECT_DOUBLE_EQ(spread.worst, 9);
  EXPECT_DOUBLE_EQ(spread_of(std::span{values, 1}).deviation, 0);
}

TEST(Compare, policies_are_found_by_name_and_unknown_ones_told) {
  const auto found = find_policies("guarded, easy");
  ASSERT_TRUE(found) << found.error().story;
  EXPECT_EQ(found->at(0).order, OrderPolicy::guarded);
  EXPECT_EQ(found->at(1).name, "easy");
  const auto unknown = find_policies("easy,worst");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().story.find("'worst' is not known; each is one of easy, sjbf, guarded"), std::string::npos)
      << unknown.error().story;
}

TEST(Compare, tails_are_multiples_of_easys_in_the_same_shake) {
  // A wide job waits for a long one; of the two that may overtake it the second is the shorter.
  Workload workload;
  for (const auto& [submit, run, tasks] : {std::tuple{0, 600, 3u}, {1, 600, 4u}, {2, 540, 1u}, {2, 60, 1u}}) {
    WorkloadJob job;
    job.submit = submit;
    job.run = job.requested = run;
    job.tasks = tasks;
    workload.jobs.push_back(job);
  }
  CompareSettings settings;
  settings.processors = 4;
  settings.policies = *find_policies("easy,sjbf");
  const Comparison compared = compare(workload, settings);
  ASSERT_EQ(compared.rows.size(), 2u);
  EXPECT_EQ(compared.jobs, 4u);
  EXPECT_DOUBLE_EQ(compared.rows[0].max_to_easy.worst, 1);
  EXPECT_DOUBLE_EQ(compared.rows[0].mean_wait.mean, (599 + 1'198) / 4.0);
  EXPECT_LT(compared.rows[1].slowdown.mean, compared.rows[0].slowdown.mean);
  EXPECT_NE(comparison_table(compared).find("\nsjbf  "), std::string::npos) << comparison_table(compared);
  EXPECT_TRUE(comparison_json(compared).starts_with(
      "{\"trace\": \"\", \"jobs\": 4, \"shakes\": 0, \"policies\": [{\"policy\": \"easy\""));
  settings.shakes = 3;
  settings.half = Half::first;
  EXPECT_EQ(compare(workload, settings).jobs, 2u);
}

}  // namespace
}  // namespace millrace
