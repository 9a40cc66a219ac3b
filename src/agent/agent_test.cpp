// src/agent/agent_test.cpp - what an agent obeys, what it drops, and what it says, with the test as controller and
// supervisors.
#include "agent/agent.h"

#include <gtest/gtest.h>

#include "agent/agent_harness.h"
#include "wire/credential.h"
#include "wire/request_limits.h"

namespace millrace {
namespace {

class AgentTest : public testing::Test {
 protected:
  AgentTest() : signer_(*CredentialSigner::from_cluster_key(std::string(32, 'k'))) {
    AgentSettings settings;
    settings.node = "n2";
    settings.boot_id = "boot";
    settings.first_session = 100;
    AgentHooks hooks;
    hooks.log = [this](std::string_view text) { log_ += std::string{text} + "\n"; };
    hooks.stop = [this] { stopped_ = true; };
    hooks.unkillable_after = [] { return seconds(20); };
    hooks.unkillable = [this](const wire::AttemptStatus& status) { unkillable_.push_back(status.job_key()); };
    agent_ = std::make_unique<Agent>(loop_, dialer_, supervisors_, measurements_, settings, hooks);
  }

  // Everything the agent said since the last call.
  std::deque<wire::ToController> said() {
    loop_.run();
    return std::exchange(dialer_.sent, {});
  }
  void deliver(wire::ToAgent message) {
    message.set_epoch(epoch_);
    message.set_session(session_);
    message.set_sequence(++sequence_);
    last_ = message;
    dialer_.handler->message(message.SerializeAsString());
    loop_.run();
  }
  void welcome() {
    const auto hello = said();
    ASSERT_FALSE(hello.empty());
    ASSERT_TRUE(hello.back().has_hello());
    session_ = hello.back().session();
    sequence_ = 0;
    wire::ToAgent message;
    message.mutable_welcome()->set_verify_key(signer_.verify_key());
    message.mutable_welcome()->set_heartbeat_seconds(10);
    message.mutable_welcome()->set_cluster("mill");
    deliver(message);
    said();
  }
  wire::Credential credential(std::uint64_t key) {
    wire::Credential credential;
    credential.set_cluster("mill");
    credential.set_job_key(key);
    credential.set_nodes("n[1-3]");
    credential.set_boot_id("boot");
    credential.set_epoch(epoch_);
    credential.set_expires_at_us(loop_.now().value + 60'000'000);
    return credential;
  }
  wire::ToAgent launch(wire::Credential credential) {
    wire::ToAgent message;
    auto* launch = message.mutable_launch();
    launch->mutable_plan()->set_job_key(credential.job_key());
    launch->mutable_plan()->set_attempt(credential.attempt());
    launch->mutable_plan()->set_node_name("n2");
    if (credential.plan_digest().empty()) credential.set_plan_digest(sha256(launch->plan().SerializeAsString()));
    launch->set_credential(credential.SerializeAsString());
    launch->set_signature(signer_.sign(launch->credential()));
    return message;
  }
  std::vector<wire::AttemptStatus> reported() {
    const auto messages = said();
    if (messages.empty() || !messages.back().has_report()) return {};
    const auto& attempts = messages.back().report().attempts();
    return {attempts.begin(), attempts.end()};
  }
  void start() {
    agent_->start();
    welcome();
  }

  FakeLoop loop_;
  FakeDialer dialer_;
  FakeSupervisors supervisors_;
  FakeMeasurements measurements_;
  CredentialSigner signer_;
  std::unique_ptr<Agent> agent_;
  std::string log_;
  bool stopped_ = false;
  std::vector<std::uint64_t> unkillable_;
  std::uint64_t epoch_ = 5, session_ = 0, sequence_ = 0;
  wire::ToAgent last_;
};

TEST_F(AgentTest, Hello_brings_everything_the_node_answers_for) {
  wire::AttemptStatus old;
  old.set_job_key(3);
  old.set_state(wire::AttemptStatus::ENDED);
  supervisors_.known.push_back(old);
  agent_->start();
  const auto messages = said();
  ASSERT_EQ(messages.size(), 1u);
  const wire::AgentHello& hello = messages[0].hello();
  EXPECT_EQ(hello.node(), "n2");
  EXPECT_EQ(hello.boot_id(), "boot");
  EXPECT_EQ(hello.inventory().cpus(), 4u);
  ASSERT_EQ(hello.attempts_size(), 1);
  EXPECT_EQ(hello.attempts(0).job_key(), 3u);
  EXPECT_EQ(messages[0].sequence(), 1u);
}

TEST_F(AgentTest, Doubled_launch_runs_once) {
  start();
  deliver(launch(credential(7)));
  dialer_.handler->message(last_.SerializeAsString());  // the network doubles it
  deliver(launch(credential(7)));                       // the controller sends it again
  EXPECT_EQ(supervisors_.launched, std::vector<std::uint64_t>{7});
  ASSERT_EQ(reported().size(), 1u);
}

TEST_F(AgentTest, Words_about_steps_find_their_way_up_and_down) {
  start();
  wire::StepFromNode facts;
  facts.set_job_key(7);
  facts.mutable_facts()->set_number(3);
  supervisors_.observer->step_manager_said(facts);
  wire::StepSample sample;
  sample.set_inquiry(9);
  supervisors_.observer->step_sampled(sample);
  const auto messages = said();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].step().facts().number(), 3u);
  EXPECT_EQ(messages[1].sample().inquiry(), 9u);
  // A signal to a step here goes to its supervisor, one to a step elsewhere to the controller.
  wire::StepFromNode signal;
  signal.mutable_signal()->set_signal(10);
  signal.mutable_signal()->set_step(0);
  signal.set_node("n2");
  supervisors_.observer->step_manager_said(signal);
  EXPECT_EQ(supervisors_.signalled, std::vector<std::uint32_t>{10});
  EXPECT_TRUE(said().empty());
  signal.set_node("n3");
  supervisors_.observer->step_manager_said(signal);
  EXPECT_EQ(said().size(), 1u);
  wire::ToAgent heard, order;
  heard.mutable_step()->mutable_facts_heard()->set_number(3);
  deliver(heard);
  ASSERT_EQ(supervisors_.told_step_manager.size(), 1u);
  EXPECT_EQ(supervisors_.told_step_manager[0].facts_heard().number(), 3u);
  order.mutable_step_order()->set_inquiry(11);
  deliver(order);
  ASSERT_EQ(supervisors_.step_orders.size(), 1u);
}

// Of srun's own job, which has an attempt on every node: whoever keeps its steps is on the first.
TEST_F(AgentTest, A_step_that_ends_after_the_tasks_here_is_reported_until_somebody_has_it_forgotten) {
  start();
  wire::AttemptStatus step;
  step.set_job_key(7);
  step.set_step(1);
  step.set_state(wire::AttemptStatus::RUNNING_NOW);
  supervisors_.tell(7, wire::AttemptStatus::RUNNING_NOW);
  supervisors_.observer->attempt_changed(step);
  supervisors_.tell(7, wire::AttemptStatus::ENDED);
  step.set_state(wire::AttemptStatus::ENDED);
  supervisors_.observer->attempt_changed(step);
  loop_.advance(seconds(1));
  EXPECT_EQ(reported().size(), 2u);
  EXPECT_TRUE(supervisors_.forgotten.empty());
  wire::ToAgent order;
  order.mutable_forget()->set_job_key(7);
  order.mutable_forget()->set_step(1);
  deliver(order);
  EXPECT_EQ(supervisors_.forgotten.size(), 1u);
}

TEST_F(AgentTest, Launches_of_a_step_manager_do_not_fill_the_link_that_all_jobs_share) {
  start();
  wire::StepFromNode launch, facts;
  launch.mutable_launch()->mutable_plan()->set_environment(std::string(1u << 20, 'x'));
  launch.set_node("n3");
  facts.mutable_facts()->set_number(3);
  supervisors_.observer->step_manager_said(launch);
  EXPECT_EQ(said().size(), 1u);
  dialer_.unsent = reply_size_max;
  supervisors_.observer->step_manager_said(launch);
  EXPECT_EQ(said().size(), 0u) << "the step manager gives it again";
  supervisors_.observer->step_manager_said(facts);
  EXPECT_EQ(said().size(), 1u);
}

TEST_F(AgentTest, What_the_controller_would_not_take_is_cut_or_not_sent) {
  start();
  wire::AttemptStatus failed;
  failed.set_job_key(7);
  failed.set_state(wire::AttemptStatus::ENDED);
  failed.set_problem(std::string(200'000, 'p'));
  supervisors_.observer->attempt_changed(failed);
  loop_.advance(seconds(1));
  const auto attempts = reported();
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].problem().size(), problem_bytes_max);
  wire::StepFromNode facts;
  facts.mutable_facts()->add_facts()->set_name(std::string(200'000, 'n'));
  said();
  supervisors_.observer->step_manager_said(facts);
  EXPECT_TRUE(said().empty());
}

TEST_F(AgentTest, Older_epoch_is_refused_and_its_link_dropped) {
  start();
  deliver(launch(credential(7)));
  epoch_ = 4;
  deliver(launch(credential(8)));
  EXPECT_EQ(supervisors_.launched, std::vector<std::uint64_t>{7});
  EXPECT_FALSE(dialer_.is_open);
  EXPECT_EQ(agent_->highest_epoch(), 5u);
  EXPECT_NE(log_.find("epoch 4 is older than 5"), std::string::npos) << log_;
}

TEST_F(AgentTest, Message_of_another_session_or_an_old_sequence_is_dropped) {
  start();
  session_ += 1;
  deliver(launch(credential(7)));
  session_ -= 1;
  sequence_ = 0;
  deliver(launch(credential(8)));  // the sequence of the welcome
  EXPECT_TRUE(supervisors_.launched.empty());
  deliver(launch(credential(9)));
  EXPECT_EQ(supervisors_.launched, std::vector<std::uint64_t>{9});
}

TEST_F(AgentTest, Launch_before_the_welcome_is_dropped_and_the_welcome_still_counts) {
  agent_->start();
  session_ = said().back().session();
  sequence_ = 5;
  deliver(launch(credential(7)));
  EXPECT_TRUE(supervisors_.launched.empty());
  sequence_ = 0;
  wire::ToAgent message;
  message.mutable_welcome()->set_verify_key(signer_.verify_key());
  message.mutable_welcome()->set_cluster("mill");
  deliver(message);
  EXPECT_TRUE(agent_->is_welcome());
}

TEST_F(AgentTest, Launch_that_is_not_believable_or_not_for_us_is_dropped_without_a_word) {
  start();
  wire::ToAgent forged = launch(credential(1));
  forged.mutable_launch()->mutable_signature()->back() ^= 1;
  deliver(forged);
  const auto other = CredentialSigner::from_cluster_key(std::string(32, 'x'));
  wire::ToAgent foreign = launch(credential(2));
  foreign.mutable_launch()->set_signature(other->sign(foreign.launch().credential()));
  deliver(foreign);
  wire::Credential elsewhere = credential(3);
  elsewhere.set_nodes("n[3-9]");
  deliver(launch(elsewhere));
  wire::Credential before_boot = credential(4);
  before_boot.set_boot_id("an earlier one");
  deliver(launch(before_boot));
  wire::Credential cluster = credential(5);
  cluster.set_cluster("other");
  deliver(launch(cluster));
  wire::Credential epoch = credential(6);
  epoch.set_epoch(4);
  deliver(launch(epoch));
  EXPECT_TRUE(supervisors_.launched.empty());
  EXPECT_TRUE(reported().empty());
  EXPECT_EQ(std::ranges::count(log_, '\n'), 7) << log_;  // "registered", then one line each
}

TEST_F(AgentTest, Genuine_launch_that_cannot_be_done_is_reported_with_words) {
  start();
  wire::Credential digest = credential(1);
  digest.set_plan_digest(std::string(32, 'd'));
  deliver(launch(digest));
  auto attempts = reported();
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].end(), wire::AttemptStatus::LAUNCH_FAILED);
  EXPECT_EQ(attempts[0].problem(), "the plan is not the one the controller signed");

  // One that comes late is given again by whoever misses it.
  wire::Credential expired = credential(2);
  expired.set_expires_at_us(loop_.now().value - 5'000'000);
  deliver(launch(expired));
  EXPECT_EQ(reported().size(), 1u);

  wire::ToAgent message = launch(credential(3));
  message.mutable_launch()->mutable_plan()->set_job_id(99);  // changed on the way
  deliver(message);
  EXPECT_EQ(reported().size(), 2u);
  EXPECT_TRUE(supervisors_.launched.empty());
}

TEST_F(AgentTest, Launches_expire_by_the_clock_of_whoever_signed_them) {
  start();
  wire::Credential ahead = credential(1);  // our clock is an hour ahead of the controller's
  ahead.set_expires_at_us(loop_.now().value - 3600'000'000 + 60'000'000);
  wire::ToAgent message = launch(ahead);
  message.set_clock_us(loop_.now().value - 3600'000'000);
  deliver(message);
  EXPECT_EQ(supervisors_.launched.size(), 1u);
  wire::Credential late = credential(2);  // and by that clock this one is late, though not by ours
  late.set_expires_at_us(loop_.now().value - 3600'000'000 - 1);
  deliver(launch(late));
  EXPECT_EQ(supervisors_.launched.size(), 1u);
}

TEST_F(AgentTest, End_is_reported_until_it_is_forgotten) {
  start();
  deliver(launch(credential(7)));
  wire::ToAgent forget;
  forget.mutable_forget()->set_job_key(7);
  deliver(forget);  // it runs
  EXPECT_TRUE(supervisors_.forgotten.empty());
  supervisors_.tell(7, wire::AttemptStatus::ENDED);
  ASSERT_EQ(reported().size(), 1u);
  loop_.advance(seconds(11));  // at each heartbeat again
  auto attempts = reported();
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].state(), wire::AttemptStatus::ENDED);
  deliver(forget);
  EXPECT_EQ(supervisors_.forgotten, std::vector<std::uint64_t>{7});
  EXPECT_TRUE(reported().empty());
}

TEST_F(AgentTest, Changes_of_one_turn_make_one_report) {
  start();
  for (std::uint64_t key = 1; key <= 5; ++key) supervisors_.tell(key, wire::AttemptStatus::ENDED);
  const auto messages = said();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].report().attempts_size(), 5);
}

TEST_F(AgentTest, Heartbeat_carries_telemetry_and_silence_breaks_the_link) {
  start();
  loop_.advance(seconds(10));
  const auto messages = said();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].report().telemetry().load_hundredths(), 42u);
  wire::ToAgent heard;
  heard.mutable_heard();
  deliver(heard);
  loop_.advance(seconds(30));
  EXPECT_TRUE(dialer_.is_open);
  EXPECT_EQ(dialer_.dials, 1);
  loop_.advance(seconds(11));
  EXPECT_EQ(dialer_.dials, 2);
  EXPECT_GT(said().back().session(), session_);
}

TEST_F(AgentTest, Reconnects_ever_more_slowly_and_at_once_again_after_a_welcome) {
  agent_->start();
  said();
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 7; ++i) {
    const int before = dialer_.dials;
    dialer_.handler->closed("gone");
    std::int64_t waited = 0;
    for (; dialer_.dials == before; waited += 50) loop_.advance(milliseconds(50));
    waits.push_back(waited);
  }
  EXPECT_EQ(waits, (std::vector<std::int64_t>{100, 200, 400, 800, 1600, 2000, 2000}));
  welcome();
  dialer_.handler->closed("gone");
  loop_.advance(milliseconds(100));
  EXPECT_EQ(dialer_.dials, 9);
}

TEST_F(AgentTest, Kill_signal_and_stop_reach_those_they_are_for) {
  start();
  deliver(launch(credential(7)));
  wire::ToAgent message;
  message.mutable_kill()->set_job_key(7);
  deliver(message);
  message.mutable_kill()->set_job_key(8);  // never launched here: it ends now, so that it never will be
  said();
  deliver(message);
  const auto attempts = reported();
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[1].state(), wire::AttemptStatus::ENDED);
  EXPECT_EQ(attempts[1].exit_signal(), 15u);
  deliver(launch(credential(8)));
  EXPECT_EQ(supervisors_.launched, std::vector<std::uint64_t>{7});
  EXPECT_EQ(supervisors_.killed, std::vector<std::uint64_t>{7});
  message.mutable_signal()->set_signal(10);
  deliver(message);
  EXPECT_EQ(supervisors_.signalled, std::vector<std::uint32_t>{10});
  message.mutable_suspend()->set_suspended(true);
  deliver(message);
  ASSERT_EQ(supervisors_.suspends.size(), 1u);
  EXPECT_TRUE(supervisors_.suspends[0].suspended());
  message.mutable_stop();
  deliver(message);
  EXPECT_TRUE(stopped_);
}

TEST_F(AgentTest, An_attempt_that_does_not_end_by_a_kill_is_told_of_once) {
  start();
  for (const std::uint64_t key : {7u, 8u}) deliver(launch(credential(key)));
  wire::ToAgent message;
  message.mutable_kill()->set_kill_wait_seconds(30);
  for (const std::uint64_t key : {7u, 8u}) {
    message.mutable_kill()->set_job_key(key);
    deliver(message);
  }
  supervisors_.tell(8, wire::AttemptStatus::ENDED);
  for (int beats = 0; beats < 12; ++beats) {  // two minutes, in which the controller goes on asking
    EXPECT_EQ(unkillable_.empty(), beats < 5) << beats;
    loop_.advance(seconds(10));
    message.mutable_kill()->set_job_key(7);
    deliver(message);
    deliver([] {
      wire::ToAgent heard;
      heard.mutable_heard();
      return heard;
    }());
  }
  EXPECT_EQ(unkillable_, std::vector<std::uint64_t>{7});
  loop_.advance(seconds(10));
  const auto attempts = reported();
  ASSERT_FALSE(attempts.empty());
  EXPECT_EQ(attempts.front().problem(), "Kill task failed");
}

TEST_F(AgentTest, Relay_carries_requests_with_the_proved_uid_and_refuses_when_the_controller_is_away) {
  std::vector<std::string> answers;
  const auto client = agent_->relay().open(1000, 100, [&](std::string bytes) { answers.push_back(std::move(bytes)); });
  wire::Request request;
  request.set_number(9);
  request.mutable_ping();
  agent_->relay().request(client, request.SerializeAsString());
  wire::Reply reply;
  ASSERT_EQ(answers.size(), 1u);
  ASSERT_TRUE(reply.ParseFromString(answers[0]));
  EXPECT_EQ(reply.number(), 9u);
  EXPECT_EQ(reply.failure().code(), 1800u);
  EXPECT_EQ(reply.failure().text(), "Unable to contact slurm controller (connect failure)");

  start();
  agent_->relay().request(client, request.SerializeAsString());
  const auto messages = said();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].relayed().uid(), 1000u);
  EXPECT_EQ(messages[0].relayed().gid(), 100u);
  EXPECT_EQ(messages[0].relayed().request(), request.SerializeAsString());

  wire::ToAgent back;
  reply.Clear();
  reply.set_number(9);
  reply.set_more(true);
  back.mutable_relayed()->set_client(client);
  back.mutable_relayed()->set_reply(reply.SerializeAsString());
  deliver(back);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1], reply.SerializeAsString());
  dialer_.handler->closed("gone");  // the last reply has not come
  ASSERT_EQ(answers.size(), 3u);
  ASSERT_TRUE(reply.ParseFromString(answers[2]));
  EXPECT_EQ(reply.failure().code(), 1800u);
  dialer_.handler->closed("again");
  agent_->relay().close(client);
  EXPECT_EQ(agent_->relay().clients(), 0u);
}

}  // namespace
}  // namespace millrace
