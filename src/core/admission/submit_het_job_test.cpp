// src/core/admission/submit_het_job_test.cpp - components enter together, with consecutive numbers, once per
// submission.
#include "core/admission/submit_het_job.h"

#include <gtest/gtest.h>

#include "core/admission/accept_placement.h"
#include "core/admission/cancel_job.h"
#include "core/admission/modify_job.h"
#include "core/admission/report_node.h"
#include "core/ledger/apply.h"
#include "core/ledger/invariants.h"

namespace millrace {
namespace {

class HetJobTest : public testing::Test {
 protected:
  HetJobTest() {
    std::vector<NodeDef> nodes(2);
    PartitionDef main;
    main.name = "main";
    main.is_default = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].name = "n" + std::to_string(i);
      nodes[i].cpus = Cpus{4};
      main.nodes.push_back(nodes[i].name);
    }
    Policy policy;
    policy.max_job_id = 20;
    happen({ControllerStarted{Epoch{1}, now_}, ClusterConfigured{nodes, {main}, policy, now_}});
    for (std::uint32_t i = 0; i < 2; ++i)
      happen(
          decide_register(state_, {NodeIndex{i}, "boot", {Cpus{4}, Mebibytes{1}, {}, {}, {}, {}, {}, {}, {}}}, now_));
  }
  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) {
      apply(state_, event);
      EXPECT_EQ(broken_law(state_), std::nullopt);
    }
  }
  static SubmitJob ask(std::uint32_t cpus, std::uint8_t submission = 0) {
    SubmitJob out;
    out.spec.owner = SharedValue(Owner{UserId{1}, GroupId{1}, "u", "g", {1}, "h", {}});
    out.spec.work_dir = "/";
    out.spec.min_nodes = out.spec.tasks = 0;
    out.spec.cpus_per_task = cpus;
    out.spec.submission[0] = submission;
    out.script_bytes = 1;
    return out;
  }
  std::expected<DecidedSubmission, Refusal> submit(std::vector<SubmitJob> components) {
    auto decision = decide(state_, std::move(components), user_, now_);
    if (decision) happen(decision->events);
    return decision;
  }
  std::vector<SelectedJob> select(JobId id, const std::string& tasks) {
    auto found = select_jobs(state_, {id, tasks});
    return found ? *std::move(found) : std::vector<SelectedJob>{};
  }
  PlaceJob place(JobId id, std::uint32_t node) {
    const Job& job = *state_.find_job(id);
    return {job.key, job.attempt, {{NodeIndex{node}, Cpus{2}, {}, 1, false}}, false};
  }

  State state_;
  Time now_{1'000'000};
  Actor user_{UserId{1}, false};
};

TEST_F(HetJobTest, a_job_is_refused_where_no_number_is_left_for_it_and_its_tasks) {
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(submit({ask(1)}));
  SubmitJob array = ask(1);
  array.array = "1-5";
  const auto refused = submit({array});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, RefusalCode::too_many_jobs);
  EXPECT_EQ(refused.error().notes.at(0), "all job numbers are in use: FirstJobId=1 MaxJobId=20");
  array.array = "1-4";
  ASSERT_TRUE(submit({array}));  // 17
  // The site lowers MaxJobId below what is in use: tasks still become records of their own.
  Policy policy = *state_.policy;
  policy.max_job_id = 10;
  ClusterConfigured fewer{{}, {}, policy, now_};
  for (const auto& [index, node] : state_.nodes) fewer.nodes.push_back(*node->def);
  for (const auto& partition : *state_.partitions) fewer.partitions.push_back(partition.def);
  happen({fewer});
  for (const char* task : {"1", "2", "3"}) happen(*decide_cancel(state_, select(JobId{17}, task).at(0), user_, now_));
  EXPECT_TRUE(state_.find_job(JobId{11}));
  EXPECT_TRUE(state_.find_job(JobId{20}));
  EXPECT_FALSE(submit({ask(1)}));
}

TEST_F(HetJobTest, numbers_are_consecutive_and_skip_those_still_known) {
  for (int i = 0; i < 17; ++i) EXPECT_TRUE(submit({ask(1)}));  // 1 to 17
  happen({JobCancelled{JobKey{2}, UserId{1}, now_}, JobCancelled{JobKey{3}, UserId{1}, now_},
          JobCancelled{JobKey{4}, UserId{1}, now_}});
  happen({JobForgotten{JobKey{2}, now_}, JobForgotten{JobKey{3}, now_}, JobForgotten{JobKey{4}, now_}});
  EXPECT_EQ(submit({ask(1), ask(1)})->id, JobId{18});
  EXPECT_EQ(submit({ask(1), ask(1), ask(1)})->id, JobId{2}) << "20 is free, but not 21";
  const auto full = submit({ask(1), ask(1)});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, RefusalCode::too_many_jobs);
  EXPECT_EQ(submit({ask(1)})->id, JobId{20});
}

TEST_F(HetJobTest, the_same_submission_again_is_the_same_job) {
  const auto first = submit({ask(1, 7), ask(2)});
  ASSERT_TRUE(first);
  const auto again = submit({ask(1, 7), ask(2)});
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->existed);
  EXPECT_EQ(again->id, first->id);
  EXPECT_EQ(state_.jobs.size(), 2u);
}

TEST_F(HetJobTest, nothing_is_submitted_when_one_component_is_wrong) {
  const auto refused = submit({ask(1), ask(9)});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().notes.back().starts_with("component 1: ")) << refused.error().notes.back();
  EXPECT_TRUE(state_.jobs.empty());
  EXPECT_EQ(submit(std::vector(het_components_max + 1, ask(1))).error().code, RefusalCode::too_many_components);
}

TEST_F(HetJobTest, all_start_or_none) {
  const JobId id = submit({ask(2), ask(2), ask(2)})->id;
  PlaceJob whole = place(id, 0);
  EXPECT_TRUE(decide_place(state_, whole, now_).empty()) << "the leader alone";
  whole.with = {place(JobId{id.value + 1}, 0), place(JobId{id.value + 2}, 0)};
  EXPECT_TRUE(decide_place(state_, whole, now_).empty()) << "two fit on the node, three do not";
  EXPECT_TRUE(decide_place(state_, whole.with[0], now_).empty()) << "a component alone";
  whole.with[1] = place(JobId{id.value + 2}, 1);
  const auto events = decide_place(state_, whole, now_);
  ASSERT_EQ(events.size(), 1u);
  happen(events);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(state_.find_job(JobId{id.value + i})->state, JobState::running);
}

TEST_F(HetJobTest, a_component_is_named_by_its_place_or_its_own_number) {
  const JobId id = submit({ask(1), ask(1)})->id;
  const JobId own{id.value + 1};
  EXPECT_EQ(select(id, "").size(), 2u);
  ASSERT_EQ(select(id, "+1").size(), 1u);
  EXPECT_EQ(select(id, "+1")[0].key, state_.find_job(own)->key);
  ASSERT_EQ(select(own, "").size(), 1u);
  EXPECT_TRUE(select(own, "")[0].component);
  EXPECT_FALSE(select_jobs(state_, {id, "+2"}));
  EXPECT_FALSE(select_jobs(state_, {id, "+"}));
  EXPECT_FALSE(select_jobs(state_, {id, "1"}));
  EXPECT_FALSE(select_jobs(state_, {own, "+0"})) << "not the leader's number";
  const JobId plain = submit({ask(1)})->id;
  EXPECT_FALSE(select_jobs(state_, {plain, "+0"}));
  EXPECT_EQ(shown_name(state_, *state_.find_job(own)), std::to_string(id.value) + "+1");
}

TEST_F(HetJobTest, what_concerns_the_whole_is_not_changed_for_a_component) {
  const JobId id = submit({ask(1), ask(1)})->id;
  const SelectedJob alone = select(id, "+1").at(0);
  ModifyJob begin, cpus;
  begin.change.begin_at = now_ + seconds(60);
  cpus.change.cpus_per_task = 2;
  EXPECT_EQ(decide_modify(state_, alone, begin, user_, now_).error().code, RefusalCode::not_whole_het_job);
  happen(*decide_modify(state_, alone, cpus, user_, now_));
  EXPECT_EQ(state_.job(alone.key).spec->cpus_per_task, 2u);
  for (const SelectedJob& each : select(id, "")) happen(*decide_modify(state_, each, begin, user_, now_));
  EXPECT_FALSE(state_.job(alone.key).eligible_at.is_set());
  EXPECT_EQ(state_.job(alone.key).begin_at, now_ + seconds(60));
}

}  // namespace
}  // namespace millrace
