// src/core/admission/change_partition_test.cpp - who may make, change and delete partitions, and what users may make of
// waiting jobs.
#include "core/admission/change_partition.h"

#include <gtest/gtest.h>

#include "core/admission/expire.h"
#include "core/admission/modify_job.h"
#include "core/ledger/apply.h"
#include "core/ledger/invariants.h"

namespace millrace {
namespace {

class ChangePartition : public testing::Test {
 protected:
  void SetUp() override {
    NodeDef node;
    node.name = "n0";
    node.cpus = Cpus{8};
    node.memory = Mebibytes{8000};
    main_.name = "main";
    small_.name = "small";
    main_.nodes = small_.nodes = {"n0"};
    small_.max_time_minutes = 10;
    small_.max_memory_per_node = Mebibytes{100};
    closed_ = small_;
    closed_.name = "closed";
    closed_.allow_accounts = {"physics"};
    Policy policy;
    policy.enforce_partition_limits = policy.enforce_every_partition = true;
    happen(ControllerStarted{Epoch{1}, now_});
    happen(ClusterConfigured{{node}, {main_, small_, closed_}, policy, now_});
  }
  void happen(const Event& event) {
    apply(state_, event);
    EXPECT_EQ(broken_law(state_), std::nullopt);
  }
  JobKey submit() {
    JobSubmitted e;
    e.key = state_.next_key;
    e.id = next_job_id(state_, state_.last_id);
    e.spec.owner = SharedValue(Owner{UserId{1}, GroupId{1}, "u", "g", {}, "h", {}});
    e.spec.min_nodes = e.spec.tasks = e.spec.cpus_per_task = 1;
    e.time_limit_minutes = 5;
    e.at = now_;
    happen(e);
    return e.key;
  }
  RefusalCode refused(const Decision& decision) { return decision ? RefusalCode{} : decision.error().code; }
  Decision set(const PartitionDef& def, bool create = false) {
    return decide_set_partition(state_, def, create, root_, now_);
  }

  State state_;
  PartitionDef main_, small_, closed_;
  Time now_ = Time{1'000'000};
  const Actor root_{UserId{0}, true}, user_{UserId{1}, false};
};

TEST_F(ChangePartition, Only_an_administrator_may) {
  EXPECT_EQ(refused(decide_set_partition(state_, main_, false, user_, now_)), RefusalCode::access_denied);
  EXPECT_EQ(refused(decide_delete_partition(state_, "main", user_, now_)), RefusalCode::access_denied);
  EXPECT_EQ(refused(decide_damping(3, user_, now_)), RefusalCode::access_denied);
  EXPECT_TRUE(set(main_));
}

TEST_F(ChangePartition, What_is_there_is_not_made_and_what_is_not_there_is_not_changed) {
  EXPECT_EQ(refused(set(main_, true)), RefusalCode::invalid_partition);
  main_.name = "new";
  EXPECT_EQ(refused(set(main_)), RefusalCode::invalid_partition);
  EXPECT_TRUE(set(main_, true));
  for (const char* name : {"", "DEFAULT", "a,b", "a b"}) {
    main_.name = name;
    EXPECT_EQ(refused(set(main_, true)), RefusalCode::invalid_partition) << name;
  }
}

TEST_F(ChangePartition, Unknown_nodes_and_QOS_and_impossible_times_are_refused) {
  PartitionDef def = main_;
  def.nodes = {"n9"};
  EXPECT_EQ(refused(set(def)), RefusalCode::invalid_node_name);
  def = main_;
  def.qos = "gold";
  EXPECT_EQ(refused(set(def)), RefusalCode::invalid_qos);
  def = main_;
  def.max_time_minutes = 10;
  def.default_time_minutes = 11;
  EXPECT_EQ(refused(set(def)), RefusalCode::invalid_time_limit);
  def = main_;
  def.preempt_mode = PreemptMode::suspend;
  EXPECT_EQ(refused(set(def)), RefusalCode::not_supported);
}

TEST_F(ChangePartition, Another_OverTimeLimit_holds_for_jobs_that_run) {
  const JobKey key = submit();
  happen(JobPlaced{key, Attempt{0}, {{NodeIndex{0}, Cpus{1}, {}, 1, false, {}}}, false, now_});
  EXPECT_EQ(next_deadline(state_), now_ + minutes(5));
  for (const auto& [allowed, due] : {std::pair{3u, now_ + minutes(8)}, {unlimited, never}, {1u, now_ + minutes(6)}}) {
    main_.over_time_minutes = allowed;
    const auto decision = set(main_);
    ASSERT_TRUE(decision);
    for (const Event& event : *decision) happen(event);
    EXPECT_EQ(next_deadline(state_), due);
  }
}

TEST_F(ChangePartition, One_with_jobs_is_not_deleted) {
  const JobKey key = submit();
  EXPECT_EQ(refused(decide_delete_partition(state_, "main", root_, now_)), RefusalCode::partition_in_use);
  happen(JobCancelled{key, UserId{1}, now_});
  const Decision deleted = decide_delete_partition(state_, "main", root_, now_);
  ASSERT_TRUE(deleted);
  happen(deleted->front());
  EXPECT_EQ(refused(decide_delete_partition(state_, "main", root_, now_)), RefusalCode::invalid_partition);
}

TEST_F(ChangePartition, What_a_user_makes_of_a_waiting_job_keeps_the_rules_of_its_partition) {
  const SelectedJob job{submit(), {}};
  ModifyJob to_small;
  to_small.partition = "small";
  const Decision moved = decide_modify(state_, job, to_small, user_, now_);
  ASSERT_TRUE(moved);
  happen(moved->front());
  ModifyJob memory;
  memory.change.memory_per_node = Mebibytes{101};
  EXPECT_EQ(refused(decide_modify(state_, job, memory, user_, now_)), RefusalCode::invalid_task_memory);
  EXPECT_TRUE(decide_modify(state_, job, memory, root_, now_)) << "an administrator may";
  ModifyJob nodes;
  nodes.change.min_nodes = nodes.change.max_nodes = 1;
  EXPECT_TRUE(decide_modify(state_, job, nodes, user_, now_));
  ModifyJob to_closed;
  to_closed.partition = "closed";
  EXPECT_EQ(refused(decide_modify(state_, job, to_closed, user_, now_)), RefusalCode::invalid_account);
}

// Slurm's hold is priority 0, and people use it as such.
TEST_F(ChangePartition, Priority_zero_holds_a_job_and_only_having_it_computed_again_releases_it) {
  const SelectedJob job{submit(), {}};
  const auto with = [](std::uint32_t priority) {
    ModifyJob ask;
    ask.change.priority = priority;
    return ask;
  };
  ModifyJob held = with(0);
  held.change.comment = "later";
  const Decision holds = decide_modify(state_, job, held, root_, now_);
  ASSERT_TRUE(holds);
  for (const Event& event : *holds) happen(event);
  EXPECT_NE(state_.job(job.key).hold, Hold::none);
  EXPECT_EQ(state_.job(job.key).spec->rare_request().comment, "later");
  EXPECT_EQ(refused(decide_modify(state_, job, with(77), root_, now_)), RefusalCode::job_held);
  const Decision releases = decide_modify(state_, job, with(unlimited), root_, now_);
  ASSERT_TRUE(releases);
  for (const Event& event : *releases) happen(event);
  EXPECT_EQ(state_.job(job.key).hold, Hold::none);
  EXPECT_TRUE(decide_modify(state_, job, with(77), root_, now_));
}

TEST_F(ChangePartition, A_job_with_a_longer_limit_is_not_moved_by_its_user_where_limits_are_enforced) {
  const SelectedJob job{submit(), {}};
  JobModified longer{};
  longer.key = job.key;
  longer.time_limit_minutes = 60;
  longer.at = now_;
  happen(longer);
  ModifyJob to_small;
  to_small.partition = "small";
  EXPECT_EQ(refused(decide_modify(state_, job, to_small, user_, now_)), RefusalCode::invalid_time_limit);
  EXPECT_TRUE(decide_modify(state_, job, to_small, root_, now_));
  to_small.change.time_limit_minutes = 10;
  EXPECT_TRUE(decide_modify(state_, job, to_small, user_, now_));
}

TEST_F(ChangePartition, More_memory_for_a_CPU_than_allowed_brings_more_CPUs_at_an_update_too) {
  main_.max_memory_per_cpu = Mebibytes{100};
  happen(set(main_)->front());
  const SelectedJob job{submit(), {}};
  ModifyJob memory;
  memory.change.memory_per_cpu = Mebibytes{250};
  const Decision changed = decide_modify(state_, job, memory, user_, now_);
  ASSERT_TRUE(changed);
  happen(changed->front());
  EXPECT_EQ(state_.job(job.key).spec->cpus_per_task, 3u);
  EXPECT_EQ(state_.job(job.key).spec->memory_per_cpu->value, 84);
}

}  // namespace
}  // namespace millrace
