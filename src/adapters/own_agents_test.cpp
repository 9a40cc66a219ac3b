// src/adapters/own_agents_test.cpp - sessions of agents and relays: what the controller answers, and whom it counts as
// a node.
#include "adapters/own_agents.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent.pb.h"
#include "sim/sim_world.h"
#include "wire/frame.h"
#include "wire/request_limits.h"

namespace millrace {
namespace {

// What an agent has not read, if it does not read.
struct Traffic {
  bool reads = true;
  std::size_t unsent = 0, below = 0;
  Task wish;
  void read_all() {
    unsent = 0;
    if (Task then = std::exchange(wish, nullptr)) then();
  }
};

class SentMessages final : public Link {
 public:
  SentMessages(std::vector<wire::ToAgent>& sent, int* ended, Traffic& traffic)
      : sent_(sent), ended_(ended), traffic_(traffic) {}
  ~SentMessages() override { ++*ended_; }
  void send(std::string bytes) override {
    if (!traffic_.reads) traffic_.unsent += bytes.size();
    ASSERT_TRUE(sent_.emplace_back().ParseFromString(bytes));
  }
  void close() override {}
  std::size_t unsent() const override { return traffic_.unsent; }
  void when_unsent_below(std::size_t bytes, Task then) override {
    traffic_.below = bytes;
    traffic_.wish = std::move(then);
  }

 private:
  std::vector<wire::ToAgent>& sent_;
  int* ended_;
  Traffic& traffic_;
};

struct Asked {
  OwnAgents::RelayId relay;
  KeyRole role;
  std::uint64_t client;
  std::uint32_t uid;
  bool operator==(const Asked&) const = default;
};

class CountingObserver final : public ResourceObserver {
 public:
  void node_registered(ResourceManager&, const NodeRegistration&) override { ++registered; }
  void node_reported(ResourceManager&, const std::string&, const std::vector<AttemptReport>& said,
                     const wire::Telemetry&) override {
    ++reported;
    attempts = said;
  }
  void node_unreachable(ResourceManager&, const std::string&) override { ++unreachable; }
  void step_manager_said(ResourceManager&, const std::string&, const wire::StepFromNode&) override {}
  void step_sampled(ResourceManager&, const std::string&, const wire::StepSample&) override {}
  int registered = 0;
  int reported = 0;
  int unreachable = 0;
  std::vector<AttemptReport> attempts;
};

class OwnAgentsTest : public ::testing::Test {
 protected:
  OwnAgentsTest()
      : signer_(*CredentialSigner::from_cluster_key(std::string(32, 'k'))),
        agents_(loop_, signer_, {.cluster_name = "test"}, [](const std::string&) {}) {
    OwnAgents::RelayHooks hooks;
    hooks.request = [this](OwnAgents::RelayId relay, const KeyName& key, std::uint64_t client, UserId uid, GroupId,
                           std::string_view) { asked_.push_back({relay, key.role, client, uid.value}); };
    hooks.closed = [this](OwnAgents::RelayId, std::uint64_t client) { closed_.push_back(client); };
    hooks.relay_gone = [this](OwnAgents::RelayId relay) { gone_.push_back(relay); };
    agents_.serve(observer_, Epoch{1}, hooks);
    accept({KeyRole::login, "login1"});
  }
  void accept(const KeyName& key) {
    agent_ = &agents_.accept(std::make_unique<SentMessages>(sent_, &ended_, traffic_), key);
  }
  void connect(bool relay_only) {
    hello(relay_only);
    ASSERT_EQ(sent_.size(), 1u);
    EXPECT_TRUE(sent_[0].has_welcome());
  }
  void hello(bool relay_only, const std::string& boot = "b", const std::string& spool = "s") {
    wire::ToController message;
    message.set_session(1);
    message.set_sequence(1);
    message.mutable_hello()->set_boot_id(boot);
    message.mutable_hello()->set_spool_id(spool);
    message.mutable_hello()->set_protocol(protocol_version);
    message.mutable_hello()->set_node("login1");
    message.mutable_hello()->set_relay_only(relay_only);
    agent_->message(message.SerializeAsString());
  }
  void pass(Duration time) {
    world_.at(world_.now() + time, [] {});
    while (!world_.idle()) world_.step();
  }
  void beat() {
    wire::ToController message;
    message.mutable_report()->mutable_telemetry();
    say(agent_, 2, message);
  }
  void ask(LinkHandler* agent, std::uint64_t sequence, std::uint64_t client, std::uint32_t uid) {
    wire::ToController message;
    message.mutable_relayed()->set_client(client);
    message.mutable_relayed()->set_uid(uid);
    say(agent, sequence, message);
  }
  void say(LinkHandler* agent, std::uint64_t sequence, wire::ToController& message) {
    message.set_session(1);
    message.set_sequence(sequence);
    agent->message(message.SerializeAsString());
  }
  SimWorld world_{1};
  SimProcess loop_{world_};
  CredentialSigner signer_;
  CountingObserver observer_;
  std::vector<wire::ToAgent> sent_;
  int ended_ = 0;  // links
  Traffic traffic_;
  std::vector<Asked> asked_;
  std::vector<std::uint64_t> closed_;
  std::vector<OwnAgents::RelayId> gone_;
  OwnAgents agents_;
  LinkHandler* agent_ = nullptr;
};

TEST_F(OwnAgentsTest, A_heartbeat_of_an_agent_is_answered_and_reported) {
  connect(false);
  beat();
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_TRUE(sent_[1].has_heard());
  EXPECT_EQ(observer_.registered, 1);
  EXPECT_EQ(observer_.reported, 1);
}

wire::StepToNode asks_for_step(std::uint64_t job, std::size_t bytes) {
  wire::StepToNode message;
  message.set_job_key(job);
  message.mutable_request()->set_client(1);
  message.mutable_request()->mutable_ask()->set_environment(std::string(bytes, 'x'));
  return message;
}

TEST_F(OwnAgentsTest, What_clients_send_to_a_slow_node_waits_and_orders_go_past_it) {
  connect(false);
  traffic_.reads = false;
  constexpr std::size_t large = 6u << 20;
  int taken = 0;
  for (int i = 0; i < 20; ++i) taken += agents_.tell_step_manager("login1", asks_for_step(7, large));
  EXPECT_EQ(sent_.size(), 2u) << "the welcome and one request; others wait here";
  EXPECT_LE(traffic_.unsent, 2 * large);
  EXPECT_GT(taken, 4);
  EXPECT_LT(taken, 8) << "half of what may wait for a node";
  EXPECT_TRUE(agents_.tell_step_manager("login1", asks_for_step(8, large))) << "there is room for another job";
  wire::StepOrder order;
  order.set_job_key(7);
  order.mutable_attach()->set_host(std::string(large, 'h'));
  EXPECT_FALSE(agents_.tell_step("login1", order));
  agents_.launch("login1", wire::LaunchPlan{}, Owner{}, "b");
  agents_.kill("login1", wire::Kill{});
  agents_.forget("login1", wire::Forget{});
  ASSERT_EQ(sent_.size(), 5u);
  EXPECT_TRUE(sent_[2].has_launch());
  EXPECT_TRUE(sent_[3].has_kill());
  EXPECT_TRUE(sent_[4].has_forget());
  sent_.clear();
  traffic_.read_all();
  traffic_.read_all();
  ASSERT_EQ(sent_.size(), 2u) << "one at a time";
  EXPECT_NE(sent_[0].step().job_key(), sent_[1].step().job_key()) << "jobs take turns";
  traffic_.reads = true;
  traffic_.read_all();
  EXPECT_EQ(sent_.size(), static_cast<std::size_t>(taken));
  EXPECT_EQ(ended_, 0);
}

TEST_F(OwnAgentsTest, Launches_do_not_end_a_link_and_small_words_of_step_managers_are_never_lost) {
  connect(false);
  traffic_.reads = false;
  wire::LaunchPlan plan;
  plan.set_script(std::string(10u << 20, 's'));
  for (int i = 0; i < 20; ++i) agents_.launch("login1", plan, Owner{}, "b");
  EXPECT_LT(traffic_.unsent, 2 * reply_size_max) << "with more a link is ended";
  EXPECT_GE(sent_.size(), 8u);
  wire::StepToNode heard;
  heard.set_job_key(7);
  heard.mutable_facts_heard()->set_number(1);
  for (int i = 0; i < 300'000; ++i) ASSERT_TRUE(agents_.tell_step_manager("login1", heard));
  EXPECT_FALSE(agents_.tell_step_manager("login1", asks_for_step(7, 1000))) << "they count";
  const std::size_t before = sent_.size();
  traffic_.reads = true;
  traffic_.read_all();
  EXPECT_EQ(sent_.size(), before + 300'000u);
}

TEST_F(OwnAgentsTest, Who_says_more_than_an_agent_may_is_disconnected_before_it_is_read) {
  connect(false);
  wire::ToController message;
  for (int i = 0; i <= 64 * 1024; ++i) message.mutable_report()->add_attempts();
  say(agent_, 2, message);
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(observer_.reported, 0);
  EXPECT_EQ(observer_.unreachable, 1);
}

TEST_F(OwnAgentsTest, An_attempt_that_is_reported_often_counts_once_and_says_why_in_few_words) {
  connect(false);
  wire::ToController message;
  for (int i = 0; i < 1000; ++i) message.mutable_report()->add_attempts()->set_problem(std::string(10'000, 'p'));
  message.mutable_report()->add_attempts()->set_step(0);
  say(agent_, 2, message);
  ASSERT_EQ(observer_.attempts.size(), 2u);
  EXPECT_EQ(observer_.attempts[0].problem.size(), problem_bytes_max);
}

TEST_F(OwnAgentsTest, A_node_that_becomes_another_one_with_each_hello_has_to_take_its_time) {
  const auto come = [&](const std::string& boot) {
    const int before = observer_.registered;
    accept({KeyRole::login, "login1"});
    hello(false, boot);
    pass(seconds(20));  // so long a silent machine keeps its place
    return observer_.registered > before;
  };
  int taken = 0;
  for (int i = 0; i < 400; ++i) taken += come("boot " + std::to_string(i));
  EXPECT_EQ(taken, 400) << "one in two heartbeats";
  const auto come_at_once = [&](const std::string& spool) {
    const int before = observer_.registered;
    accept({KeyRole::login, "login1"});
    hello(false, "same boot", spool);
    agents_.revoke("login1", UINT32_MAX);
    return observer_.registered > before;
  };
  taken = 0;
  for (int i = 0; i < 400; ++i) taken += come_at_once("spool " + std::to_string(i));
  EXPECT_EQ(taken, 100);
  pass(seconds(10));
  EXPECT_TRUE(come_at_once("one more"));
  EXPECT_FALSE(come_at_once("another"));
  for (int i = 0; i < 400; ++i) EXPECT_TRUE(come_at_once("one more")) << "as it was";
}

TEST_F(OwnAgentsTest, A_heartbeat_of_a_relay_is_answered_and_counts_for_no_node) {
  connect(true);
  beat();
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_TRUE(sent_[1].has_heard());
  EXPECT_EQ(observer_.registered, 0);
  EXPECT_EQ(observer_.reported, 0);
}

TEST_F(OwnAgentsTest, The_key_of_a_compute_node_makes_no_relay) {
  std::set<std::string> kinds;
  agents_.count_lines([&](const std::string& kind, const std::string&) { kinds.insert(kind); });
  for (const KeyRole role : {KeyRole::node, KeyRole::munge}) {
    sent_.clear();
    accept({role, "login1"});
    hello(true);
    ASSERT_EQ(sent_.size(), 1u);
    ASSERT_TRUE(sent_[0].has_refusal());
    EXPECT_NE(sent_[0].refusal().reason().find("millrace key node login1 --login"), std::string::npos);
  }
  EXPECT_EQ(kinds, std::set<std::string>{"login1 refused"}) << "as often as it comes, one line a minute";
}

// The link takes the words along, so the agent hears why.
TEST_F(OwnAgentsTest, Who_is_refused_is_disconnected_and_the_one_that_is_in_goes_on) {
  connect(true);
  LinkHandler* const relay = agent_;
  accept({KeyRole::node, "login1"});  // made for this name before it became a login machine
  hello(true);
  EXPECT_TRUE(sent_.back().has_refusal());
  EXPECT_EQ(ended_, 1);
  EXPECT_TRUE(gone_.empty());
  ask(relay, 2, 1, 1000);
  EXPECT_EQ(asked_, (std::vector<Asked>{{1, KeyRole::login, 1, 1000}}));
}

TEST_F(OwnAgentsTest, An_agent_that_turns_into_a_relay_is_refused_and_its_node_is_gone) {
  connect(false);
  wire::ToController message;
  message.mutable_hello()->set_protocol(protocol_version);
  message.mutable_hello()->set_node("login1");
  message.mutable_hello()->set_relay_only(true);
  message.set_session(2);
  agent_->message(message.SerializeAsString());
  EXPECT_TRUE(sent_.back().has_refusal());
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(observer_.unreachable, 1);
}

TEST_F(OwnAgentsTest, Who_has_not_said_hello_is_not_heard) {
  wire::ToController message;
  message.mutable_relayed()->set_client(1);
  say(agent_, 2, message);
  beat();
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(observer_.reported, 0);
}

TEST_F(OwnAgentsTest, The_clients_of_a_connection_are_its_own_and_end_with_it) {
  connect(true);
  ask(agent_, 2, 1, 1000);
  agents_.reply_relayed(1, 1, "yes");
  EXPECT_EQ(sent_.back().relayed().reply(), "yes");
  accept({KeyRole::login_root, "login1"});
  hello(true);
  EXPECT_EQ(gone_, std::vector<OwnAgents::RelayId>{1});
  ask(agent_, 2, 1, 0);
  EXPECT_EQ(asked_, (std::vector<Asked>{{1, KeyRole::login, 1, 1000}, {2, KeyRole::login_root, 1, 0}}));
  const std::size_t before = sent_.size();
  agents_.reply_relayed(1, 1, "too late");
  EXPECT_EQ(sent_.size(), before) << "not to whoever has this number now";
}

// Each time that one replaces the other all jobs of the node would be lost.
TEST_F(OwnAgentsTest, Two_machines_with_a_key_of_one_name_do_not_take_turns) {
  std::vector<std::string> lines;
  agents_.count_lines([&](const std::string&, const std::string& line) { lines.push_back(line); });
  connect(false);
  pass(seconds(19));
  beat();
  LinkHandler* const first = agent_;
  const std::pair<const char*, const char*> others[] = {{"other", "s"}, {"b", "other"}};
  for (const auto& [boot, spool] : others) {
    pass(seconds(3));
    accept({KeyRole::login, "login1"});
    hello(false, boot, spool);
    ASSERT_TRUE(sent_.back().has_refusal());
    EXPECT_NE(sent_.back().refusal().reason().find("another machine with a key of this name"), std::string::npos);
    EXPECT_NE(lines.back().find("another machine with a key of this name"), std::string::npos);
  }
  EXPECT_EQ(ended_, 2);
  EXPECT_EQ(observer_.registered, 1);
  wire::ToController alive;
  alive.mutable_report()->mutable_telemetry();
  say(first, 3, alive);
  EXPECT_EQ(observer_.reported, 2) << "the first is as it was";
}

TEST_F(OwnAgentsTest, The_next_process_of_an_agent_takes_its_place_at_once) {
  connect(false);
  accept({KeyRole::login, "login1"});
  hello(false);
  EXPECT_TRUE(sent_.back().has_welcome());
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(observer_.registered, 2);
}

// Its connection from before may look alive for hours.
TEST_F(OwnAgentsTest, A_machine_that_has_booted_is_let_in_when_nothing_was_heard_for_two_heartbeats) {
  connect(false);
  for (int tries = 0; tries < 10; ++tries) {  // an agent that is refused comes again after two seconds
    pass(seconds(2));
    accept({KeyRole::login, "login1"});
    hello(false, "next boot");
    EXPECT_EQ(sent_.back().has_welcome(), tries == 9) << tries;
  }
  EXPECT_EQ(observer_.registered, 2);
}

TEST_F(OwnAgentsTest, What_a_revoked_key_has_opened_is_closed_and_nothing_else) {
  const std::vector<KeyName> keys = {{KeyRole::node, "n1"},
                                     {KeyRole::login, "n1"},
                                     {KeyRole::node, "n1", 1},
                                     {KeyRole::munge, "n1"},
                                     {KeyRole::node, "login1"}};
  for (const KeyName& key : keys) accept(key);
  agents_.revoke("n1", 1);
  EXPECT_EQ(ended_, 2);
  agents_.revoke("n1", 2);
  EXPECT_EQ(ended_, 3);
  connect(false);  // the last one is as before
}

}  // namespace
}  // namespace millrace
