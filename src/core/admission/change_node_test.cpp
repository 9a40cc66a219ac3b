// src/core/admission/change_node_test.cpp - orders to nodes, reboots, and what registration makes of them.
#include <gtest/gtest.h>

#include "core/admission/expire.h"
#include "core/admission/power_nodes.h"
#include "core/admission/report_node.h"
#include "core/ledger/apply.h"
#include "core/ledger/invariants.h"
#include "core/model/features.h"

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
    happen(
        decide_register(state_, {NodeIndex{0}, id, {Cpus{4}, Mebibytes{memory}, {}, {}, {}, {}, {}, {}, {}}}, begin));
  }
  bool order(const std::string& word, AfterReboot then = {}) {
    ChangeNode ask{NodeIndex{0}, word, "because"};
    ask.after_reboot = then;
    const auto decision = decide_change_node(state_, ask, root, begin);
    if (decision) happen(*decision);
    return decision.has_value();
  }
  // What came of it: nothing, or the words of the refusal.
  std::string change(const std::string& word, const NodeModified& change) {
    ChangeNode ask{NodeIndex{0}, word, "because"};
    ask.change = change;
    const auto decision = decide_change_node(state_, ask, root, begin);
    if (!decision) return slurm_text(decision.error().code);
    happen(*decision);
    return broken_law(state_).value_or("");
  }
  std::string resume_at(const std::string& word, Time when) {
    NodeModified wish;
    wish.resume_at = when;
    return change(word, wish);
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

TEST_F(NodeOrders, comes_back_by_itself_when_its_time_is_over) {
  const Time due = begin + seconds(60);
  EXPECT_EQ(resume_at("", due), "Invalid node state specified") << "it is in service";
  EXPECT_EQ(resume_at("resume", due), "Invalid node state specified");
  EXPECT_EQ(resume_at("", Time{}), "") << "nothing to call off, and that is no error";
  EXPECT_EQ(resume_at("drain", due), "");
  EXPECT_EQ(next_deadline(state_), due);
  EXPECT_TRUE(decide_expired(state_, begin).empty());
  happen(decide_expired(state_, due));
  EXPECT_TRUE(node().is_usable());
  EXPECT_FALSE(node().resume_at.is_set());
  EXPECT_TRUE(node().reason.empty());
  EXPECT_EQ(next_deadline(state_), never);
}

TEST_F(NodeOrders, a_node_that_is_back_before_its_time_is_left_alone) {
  const Time due = begin + seconds(60);
  for (const char* back : {"resume", "undrain"}) {
    EXPECT_EQ(resume_at("drain", due), "");
    EXPECT_TRUE(order(back));
    EXPECT_EQ(next_deadline(state_), never) << back;
  }
  EXPECT_EQ(resume_at("down", due), "");
  EXPECT_EQ(resume_at("", Time{}), "");
  EXPECT_EQ(next_deadline(state_), never);
  EXPECT_EQ(resume_at("", due), "") << "it is still down";
  EXPECT_TRUE(order("drain"));
  EXPECT_TRUE(order("undrain"));
  EXPECT_EQ(next_deadline(state_), due) << "it is down yet";
  configured_.nodes.clear();
  configured_.partitions[0].nodes.clear();
  happen({configured_});
  EXPECT_EQ(next_deadline(state_), never) << "it is in the configuration no more";
  EXPECT_FALSE(broken_law(state_));
}

TEST_F(NodeOrders, only_available_features_become_active) {
  NodeModified available, some, strange;
  available.features = "flat,cache";
  some.active_features = "cache";
  strange.active_features = "fast";
  EXPECT_EQ(change("", some), "Active features not subset of available features");
  EXPECT_EQ(change("", available), "");
  EXPECT_EQ(features_of(*node().def), (std::vector<std::string>{"cache", "flat"}));
  EXPECT_EQ(change("", some), "");
  EXPECT_EQ(features_of(*node().def), std::vector<std::string>{"cache"});
  EXPECT_EQ(available_features_of(*node().def), (std::vector<std::string>{"cache", "flat"}));
  EXPECT_EQ(change("", strange), "Active features not subset of available features");
  strange.active_features = "cache|flat";
  EXPECT_EQ(change("", strange), "Invalid feature specification");
  some.active_features = "";
  EXPECT_EQ(change("", some), "");
  EXPECT_TRUE(features_of(*node().def).empty());
  EXPECT_EQ(change("", available), "");
  EXPECT_FALSE(node().def->active_features) << "what a node has is all active when it changes";
}

TEST_F(NodeOrders, an_agent_that_starts_says_which_machine_of_a_cloud_it_is_on) {
  const auto start = [&](const char* instance, std::int64_t second) {
    Inventory has{Cpus{4}, Mebibytes{1000}, {}, {}, {}, {}, {}, {}, begin + seconds(second)};
    has.instance_id = instance;
    has.extra = "rack 7";
    happen(decide_register(state_, {NodeIndex{0}, "a", has}, begin));
  };
  start("i-1", 1);
  EXPECT_EQ(node().instance_id, "i-1");
  EXPECT_EQ(node().extra, "rack 7");
  NodeModified wish;
  wish.instance_id = "i-2";
  wish.instance_type = "large";
  EXPECT_EQ(change("", wish), "");
  happen(decide_lost(state_, NodeIndex{0}, begin));
  start("i-1", 1);
  EXPECT_EQ(node().instance_id, "i-2") << "the same agent is back";
  start("", 2);
  EXPECT_EQ(node().instance_id, "i-2") << "one that was told nothing";
  start("i-3", 3);
  EXPECT_EQ(node().instance_id, "i-3");
  EXPECT_EQ(node().instance_type, "large");
  happen({NodesPowered{
      .change = PowerChange::going_down, .nodes = {NodeIndex{0}}, .due = begin, .by = UserId{0}, .at = begin}});
  EXPECT_EQ(node().instance_id, "i-3");
  happen({NodesPowered{.change = PowerChange::off, .nodes = {NodeIndex{0}}, .by = UserId{0}, .at = begin}});
  EXPECT_EQ(node().instance_id + node().instance_type, "") << "that machine is gone";
}

TEST_F(NodeOrders, what_is_said_beside_an_order_about_power_holds_too) {
  configured_.policy.power.saving = true;
  happen({configured_});
  NodeModified wish;
  wish.comment = "for the night";
  EXPECT_EQ(change("power_down", wish), "");
  EXPECT_TRUE(node().power.down_wanted);
  EXPECT_EQ(node().comment, "for the night");
  EXPECT_EQ(node().reason, "because");
  EXPECT_EQ(resume_at("power_up", begin + seconds(60)), "Invalid node state specified");
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
    configured_.policy.power.saving = true;
    configured_.policy.power.suspend_timeout_seconds = 10;
    happen({configured_});
  }
  void pass(std::int64_t second) {
    for (auto events = decide_power(state_, begin + seconds(second)); !events.empty();
         events = decide_power(state_, begin + seconds(second)))
      happen(events);
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
