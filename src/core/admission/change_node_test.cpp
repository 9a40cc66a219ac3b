// src/core/admission/change_node_test.cpp - orders to nodes, reboots, and what registration makes of them.
#include <gtest/gtest.h>

#include "core/admission/power_nodes.h"
#include "core/admission/report_node.h"
#include "core/ledger/apply.h"

namespace millrace {
namespace {

constexpr Time begin{1'800'000'000'000'000};
const Actor root{UserId{0}, true};

class NodeOrders : public testing::Test {
 protected:
  NodeOrders() {
    NodeDef def;
    def.name = "n0";
    def.cpus = Cpus{4};
    def.memory = Mebibytes{1000};
    PartitionDef partition;
    partition.name = "main";
    partition.nodes = {"n0"};
    configured_ = {{def}, {partition}, {}, begin, {}};
    configured_.policy.resume_timeout_seconds = 100;
    happen({ControllerStarted{Epoch{1}, begin}, configured_});
    boot("a");
  }
  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) apply(state_, event);
  }
  void boot(const std::string& id, std::int64_t memory = 1000) {
    happen(decide_register(state_, {NodeIndex{0}, id, {Cpus{4}, Mebibytes{memory}, {}, {}, {}, {}, {}, {}, {}}}, begin));
  }
  bool order(const std::string& word, AfterReboot then = {}) {
    ChangeNode ask{NodeIndex{0}, word, "because"};
    ask.after_reboot = then;
    const auto decision = decide_change_node(state_, ask, root, begin);
    if (decision) happen(*decision);
    return decision.has_value();
  }
  const Node& node() { return state_.node(NodeIndex{0}); }

  ClusterConfigured configured_;
  State state_;
};

TEST_F(NodeOrders, a_failing_node_takes_no_jobs_until_resumed) {
  EXPECT_TRUE(order("FAIL"));
  EXPECT_FALSE(node().is_usable());
  EXPECT_EQ(node().reason, "because");
  EXPECT_TRUE(order("RESUME"));
  EXPECT_TRUE(node().is_usable());
  EXPECT_FALSE(order("RESUME")) << "in service already";
  EXPECT_FALSE(order("POWER_DOWN"));
  EXPECT_FALSE(order("SHINY"));
}

TEST_F(NodeOrders, boots_when_idle_and_comes_back_as_it_was) {
  EXPECT_FALSE(order("cancel_reboot"));
  EXPECT_TRUE(order("reboot"));
  EXPECT_TRUE(node().is_usable()) << "jobs may come until it boots";
  happen(decide_reboots(state_, begin));
  EXPECT_EQ(node().reboot, Reboot::issued);
  EXPECT_FALSE(node().is_usable());
  EXPECT_FALSE(order("cancel_reboot")) << "too late";
  boot("a");
  EXPECT_EQ(node().reboot, Reboot::issued) << "its agent came back, not its machine";
  boot("b");
  EXPECT_TRUE(node().is_usable());
  EXPECT_TRUE(node().reason.empty());
}

TEST_F(NodeOrders, an_order_to_boot_as_soon_as_possible_keeps_jobs_away) {
  EXPECT_TRUE(order("reboot_asap", AfterReboot::down));
  EXPECT_FALSE(node().is_usable());
  EXPECT_TRUE(order("cancel_reboot"));
  EXPECT_TRUE(node().is_usable());
  EXPECT_TRUE(order("reboot_asap", AfterReboot::down));
  happen(decide_reboots(state_, begin));
  boot("b");
  EXPECT_EQ(node().condition, NodeCondition::down);
}

TEST_F(NodeOrders, a_boot_that_takes_too_long_takes_the_node_down) {
  EXPECT_TRUE(order("drain"));
  EXPECT_TRUE(order("reboot", AfterReboot::resume));
  happen(decide_reboots(state_, begin));
  happen(decide_reboots(state_, begin + seconds(100)));
  EXPECT_EQ(node().condition, NodeCondition::up);
  happen(decide_reboots(state_, begin + seconds(101)));
  EXPECT_EQ(node().condition, NodeCondition::down);
  EXPECT_EQ(node().reason, "ResumeTimeout reached");
  EXPECT_EQ(node().reboot, Reboot::none);
  EXPECT_TRUE(decide_reboots(state_, begin + seconds(102)).empty());
}

TEST_F(NodeOrders, what_a_node_lacks_drains_it_unless_the_configuration_counts) {
  boot("b", 900);
  EXPECT_EQ(node().condition, NodeCondition::down) << "nobody ordered that boot";
  EXPECT_TRUE(node().drain);
  EXPECT_TRUE(order("RESUME"));
  configured_.policy.config_overrides = true;
  happen({configured_});
  boot("c", 900);
  EXPECT_FALSE(node().drain);
}

TEST_F(NodeOrders, weight_and_features_change_until_the_configuration_is_read_again) {
  ChangeNode ask{NodeIndex{0}};
  ask.change.weight = 9;
  ask.change.features = "fast,big";
  const auto decision = decide_change_node(state_, ask, root, begin);
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->size(), 1u) << "nothing is said about its state";
  happen(*decision);
  EXPECT_EQ(node().def->weight, 9u);
  EXPECT_EQ(node().def->features, "fast,big");
  ask.change.features = "a b";
  EXPECT_FALSE(decide_change_node(state_, ask, root, begin));
  EXPECT_FALSE(decide_change_node(state_, ask, Actor{UserId{5}, false}, begin));
  happen({configured_});
  EXPECT_EQ(node().def->weight, 1u);
}

class NodePowers : public NodeOrders {
 protected:
  NodePowers() {
    configured_.policy.power_saving = true;
    configured_.policy.suspend_timeout_seconds = 10;
    happen({configured_});
  }
  void pass(std::int64_t second) {
    for (auto events = decide_power(state_, begin + seconds(second)); !events.empty(); events = decide_power(state_, begin + seconds(second))) happen(events);
  }
  void agent(std::int64_t started) {
    Inventory has{Cpus{4}, Mebibytes{1000}, {}, {}, {}, {}, {}, {}, begin + seconds(started)};
    happen(decide_register(state_, {NodeIndex{0}, "a", has}, begin + seconds(started)));
  }
};

TEST_F(NodePowers, one_that_is_slow_to_die_does_not_count_as_up) {
  EXPECT_FALSE(order("power_up")) << "it is";
  EXPECT_TRUE(order("power_down"));
  pass(0);
  EXPECT_EQ(node().power.state, Power::going_down);
  EXPECT_FALSE(node().is_usable());
  agent(5);  // started again while it goes down
  EXPECT_EQ(node().power.state, Power::going_down);
  pass(10);
  EXPECT_EQ(node().power.state, Power::off);
  EXPECT_TRUE(node().is_usable());
  EXPECT_TRUE(order("power_up"));
  pass(20);
  EXPECT_EQ(node().power.state, Power::coming_up);
  agent(5);  // the same once more
  EXPECT_EQ(node().power.state, Power::coming_up);
  agent(30);
  EXPECT_EQ(node().power.state, Power::on);
  EXPECT_EQ(node().condition, NodeCondition::up);
}

TEST_F(NodePowers, one_that_does_not_come_up_is_down_and_off) {
  EXPECT_TRUE(order("power_down_force"));
  pass(10);
  EXPECT_TRUE(order("power_up"));
  pass(20);
  pass(119);
  EXPECT_EQ(node().power.state, Power::coming_up);
  pass(120);
  EXPECT_EQ(node().power.state, Power::off);
  EXPECT_EQ(node().condition, NodeCondition::down);
  EXPECT_EQ(node().reason, "ResumeTimeout reached");
  EXPECT_TRUE(order("resume"));
  EXPECT_TRUE(node().is_usable());
  EXPECT_TRUE(decide_lost(state_, NodeIndex{0}, begin).empty()) << "nobody expects a word of it";
}

}  // namespace
}  // namespace millrace
