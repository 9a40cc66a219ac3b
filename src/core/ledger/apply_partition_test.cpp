// src/core/ledger/apply_partition_test.cpp - what stays of scontrol's changes to partitions when the configuration is
// read again.
#include <gtest/gtest.h>

#include "core/ledger/apply.h"
#include "core/ledger/invariants.h"

namespace millrace {
namespace {

class Partitions : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"n0", "n1"}) {
      NodeDef node;
      node.name = name;
      node.cpus = Cpus{4};
      nodes_.push_back(node);
    }
    main_.name = "main";
    main_.nodes = {"n0", "n1"};
    main_.is_default = main_.all_nodes = true;
    other_.name = "other";
    other_.nodes = {"n1"};
    happen(ControllerStarted{Epoch{1}, now_});
    read(KeepPartitions::not_rewritten);
  }
  void happen(const Event& event) {
    apply(state_, event);
    EXPECT_EQ(broken_law(state_), std::nullopt);
  }
  void read(KeepPartitions keep) {
    ClusterConfigured e{nodes_, {main_, other_}, {}, now_};
    e.keep = keep;
    happen(e);
  }
  void set(const PartitionDef& def) { happen(PartitionChanged{def, UserId{0}, now_}); }
  const PartitionDef* find(const std::string& name) const {
    const auto index = state_.find_partition(name);
    return index ? &state_.partition(*index).def : nullptr;
  }
  std::vector<NodeIndex> nodes_of(const std::string& name) const {
    return state_.partition(*state_.find_partition(name)).nodes;
  }

  State state_;
  std::vector<NodeDef> nodes_;
  PartitionDef main_, other_;
  Time now_ = Time{1'000'000};
};

TEST_F(Partitions, A_change_outlives_the_controller_and_a_reconfigure_undoes_it) {
  PartitionDef changed = main_, made;
  changed.max_time_minutes = 60;
  made.name = "made";
  made.nodes = {"n0"};
  set(changed);
  set(made);
  read(KeepPartitions::not_rewritten);
  EXPECT_EQ(*find("main"), changed);
  EXPECT_EQ(nodes_of("made"), std::vector{NodeIndex{0}});
  read(KeepPartitions::none);
  EXPECT_EQ(*find("main"), main_);
  EXPECT_EQ(find("made"), nullptr);
  read(KeepPartitions::not_rewritten);
  EXPECT_EQ(*find("main"), main_) << "what was undone does not come back";
}

TEST_F(Partitions, A_line_that_was_written_anew_goes_before_the_change) {
  PartitionDef changed = other_;
  changed.priority_tier = 5;
  set(changed);
  other_.max_nodes = 7;
  read(KeepPartitions::not_rewritten);
  EXPECT_EQ(*find("other"), other_);
}

TEST_F(Partitions, Nodes_that_were_added_to_all_come_to_a_changed_partition_too) {
  PartitionDef changed = main_;
  changed.priority_tier = 5;
  set(changed);
  NodeDef another = nodes_.front();
  another.name = "n2";
  nodes_.push_back(another);
  main_.nodes.push_back("n2");
  read(KeepPartitions::not_rewritten);
  EXPECT_EQ(find("main")->priority_tier, 5u);
  EXPECT_EQ(nodes_of("main").size(), 3u);
}

TEST_F(Partitions, What_was_deleted_stays_so_until_a_reconfigure) {
  happen(PartitionDeleted{*state_.find_partition("other"), UserId{0}, now_});
  EXPECT_EQ(find("other"), nullptr);
  read(KeepPartitions::not_rewritten);
  EXPECT_EQ(find("other"), nullptr);
  set(other_);
  EXPECT_EQ(nodes_of("other"), std::vector{NodeIndex{1}}) << "made again under its old number";
  EXPECT_EQ(state_.partitions->size(), 2u);
  happen(PartitionDeleted{*state_.find_partition("other"), UserId{0}, now_});
  read(KeepPartitions::none);
  EXPECT_EQ(*find("other"), other_);
}

TEST_F(Partitions, ReconfigFlags_keep_all_or_the_state_alone) {
  PartitionDef changed = other_, made = other_;
  changed.availability = Availability::drain;
  changed.max_nodes = 3;
  made.name = "made";
  set(changed);
  set(made);
  read(KeepPartitions::all);
  EXPECT_EQ(*find("other"), changed);
  EXPECT_EQ(*find("made"), made);
  read(KeepPartitions::states);
  EXPECT_EQ(find("other")->availability, Availability::drain);
  EXPECT_EQ(find("other")->max_nodes, unlimited);
  EXPECT_EQ(find("made"), nullptr);
}

TEST_F(Partitions, There_is_one_default) {
  PartitionDef changed = other_;
  changed.is_default = true;
  set(changed);
  EXPECT_FALSE(find("main")->is_default);
  read(KeepPartitions::not_rewritten);
  EXPECT_FALSE(find("main")->is_default);
  EXPECT_TRUE(find("other")->is_default);
  read(KeepPartitions::none);
  EXPECT_TRUE(find("main")->is_default);
  EXPECT_FALSE(find("other")->is_default);
}

TEST_F(Partitions, A_state_until_the_next_start_ends_with_it_in_a_changed_partition_too) {
  PartitionDef changed = other_;
  changed.max_nodes = 3;
  set(changed);
  for (const std::uint32_t each : {0u, 1u})
    happen(PartitionStateChanged{PartitionIndex{each}, Availability::down, now_});
  read(KeepPartitions::not_rewritten);
  EXPECT_EQ(find("main")->availability, Availability::up);
  EXPECT_EQ(find("other")->availability, Availability::up);
  EXPECT_EQ(find("other")->max_nodes, 3u);
}

TEST_F(Partitions, Another_tier_is_another_place_in_the_queue) {
  const auto submit = [&](PartitionIndex partition) {
    JobSubmitted e;
    e.key = state_.next_key;
    e.id = next_job_id(state_, state_.last_id);
    e.spec.owner = SharedValue(Owner{UserId{1}, GroupId{1}, "u", "g", {}, "h", {}});
    e.spec.partition = partition;
    e.at = now_;
    happen(e);
    happen(JobBecameEligible{e.key, now_});
    return e.key;
  };
  const JobKey first = submit(PartitionIndex{0}), second = submit(PartitionIndex{1});
  EXPECT_EQ((*state_.queue.begin()).first.key, first);
  PartitionDef changed = other_;
  changed.priority_tier = 5;
  set(changed);
  EXPECT_EQ((*state_.queue.begin()).first.key, second);
}

}  // namespace
}  // namespace millrace
