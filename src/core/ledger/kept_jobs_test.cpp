// src/core/ledger/kept_jobs_test.cpp - what is kept of jobs that are forgotten or requeued, and for how long.
#include "core/ledger/kept_jobs.h"

#include <gtest/gtest.h>

#include "core/ledger/apply.h"
#include "core/ledger/invariants.h"

namespace millrace {
namespace {

class KeptJobs : public testing::Test {
 protected:
  void SetUp() override {
    NodeDef node;
    node.name = "n0";
    node.cpus = Cpus{4};
    node.memory = Mebibytes{1000};
    PartitionDef main;
    main.name = "main";
    main.nodes = {"n0"};
    Policy policy;
    policy.keep_ended_seconds = 100;
    policy.keep_ended_rows = 4;
    policy.requeue_delay_seconds = 0;
    happen(ControllerStarted{Epoch{1}, now_});
    happen(ClusterConfigured{{node}, {main}, policy, now_});
    happen(NodeRegistered{NodeIndex{0}, "boot", {Cpus{4}, Mebibytes{1000}, {}, {}, {}, {}, {}, {}, {}}, "", now_});
  }

  void happen(const Event& event) {
    apply(state_, event);
    EXPECT_EQ(broken_law(state_), std::nullopt);
  }

  JobKey submit(const std::string& name) {
    JobSubmitted e;
    e.key = state_.next_key;
    e.id = next_job_id(state_, state_.last_id);
    e.spec.owner = SharedValue(Owner{UserId{1}, GroupId{1}, "u", "g", {}, "h", {}});
    e.spec.name = name;
    e.spec.command = "/a/script";
    e.spec.script[0] = 7;
    e.spec.submission[0] = static_cast<std::uint8_t>(e.key.value);
    e.at = now_;
    happen(e);
    return e.key;
  }
  void place(JobKey key) {
    happen(
        JobPlaced{key, state_.job(key).attempt, {{NodeIndex{0}, Cpus{1}, Mebibytes{10}, 1, false, {}}}, false, now_});
  }
  void end(JobKey key, std::uint32_t code) {
    AttemptEnded e{key, state_.job(key).attempt, NodeIndex{0}, AttemptEnd::exited, code, 0, now_};
    e.usage.user_us = 5;
    happen(e);
  }
  JobKey ended(const std::string& name, std::uint32_t code = 0) {
    const JobKey key = submit(name);
    place(key);
    end(key, code);
    return key;
  }
  void pass(std::int64_t length) { now_ = now_ + seconds(length); }

  State state_;
  Time now_{1'000'000'000'000};
};

TEST_F(KeptJobs, Jobs_that_ended_are_forgotten_when_a_new_MinJobAge_says_so) {
  const JobKey key = ended("done");
  ClusterConfigured read{
      {*state_.node(NodeIndex{0}).def}, {state_.partition(PartitionIndex{0}).def}, *state_.policy, now_};
  for (const std::uint32_t age : {10u, 100'000u}) {
    read.policy.min_job_age_seconds = age;
    happen(read);
    ASSERT_EQ(state_.deadlines.size(), 1u);
    EXPECT_EQ((*state_.deadlines.begin()).first.at, now_ + seconds(age));
  }
  happen(JobForgotten{key, now_});
  EXPECT_TRUE(state_.deadlines.empty()) << "a second JobForgotten would be of no job";
}

TEST_F(KeptJobs, A_forgotten_job_is_known_to_nobody_but_accounting) {
  const JobKey key = ended("done", 3);
  const JobId id = state_.job(key).id;
  EXPECT_TRUE(state_.kept.empty()) << "as long as everybody knows it";
  happen(JobForgotten{key, now_});
  EXPECT_EQ(state_.find_job(key), nullptr);
  EXPECT_EQ(state_.find_job(id), nullptr);
  const KeptJob* kept = newest_kept(state_, id);
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->job->exit_code, 3u);
  EXPECT_EQ(kept->job->used->user_us, 5);
  EXPECT_EQ(kept->job->spec->name, "done");
  EXPECT_EQ(kept->job->spec->command, "") << "nobody is shown it";
  EXPECT_EQ(kept->job->spec->script, Digest{}) << "or its script would never go";
}

TEST_F(KeptJobs, They_go_when_they_are_too_old_or_too_many) {
  happen(JobForgotten{ended("old"), now_});
  pass(50);
  happen(JobForgotten{ended("young"), now_});
  EXPECT_EQ(state_.kept.size(), 2u);
  pass(50);
  happen(JobForgotten{ended("third"), now_});
  EXPECT_EQ(state_.kept.size(), 2u) << "the first has been there for a hundred seconds";
  for (const char* name : {"a", "b", "c", "d", "e"}) happen(JobForgotten{ended(name), now_});
  EXPECT_EQ(state_.kept.size(), 4u);
  EXPECT_EQ(state_.kept_rows, 4u);
  EXPECT_EQ((*state_.kept.begin()).second->job->spec->name, "b");
}

TEST_F(KeptJobs, Long_ones_count_as_several) {
  for (const char* name : {"a", "b", "c"}) happen(JobForgotten{ended(name), now_});
  happen(JobForgotten{ended(std::string(8192, 'x')), now_});
  EXPECT_EQ(state_.kept.size(), 2u);
  EXPECT_EQ(state_.kept_rows, 4u);
  happen(JobForgotten{ended(std::string(100'000, 'x')), now_});
  EXPECT_EQ(state_.kept.size(), 0u) << "it would take more than all rows";
}

TEST_F(KeptJobs, Each_run_of_a_requeued_job_is_kept_and_gets_its_steps) {
  const JobKey key = submit("twice");
  const JobId id = state_.job(key).id;
  for (const std::uint32_t attempt : {0u, 1u}) {
    place(key);
    StepStart start;
    start.name = attempt == 0 ? "first" : "second";
    start.nodes = StepNodes{std::vector<std::uint32_t>{0}};
    start.at = now_;
    StepEnd over;
    over.outcome = Outcome::completed;
    over.at = now_;
    happen(StepsReported{key, Attempt{attempt}, {start}, {over}, now_});
    if (attempt == 0) happen(JobRequeued{key, false, UserId{0}, now_});
    end(key, 0);
    pass(1);
  }
  ASSERT_EQ(kept_named(state_, id).size(), 1u);
  EXPECT_TRUE(kept_named(state_, id)[0]->requeued);
  EXPECT_EQ(kept_named(state_, id)[0]->job->outcome, Outcome::none);
  EXPECT_EQ(newest_kept(state_, id), nullptr) << "the job itself is not forgotten";
  happen(JobForgotten{key, now_});
  const auto runs = kept_named(state_, id);
  ASSERT_EQ(runs.size(), 2u);
  ASSERT_EQ(runs[0]->steps.size(), 1u);
  EXPECT_EQ(runs[0]->steps[0]->start.name, "first");
  EXPECT_EQ(runs[1]->steps[0]->start.name, "second");
  EXPECT_EQ(runs[1]->job->outcome, Outcome::completed);
  EXPECT_EQ(state_.kept_rows, 4u);
}

TEST_F(KeptJobs, Nothing_is_kept_where_the_configuration_says_so) {
  const JobKey first = ended("first");
  happen(JobForgotten{first, now_});
  ClusterConfigured none{
      {*state_.node(NodeIndex{0}).def}, {state_.partition(PartitionIndex{0}).def}, *state_.policy, now_};
  none.policy.keep_ended_seconds = 0;
  happen(none);
  const JobKey second = ended("second");
  EXPECT_FALSE(state_.job(second).used) << "logs from before there was sacct mean what they meant";
  happen(JobForgotten{second, now_});
  EXPECT_TRUE(state_.kept.empty());
  EXPECT_TRUE(state_.kept_names.empty());
}

}  // namespace
}  // namespace millrace
