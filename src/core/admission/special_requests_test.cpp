// src/core/admission/special_requests_test.cpp - ports for steps, nodes rebooted for a job, programs on nodes without
// an allocation.
#include <gtest/gtest.h>

#include "core/admission/accept_placement.h"
#include "core/admission/cancel_job.h"
#include "core/admission/place_unasked.h"
#include "core/admission/power_nodes.h"
#include "core/admission/report_node.h"
#include "core/admission/reserve_ports.h"
#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"
#include "core/ledger/invariants.h"

namespace millrace {
namespace {

constexpr Time begin{1'800'000'000'000'000};
const Actor root{UserId{0}, true};

class SpecialRequests : public testing::Test {
 protected:
  SpecialRequests() {
    ClusterConfigured configured;
    PartitionDef partition;
    partition.name = "main";
    partition.is_default = true;
    for (const char* name : {"n0", "n1"}) {
      NodeDef def;
      def.name = name;
      def.cpus = Cpus{4};
      def.memory = Mebibytes{1000};
      configured.nodes.push_back(def);
      partition.nodes.push_back(name);
    }
    configured.partitions = {partition};
    configured.policy.resume_timeout_seconds = 100;
    configured.at = begin;
    happen({ControllerStarted{Epoch{1}, begin}, configured});
    boot(0, "a");
    boot(1, "a");
  }
  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) {
      apply(state_, event);
      const auto broken = broken_law(state_);
      ASSERT_FALSE(broken) << *broken;
    }
  }
  void boot(std::uint32_t node, const std::string& id) {
    happen(
        decide_register(state_, {NodeIndex{node}, id, {Cpus{4}, Mebibytes{1000}, {}, {}, {}, {}, {}, {}, {}}}, begin));
  }
  JobKey submit(JobExtras extras, bool exclusive = false, const std::string& nodes = "") {
    SubmitJob ask;
    ask.spec.owner = SharedValue(Owner{UserId{0}, GroupId{0}, "root", "root", {}, "login", {}});
    ask.spec.extras = SharedValue(std::move(extras));
    ask.spec.name = "job";
    ask.spec.work_dir = "/";
    ask.spec.exclusive = exclusive;
    ask.spec.interactive = !nodes.empty();
    ask.required_nodes = nodes;
    ask.script_bytes = 1;
    const auto decision = decide(state_, ask, root, begin);
    EXPECT_TRUE(decision) << slurm_text(decision.error().code);
    happen(decision->events);
    return state_.find_job(decision->id)->key;
  }
  void place(JobKey key, std::vector<std::uint32_t> nodes, std::int64_t cpus) {
    PlaceJob proposal;
    proposal.key = key;
    for (const std::uint32_t node : nodes)
      proposal.shares.push_back({NodeIndex{node}, Cpus{cpus}, Mebibytes{cpus * 100}, 1, false, {}});
    const auto events = decide_place(state_, proposal, begin);
    ASSERT_FALSE(events.empty());
    happen(events);
  }
  void end(JobKey key, std::uint32_t node) {
    ReportEnd report;
    report.key = key;
    report.node = NodeIndex{node};
    report.end = AttemptEnd::exited;
    happen(decide_end(state_, report, begin));
  }
  bool hold_ports(JobKey key, std::uint32_t count) {
    auto events = decide_ports(state_, state_.job(key), count, pool_, begin);
    if (events) happen(*events);
    return events.has_value();
  }
  const std::string& ports(JobKey key) { return state_.job(key).placement->ports; }

  IndexSet pool_ = *parse_index_set("100-109", 65535);
  State state_;
};

TEST_F(SpecialRequests, Ports_are_of_one_job_on_each_of_its_nodes) {
  const JobKey first = submit({}), second = submit({}), wide = submit({});
  place(first, {0}, 1);
  place(second, {1}, 1);
  place(wide, {0, 1}, 1);
  EXPECT_TRUE(hold_ports(first, 4));
  EXPECT_EQ(ports(first), "100-103");
  EXPECT_TRUE(hold_ports(second, 2));
  EXPECT_EQ(ports(second), "100-101") << "it is on another node";
  EXPECT_TRUE(hold_ports(wide, 5));
  EXPECT_EQ(ports(wide), "104-108") << "free on both";
  EXPECT_TRUE(hold_ports(first, 5));
  EXPECT_EQ(ports(first), "100-103,109") << "what it has it keeps";
  EXPECT_TRUE(hold_ports(first, 3));
  EXPECT_FALSE(hold_ports(first, 6));
  EXPECT_EQ(ports(first), "100-103,109");
  happen(*decide_cancel(state_, {wide, {}}, root, begin));
  EXPECT_FALSE(hold_ports(first, 6)) << "its steps may still be there";
  for (const std::uint32_t node : {0u, 1u}) end(wide, node);
  EXPECT_TRUE(hold_ports(first, 6));
}

TEST_F(SpecialRequests, Job_waits_while_its_nodes_boot) {
  JobExtras extras;
  extras.reboot = true;
  const JobKey key = submit(extras, true);
  place(key, {0, 1}, 4);
  EXPECT_TRUE(state_.job(key).boots);
  EXPECT_EQ(state_.node(NodeIndex{0}).reboot, Reboot::issued);
  boot(0, "a");
  EXPECT_EQ(state_.node(NodeIndex{0}).reboot, Reboot::issued) << "its agent came back, not its machine";
  boot(0, "b");
  EXPECT_EQ(state_.node(NodeIndex{0}).reboot, Reboot::none);
  EXPECT_TRUE(state_.job(key).boots) << "the other still boots";
  boot(1, "b");
  EXPECT_FALSE(state_.job(key).boots);
  EXPECT_EQ(state_.job(key).state, JobState::running);
  boot(1, "c");
  EXPECT_NE(state_.job(key).state, JobState::running) << "nobody ordered that one";
}

TEST_F(SpecialRequests, Node_that_does_not_come_back_gives_the_job_back_to_the_queue) {
  JobExtras extras;
  extras.reboot = true;
  const JobKey key = submit(extras, true);
  place(key, {0, 1}, 4);
  boot(1, "b");
  const Time late = begin + seconds(101);
  happen(decide_reboots(state_, late));
  EXPECT_EQ(state_.node(NodeIndex{0}).condition, NodeCondition::down);
  end(key, 1);
  EXPECT_EQ(state_.job(key).state, JobState::pending);
  EXPECT_EQ(state_.job(key).attempt, Attempt{1});
}

TEST_F(SpecialRequests, Cancelled_job_leaves_booting_nodes_at_once) {
  JobExtras extras;
  extras.reboot = true;
  const JobKey key = submit(extras, true);
  place(key, {0}, 4);
  happen(*decide_cancel(state_, {key, {}}, root, begin));
  for (auto events = decide_leave_unpowered(state_, key, begin); !events.empty();
       events = decide_leave_unpowered(state_, key, begin))
    happen(events);
  EXPECT_EQ(state_.job(key).state, JobState::ended);
  EXPECT_FALSE(state_.node(NodeIndex{0}).is_usable()) << "it still boots";
  boot(0, "b");
  EXPECT_TRUE(state_.node(NodeIndex{0}).is_usable());
}

TEST_F(SpecialRequests, Order_to_resume_ends_the_waiting_for_a_boot) {
  JobExtras extras;
  extras.reboot = true;
  const JobKey key = submit(extras, true);
  place(key, {0}, 4);
  happen(*decide_change_node(state_, {NodeIndex{0}, "resume", "", {}, {}}, root, begin));
  EXPECT_FALSE(state_.job(key).boots);
}

TEST_F(SpecialRequests, Program_without_an_allocation_takes_nothing_from_others) {
  const JobKey busy = submit({}, true);
  place(busy, {0}, 4);
  happen(*decide_change_node(state_, {NodeIndex{1}, "drain", "broken", {}, {}}, root, begin));
  JobExtras extras;
  extras.no_allocate = true;
  const JobKey key = submit(extras, false, "n[0-1]");
  const auto placed = decide_place_unasked(state_, key, begin);
  ASSERT_TRUE(placed);
  happen(*placed);
  EXPECT_EQ(state_.job(key).state, JobState::running);
  EXPECT_EQ(state_.job(key).placement->shares.size(), 2u);
  EXPECT_EQ(state_.node(NodeIndex{0}).used_cpus, Cpus{4});
  EXPECT_EQ(state_.node(NodeIndex{1}).used_cpus, Cpus{0});
  for (const std::uint32_t node : {0u, 1u}) end(key, node);
  EXPECT_EQ(state_.job(key).outcome, Outcome::completed);
  const JobKey nowhere = submit(extras);
  EXPECT_FALSE(decide_place_unasked(state_, nowhere, begin)) << "nobody said where";
}

TEST_F(SpecialRequests, A_list_of_nodes_may_repeat_some_and_is_no_longer_than_the_cluster) {
  EXPECT_EQ(resolve_nodes(state_, "n1,n0,n1"), (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(resolve_nodes(state_, "n0,gone").error().notes, std::vector<std::string>{"no such node: gone"});
  EXPECT_EQ(resolve_nodes(state_, "gone").error().notes, std::vector<std::string>{"no such node: gone"});
  EXPECT_EQ(resolve_nodes(state_, "n1,b,n1,a").error().notes, std::vector<std::string>{"no such node: b"});
  std::string list = "n[0-1]";
  for (int i = 0; i < 60; ++i) list += ",n[0-1]";
  const auto refused = resolve_nodes(state_, list);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().notes.at(0).find("more than 68 names"), std::string::npos) << refused.error().notes[0];
}

}  // namespace
}  // namespace millrace
