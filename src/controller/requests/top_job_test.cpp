// src/controller/requests/top_job_test.cpp - scontrol top takes from one's own jobs, and from nobody else's.
#include "controller/requests/top_job.h"

#include <gtest/gtest.h>

#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"
#include "core/planner/priority.h"

namespace millrace {
namespace {

constexpr Time now{1'700'000'000'000'000};

class TopJobTest : public testing::Test {
 protected:
  TopJobTest() {
    ClusterConfigured facts;
    facts.partitions.emplace_back().name = "main";
    facts.partitions.back().is_default = true;
    facts.nodes.emplace_back().name = "n1";
    facts.nodes.back().cpus = Cpus{4};
    facts.partitions.back().nodes.push_back("n1");
    facts.at = now;
    happen({ControllerStarted{Epoch{1}, now}, facts});
    for (const std::uint32_t uid : {1000u, 1000u, 1001u, 1000u}) submit(uid);
  }
  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) apply(state_, event);
  }
  void submit(std::uint32_t uid) {
    SubmitJob ask;
    ask.spec.owner = SharedValue<Owner>(Owner{UserId{uid}, GroupId{uid}, "u", "g", {uid}, "host", {}});
    ask.spec.name = "job";
    ask.spec.work_dir = "/";
    ask.script_bytes = 1;
    auto decision = decide(state_, ask, Actor{UserId{uid}, false}, now);
    ASSERT_TRUE(decision);
    happen(decision->events);
  }
  const Job& job(std::uint32_t id) const { return *state_.find_job(JobId{id}); }
  std::uint32_t priority(std::uint32_t id) const { return Priorities(state_, now).of(job(id)); }
  Decision top(std::uint32_t id, std::uint32_t uid, bool is_admin = false) const {
    return decide_top(state_, {job(id).key, std::nullopt}, Actor{UserId{uid}, is_admin}, now);
  }

  State state_;
};

TEST_F(TopJobTest, A_job_goes_before_the_others_of_its_user) {
  const std::uint32_t others_before = priority(3);
  const auto decision = top(4, 1000);
  ASSERT_TRUE(decision);
  happen(*decision);
  EXPECT_GT(priority(4), priority(1));
  EXPECT_GT(priority(4), priority(2));
  EXPECT_GT(priority(1), priority(2)) << "the others keep their order";
  EXPECT_EQ(priority(3), others_before);
}

TEST_F(TopJobTest, Nothing_rises_however_often_users_do_it) {
  const std::uint32_t highest = priority(1);
  for (int round = 0; round < 3; ++round)
    for (const std::uint32_t id : {4u, 2u, 1u}) {
      const auto decision = top(id, 1000);
      ASSERT_TRUE(decision);
      happen(*decision);
      for (const std::uint32_t other : {1u, 2u, 4u}) {
        EXPECT_LE(priority(other), other == id ? highest : priority(id) - 1);
        EXPECT_GE(job(other).spec->nice, 0) << "what anybody may ask for";
      }
    }
}

TEST_F(TopJobTest, Users_do_not_rise_beyond_what_submission_allows) {
  const std::uint32_t before = priority(4);
  const auto decision = top(4, 1000);
  ASSERT_TRUE(decision);
  happen(*decision);
  EXPECT_EQ(priority(4), before) << "its nice value was 0";
}

TEST_F(TopJobTest, Others_behind_it_keep_their_order_too) {
  const auto decision = top(2, 1000);
  ASSERT_TRUE(decision);
  happen(*decision);
  EXPECT_GT(priority(2), priority(1));
  EXPECT_GT(priority(1), priority(4)) << "which was behind both";
}

TEST_F(TopJobTest, Users_cannot_go_before_what_has_the_lowest_priority) {
  state_.policy.edit().basic_priority = false;
  for (const std::uint32_t id : {1u, 2u, 4u}) ASSERT_EQ(priority(id), 1u);
  const auto decision = top(4, 1000);
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().code, RefusalCode::access_denied);
  EXPECT_FALSE(decision.error().notes.empty()) << "why is said";
}

TEST_F(TopJobTest, Administrators_raise_a_job_where_all_have_the_lowest_priority) {
  state_.policy.edit().basic_priority = false;
  for (const std::uint32_t id : {1u, 2u, 4u}) ASSERT_EQ(priority(id), 1u);
  const auto decision = top(4, 1000, true);
  ASSERT_TRUE(decision);
  happen(*decision);
  EXPECT_GT(priority(4), priority(1));
  EXPECT_GT(priority(4), priority(2));
}

TEST_F(TopJobTest, The_first_has_nothing_to_gain) {
  const auto decision = top(1, 1000);
  ASSERT_TRUE(decision);
  EXPECT_TRUE(decision->empty());
}

TEST_F(TopJobTest, Jobs_of_others_are_not_ones_own) { EXPECT_FALSE(top(3, 1000)); }

}  // namespace
}  // namespace millrace
