// src/controller/loop/node_reports_test.cpp - what nodes report of jobs, in whatever order and however odd.
#include <gtest/gtest.h>

#include "controller/controller_fixture.h"
#include "core/admission/accept_placement.h"
#include "core/admission/report_node.h"

namespace millrace {
namespace {

class NodeReportsTest : public ControllerTest {
 protected:
  NodeReportsTest() {
    nodes = "n[1-2]";
    manager = &silent;
  }

  JobKey run_job(std::vector<std::uint32_t> on, bool interactive = false) {
    const JobKey key = state.next_key;
    wire::SubmitJob ask = a_job(3);
    ask.mutable_job()->set_min_nodes(2);
    ask.mutable_job()->set_cpus_per_task(1);
    if (interactive) ask.mutable_job()->set_interactive(true);
    if (interactive) ask.mutable_job()->add_arguments("program");
    add_job(ask);
    for (std::uint32_t node = 0; node < 2; ++node)
      for (const Event& event : decide_register(state, {NodeIndex{node}, "boot", inventory}, start_of_test))
        apply(state, event);
    std::vector<NodeShare> shares;
    for (const std::uint32_t node : on) shares.push_back({NodeIndex{node}, Cpus{1}, {}, 1, false});
    for (const Event& event : decide_place(state, {key, Attempt{0}, shares, false}, start_of_test)) apply(state, event);
    return key;
  }
  static AttemptReport ended(JobKey key, std::optional<std::uint32_t> step = {}) {
    AttemptReport out;
    out.key = key;
    out.ended = true;
    out.end = AttemptEnd::exited;
    out.step = step;
    return out;
  }
  void report(const std::string& node, std::vector<AttemptReport> attempts) {
    controller->node_registered(
        silent, {.node = node, .boot_id = "boot", .inventory = inventory, .attempts = std::move(attempts)});
  }

  SilentNodes silent;
  Inventory inventory = [] {
    Inventory out;
    out.cpus = Cpus{8};
    out.memory = Mebibytes{1000};
    return out;
  }();
};

TEST_F(NodeReportsTest, Two_jobs_with_each_others_first_node_end) {
  const JobKey one = run_job({0, 1}), other = run_job({1, 0});
  start();
  ASSERT_EQ(controller->durable().job(one).state, JobState::running);
  ASSERT_EQ(controller->durable().job(other).state, JobState::running);
  report("n1", {ended(one), ended(other, 0)});
  report("n2", {ended(other), ended(one, 0)});
  report("n1", {ended(one), ended(other), ended(other, 0)});
  report("n2", {ended(other), ended(one), ended(one, 0)});
  run();
  EXPECT_EQ(controller->durable().job(one).state, JobState::ended);
  EXPECT_EQ(controller->durable().job(other).state, JobState::ended);
}

TEST_F(NodeReportsTest, What_there_is_no_room_for_on_the_way_to_a_node_is_to_come_again) {
  const JobKey key = run_job({0, 1});
  start();
  report("n1", {});
  silent.has_room = false;
  wire::Request step;
  step.mutable_create_step()->set_job_id(state.job(key).id.value);
  step.mutable_create_step()->mutable_step()->add_arguments("true");
  const wire::Reply waits = ask(UserId{1000}, step);
  EXPECT_TRUE(waits.step().ask_again()) << waits.failure().text();
  EXPECT_FALSE(waits.more()) << "nobody answers it any more";
  step.mutable_create_step()->set_immediate(true);
  EXPECT_EQ(ask(UserId{1000}, step).failure().code(), 2016u);
  wire::Request line;
  line.mutable_notify_job()->mutable_step()->mutable_job()->set_job_id(state.job(key).id.value);
  line.mutable_notify_job()->set_text("hello");
  EXPECT_EQ(ask(UserId{1000}, line).failure().code(), 2016u);
}

TEST_F(NodeReportsTest, A_line_for_a_job_does_not_steer_the_terminal_that_shows_it) {
  const JobKey key = run_job({0, 1});
  start();
  report("n1", {});
  wire::Request line;
  line.mutable_notify_job()->mutable_step()->mutable_job()->set_job_id(state.job(key).id.value);
  line.mutable_notify_job()->set_text(
      "gr\u00fcn \x1b[2J\xc2\x9b"
      "2J");
  EXPECT_TRUE(ask(UserId{1000}, line).has_done());
  EXPECT_EQ(silent.note,
            "gr\u00fcn \\x1b[2J\\xc2\\x9b"
            "2J");
  std::string many = "a";
  while (many.size() < 4093) many += "\u00fc";
  line.mutable_notify_job()->set_text("\x01" + many);
  EXPECT_TRUE(ask(UserId{1000}, line).has_done());
  EXPECT_TRUE(silent.note == "\\x01" + many.substr(0, 4091)) << "no letter is cut in two";
}

TEST_F(NodeReportsTest, A_step_is_to_be_asked_for_again_while_its_step_manager_has_not_come_back_to_this_controller) {
  const JobKey key = run_job({0, 1});
  start();
  wire::Request step;
  step.mutable_create_step()->set_job_id(state.job(key).id.value);
  step.mutable_create_step()->mutable_step()->add_arguments("true");
  const wire::Reply waits = ask(UserId{1000}, step);
  EXPECT_TRUE(waits.step().ask_again()) << waits.failure().text();
  EXPECT_FALSE(waits.more());
  step.mutable_create_step()->set_immediate(true);
  EXPECT_EQ(ask(UserId{1000}, step).failure().code(), 2016u);
}

TEST_F(NodeReportsTest, A_step_that_is_asked_for_again_and_again_is_one_request) {
  const JobKey key = run_job({0, 1});
  start();
  report("n1", {});
  std::size_t refused = 0;
  const ClientId client = sessions.accept_relayed(UserId{1000}, GroupId{1000}, [&](std::string frame) {
    wire::Reply reply;
    ASSERT_TRUE(reply.ParseFromString(frame));
    refused += reply.has_failure() ? 1 : 0;
  });
  wire::Request step;
  step.set_protocol(protocol_version);
  wire::CreateStep& ask = *step.mutable_create_step();
  ask.set_job_id(state.job(key).id.value);
  ask.mutable_step()->add_arguments("true");
  ask.mutable_step()->mutable_stdio()->set_secret("of this srun");
  const auto send = [&](std::uint64_t number) {
    step.set_number(number);
    sessions.relayed_message(client, step.SerializeAsString());
  };
  for (std::uint64_t number = 1; number <= 300; ++number) {
    send(number);
    world.step();
  }
  run();
  EXPECT_EQ(refused, 0u) << "the step manager has not answered, and only the last one counts";
  for (std::uint64_t number = 301; number <= 600; ++number) {
    ask.mutable_step()->mutable_stdio()->set_secret(std::to_string(number));
    send(number);
  }
  run();
  EXPECT_GT(refused, 0u) << "others are requests of their own";
}

TEST_F(NodeReportsTest, Attempts_that_a_node_invents_are_ended_some_at_a_time_and_not_kept) {
  const JobKey key = run_job({0, 1});
  start();
  std::vector<AttemptReport> invented;
  for (std::uint64_t key = 1000; key < 1000 + 60'000; ++key) invented.push_back(ended(JobKey{key}));
  report("n1", invented);
  EXPECT_GT(silent.forgets, 0u);
  EXPECT_LT(silent.forgets, 10'000u);
  for (AttemptReport& each : invented) each.ended = false;
  report("n1", invented);
  EXPECT_GT(silent.kills, 0u);
  EXPECT_LT(silent.kills, 10'000u);
  silent.kills = silent.forgets = 0;
  report("n1", {ended(key)});
  run();
  EXPECT_EQ(silent.kills, 0u);
  EXPECT_EQ(silent.forgets, 1u) << "what is there is forgotten when its end is durable";
}

TEST_F(NodeReportsTest, A_node_whose_devices_and_clock_change_all_the_time_is_judged_once_in_a_heartbeat) {
  run_job({0, 1});
  start();
  report("n1", {});
  run();
  const std::uint64_t before = log.written;
  const auto beat = [&](int i) {
    wire::Telemetry telemetry;
    telemetry.set_measured_at_us(loop.now().value + (i % 2 == 0 ? seconds(1000).value : 0));
    telemetry.add_devices()->set_name("gpu");
    telemetry.mutable_devices(0)->set_trouble("trouble " + std::to_string(i));
    controller->node_reported(silent, "n1", {}, telemetry);
  };
  beat(0);
  run();
  const std::uint64_t once = log.written - before;
  EXPECT_GT(once, 0u);
  for (int i = 1; i < 1000; ++i) beat(i);
  run();
  EXPECT_EQ(log.written - before, once);
  const Time later = world.now() + seconds(10);
  world.at(later, [] {});
  while (world.now() < later) world.step();
  beat(1001);
  run();
  EXPECT_GT(log.written - before, once);
  EXPECT_LT(log.written - before, 3 * once);
}

// What it had there is others'. Its tasks on other nodes may still ask for steps.
TEST_F(NodeReportsTest, A_step_is_not_launched_where_the_tasks_of_its_job_are_through) {
  const JobKey key = run_job({0, 1}, true);
  start();
  AttemptReport runs = ended(key);
  runs.ended = false;
  report("n1", {runs});
  report("n2", {ended(key)});
  run();
  ASSERT_EQ(controller->durable().job(key).state, JobState::running);
  silent.launched.clear();
  silent.told.clear();
  wire::StepFromNode word;
  word.set_job_key(key.value);
  word.set_node("n2");
  word.mutable_launch()->mutable_plan()->set_step(1);
  controller->step_manager_said(silent, "n1", word);
  EXPECT_TRUE(silent.launched.empty());
  ASSERT_EQ(silent.told.size(), 1u);
  EXPECT_EQ(silent.told[0].report().status().end(), wire::AttemptStatus::LAUNCH_FAILED);
  EXPECT_EQ(silent.told[0].report().node(), "n2");
}

TEST_F(NodeReportsTest, What_root_is_told_of_the_site_is_not_what_a_step_manager_on_another_node_says) {
  const JobKey key = run_job({0, 1});
  start();
  report("n1", {});
  report("n2", {});
  silent.launched.clear();
  wire::StepFromNode word;
  word.set_job_key(key.value);
  word.set_node("n2");
  wire::LaunchPlan& plan = *word.mutable_launch()->mutable_plan();
  plan.set_step(0);
  plan.set_config_path("/tmp/mine.conf");
  plan.set_cluster("mine");
  plan.set_task_prolog("/tmp/mine");
  plan.set_partition("mine");
  controller->step_manager_said(silent, "n1", word);
  ASSERT_EQ(silent.launched.size(), 1u);
  EXPECT_EQ(silent.launched[0].config_path(), ControllerSettings{}.cluster.config_path);
  EXPECT_EQ(silent.launched[0].cluster(), ControllerSettings{}.cluster.cluster_name);
  EXPECT_EQ(silent.launched[0].task_prolog(), "");
  EXPECT_EQ(silent.launched[0].partition(), "p");
}

TEST_F(NodeReportsTest, A_step_manager_has_so_many_steps_on_another_node_and_no_more) {
  const JobKey key = run_job({0, 1});
  start();
  report("n1", {});
  report("n2", {});
  silent.launched.clear();
  wire::StepFromNode word;
  word.set_job_key(key.value);
  word.set_node("n2");
  for (std::uint32_t step = 0; step < 3000; ++step) {
    word.mutable_launch()->mutable_plan()->set_step(step);
    controller->step_manager_said(silent, "n1", word);
  }
  EXPECT_EQ(silent.launched.size(), 1024u);
}

}  // namespace
}  // namespace millrace
