// src/step/step_manager/step_manager_test.cpp - what a step manager tells of steps and how long, whom it refuses, how
// it ends.
#include "step/step_manager/step_manager.h"

#include <csignal>
#include <map>
#include <set>

#include "step/step_manager/step_manager_harness.h"

namespace millrace {
namespace {

TEST_F(StepManagerTest, Tells_of_starts_and_ends_until_they_are_heard) {
  wire::StepRequest request = request_of(1);
  request.mutable_ask()->set_srun_pid(4711);
  EXPECT_EQ(create(request), 0u);
  EXPECT_EQ(journal_, (std::vector<std::uint32_t>{0}));
  pass(FactQueue::gather_us);
  auto facts = next_facts();
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->facts_size(), 1);
  EXPECT_EQ(facts->facts(0).name(), "solver") << "a step without a name of its own has its program's";
  EXPECT_EQ(facts->facts(0).nodes(), "c1");
  EXPECT_EQ(facts->facts(0).srun_pid(), 4711u);
  EXPECT_EQ(facts->facts(0).started_at_us(), now_us_ - FactQueue::gather_us + 1'700'000'000 * second);
  EXPECT_FALSE(facts->facts(0).ended());
  pass(manager().due_us() - now_us_);
  EXPECT_FALSE(next_facts()) << "its launch goes out again first";
  pass(FactQueue::answer_patience_us);
  facts = next_facts();
  ASSERT_TRUE(facts) << "nobody has said that it was heard";
  facts_heard(facts->number());
  runs(0);
  EXPECT_EQ(manager().due_us(), INT64_MAX);
  ends(0, 3);
  EXPECT_EQ(next_reply()->news().kind(), wire::StepNews::ENDED);
  pass(FactQueue::gather_us);
  facts = next_facts();
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->facts(0).ended());
  EXPECT_EQ(facts->facts(0).exit_code(), 3u);
  EXPECT_EQ(facts->facts(0).usage().user_us(), 250);
  EXPECT_EQ(manager().unheard_facts().size(), 1u) << "they go with the end of the attempt";
  facts_heard(facts->number());
  EXPECT_TRUE(manager().unheard_facts().empty());
}

TEST_F(StepManagerTest, Whoever_wants_its_step_in_the_log_hears_that_it_is_created_when_it_is) {
  wire::StepRequest request = request_of(1);
  request.mutable_ask()->set_recorded(true);
  ask(request);
  pass(0);
  const auto facts = next_facts();
  ASSERT_TRUE(facts) << "somebody waits for it";
  EXPECT_FALSE(next_reply());
  facts_heard(facts->number());
  EXPECT_EQ(next_reply()->news().kind(), wire::StepNews::CREATED);
}

TEST_F(StepManagerTest, Waits_a_moment_for_the_end_of_a_step_that_is_on_its_way) {
  create(request_of(1));
  manager().end();
  EXPECT_FALSE(manager().is_over());
  ends(0, 0);
  EXPECT_TRUE(manager().is_over());
  EXPECT_TRUE(fact_of(0).ended());
  EXPECT_EQ(fact_of(0).end(), wire::StepFact::EXITED);
  manager().stop();
  EXPECT_EQ(manager().due_us(), INT64_MAX);
}

TEST_F(StepManagerTest, A_step_left_running_is_killed_and_its_end_waited_for) {
  create(request_of(1));
  manager().end();
  const auto is_kill = [](const wire::StepFromNode& message) { return message.has_kill(); };
  pass(second - 1);
  EXPECT_FALSE(next(is_kill));
  pass(1);
  EXPECT_EQ(next(is_kill)->kill().why(), wire::Kill::NOT_WANTED);
  ends(0, 0, SIGTERM);
  EXPECT_TRUE(manager().is_over());
  EXPECT_EQ(fact_of(0).end(), wire::StepFact::CANCELLED);
}

TEST_F(StepManagerTest, One_whose_end_is_never_told_does_not_keep_the_attempt) {
  create(request_of(1));
  manager().end();
  pass(second);
  pass(34 * second);
  EXPECT_FALSE(manager().is_over());
  pass(second);
  EXPECT_TRUE(manager().is_over());
  EXPECT_FALSE(fact_of(0).ended());
}

TEST_F(StepManagerTest, What_is_killed_with_the_attempt_is_waited_for_and_nothing_begins_any_more) {
  create(request_of(1));
  manager().close();
  ask(request_of(2));
  EXPECT_EQ(next_reply()->failure().code(), 2021u);
  manager().end();
  pass(10 * second);
  EXPECT_FALSE(next([](const wire::StepFromNode& message) { return message.has_kill(); })) << "its agent does it";
  ends(0, 0, SIGTERM);
  EXPECT_TRUE(manager().is_over());
  EXPECT_EQ(fact_of(0).end(), wire::StepFact::CANCELLED);
}

// --no-kill of the job. A step that was not started with it ends everywhere, one that was goes on.
TEST_F(StepManagerTest, Ends_on_a_node_that_failed_what_ran_there) {
  have_nodes("c[1-2]", 2);
  wire::StepRequest second_request = request_of(2);
  second_request.mutable_ask()->mutable_step()->mutable_extras()->set_no_kill(true);
  const std::uint32_t fragile = create(request_of(1)), hardy = create(second_request);
  wire::StepToNode message;
  message.mutable_lost()->add_nodes("c2");
  manager().hear(message);
  manager().hear(message);  // told again
  std::map<std::uint32_t, std::vector<std::uint32_t>> lost;
  std::set<std::uint32_t> killed;
  for (const wire::StepFromNode& word : std::exchange(said_, {})) {
    if (const wire::StepNews& news = word.reply().news(); news.kind() == wire::StepNews::NODE_LOST) {
      EXPECT_EQ(news.nodes(), "c2");
      const std::vector<std::uint32_t> tasks{news.lost_tasks().begin(), news.lost_tasks().end()};
      EXPECT_TRUE(lost.emplace(news.step_id(), tasks).second) << "told twice";
    }
    if (!word.has_kill()) continue;
    EXPECT_EQ(word.kill().why(), wire::Kill::NODE_FAILED);
    EXPECT_EQ(word.node(), "c1");
    killed.insert(word.kill().step());
  }
  EXPECT_EQ(lost[fragile], (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(lost[hardy], (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(killed, (std::set<std::uint32_t>{fragile}));
  ends(fragile, 0, SIGTERM);
  ends(hardy, 0);
  EXPECT_EQ(fact_of(fragile).end(), wire::StepFact::LOST);
  EXPECT_EQ(fact_of(hardy).end(), wire::StepFact::EXITED);
  EXPECT_EQ(fact_of(hardy).exit_signal(), 9u) << "the task that was there counts as killed";
}

// scontrol update NumNodes=: nothing failed, so srun has nothing to complain of, and the step counts as cancelled.
TEST_F(StepManagerTest, Ends_on_a_node_that_the_job_gave_up_what_ran_there) {
  have_nodes("c[1-2]", 2);
  const std::uint32_t step = create(request_of(1));
  wire::StepToNode message;
  message.mutable_lost()->add_nodes("c2");
  message.mutable_lost()->add_given_up("c2");
  manager().hear(message);
  EXPECT_TRUE(next_reply()->news().given_up());
  const auto kill = next([](const wire::StepFromNode& one) { return one.has_kill(); });
  ASSERT_TRUE(kill);
  EXPECT_EQ(kill->kill().why(), wire::Kill::CANCELLED_BY_USER);
  EXPECT_EQ(kill->node(), "c1");
  ends(step, 0, SIGTERM);
  EXPECT_EQ(fact_of(step).end(), wire::StepFact::CANCELLED);
}

TEST_F(StepManagerTest, Signals_of_the_user_go_to_the_nodes_of_the_step) {
  create(request_of(1));
  const auto signal = [&](std::uint32_t step, std::uint32_t number, std::uint32_t uid) {
    said_.clear();
    wire::StepToNode message;
    message.mutable_signal()->set_step(step);
    message.mutable_signal()->set_signal(number);
    message.mutable_signal()->set_uid(uid);
    manager().hear(message);
    return said_.front();
  };
  const wire::StepFromNode said = signal(0, SIGUSR1, user);
  EXPECT_EQ(said.signal().signal(), static_cast<std::uint32_t>(SIGUSR1));
  EXPECT_EQ(said.node(), "c1");
  EXPECT_TRUE(next_reply()->done());
  EXPECT_EQ(signal(5, SIGUSR1, user).reply().failure().code(), 2017u);
  EXPECT_EQ(signal(0, 0, user + 1).reply().failure().code(), 2002u);
  EXPECT_TRUE(signal(0, 0, user).has_kill());
  EXPECT_TRUE(next_reply()->done());
  ends(0, 0);
  EXPECT_EQ(fact_of(0).end(), wire::StepFact::CANCELLED);
  EXPECT_EQ(fact_of(0).cancelled_by(), user);
  EXPECT_EQ(signal(0, 0, user).reply().failure().code(), 2021u);
}

TEST_F(StepManagerTest, A_step_that_has_to_wait_is_told_so_unless_it_gets_its_turn_soon) {
  for (const std::uint64_t client : {1, 2, 3}) {
    if (client == 3) ends(0, 0);
    wire::StepRequest request = request_of(client);
    request.mutable_ask()->set_overlap(false);
    ask(request);
  }
  pass(200'000);
  std::vector<std::string> said;
  while (const auto reply = next_reply())
    said.push_back(std::to_string(reply->client()) + ' ' + wire::StepNews::Kind_Name(reply->news().kind()));
  EXPECT_EQ(said, (std::vector<std::string>{"1 CREATED", "1 ENDED", "2 CREATED", "3 WAITING"}));
  manager().close();
  EXPECT_EQ(next_reply()->failure().code(), 2021u);
}

TEST_F(StepManagerTest, Steps_have_ports_of_their_job_each_its_own) {
  const auto ask_for = [&](std::uint64_t client, std::uint32_t count) {
    wire::StepRequest request = request_of(client);
    request.mutable_ask()->set_resv_ports(count);
    request.mutable_ask()->set_job_ports("100-103");
    ask(request);
    const auto reply = next_reply();
    return reply.value_or(wire::StepReply{});
  };
  EXPECT_EQ(ask_for(1, 5).failure().code(), 2060u);
  EXPECT_EQ(ask_for(2, 3).news().kind(), wire::StepNews::CREATED);
  EXPECT_EQ(fact_of(0).ports(), "100-102");
  EXPECT_FALSE(ask_for(3, 2).has_news()) << "one is left";
  EXPECT_EQ(ask_for(4, 1).news().kind(), wire::StepNews::CREATED);
  EXPECT_EQ(fact_of(1).ports(), "103");
  ends(0, 0);
  EXPECT_EQ(next_reply()->news().kind(), wire::StepNews::ENDED);
  const auto then = next_reply();
  EXPECT_EQ(std::pair(then->client(), then->news().kind()), std::pair(std::uint64_t{3}, wire::StepNews::CREATED));
  EXPECT_EQ(fact_of(2).ports(), "100-101");
}

// A part of a step over several components: prepared, told its place, launched with it; or dropped when its srun has
// left.
TEST_F(StepManagerTest, Part_of_a_greater_step_starts_when_its_place_is_known) {
  wire::StepRequest request = request_of(1);
  request.mutable_ask()->set_prepare(true);
  request.mutable_ask()->set_least_id(4);
  const auto say = [&](std::uint64_t number) {
    request.set_number(number);
    ask(request);
    return next_reply().value_or(wire::StepReply{});
  };
  const auto is_launch = [](const wire::StepFromNode& message) { return message.has_launch(); };
  wire::StepReply reply = say(1);
  EXPECT_TRUE(reply.news().prepared());
  EXPECT_EQ(reply.news().step_id(), 4u);
  EXPECT_EQ(reply.news().nodes(), "c1");
  EXPECT_EQ(reply.news().tasks_per_node_size(), 1);
  reply = say(2);  // srun shows that it is still there
  EXPECT_TRUE(reply.news().prepared() && reply.number() == 2 && reply.news().step_id() == 4);
  EXPECT_FALSE(next(is_launch));
  wire::PartOfStep& part = *request.mutable_ask()->mutable_part();
  part.set_first_task(3);
  part.set_first_node(2);
  part.set_nodes("a1,a2,c1");
  for (const std::uint32_t tasks : {1u, 2u, 1u}) part.add_tasks_per_node(tasks), part.add_cpus_per_node(1);
  part.set_tasks(4);
  reply = say(2);
  EXPECT_TRUE(reply.news().kind() == wire::StepNews::CREATED && !reply.news().prepared());
  const auto launch = next(is_launch);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->launch().plan().node_position(), 2u);
  EXPECT_EQ(launch->launch().plan().ranks(0), 3u);
  wire::StepToNode left;
  left.mutable_left()->set_client(1);
  manager().hear(left);  // it runs: srun's streams decide
  ends(4, 0);
  EXPECT_EQ(next_reply()->news().kind(), wire::StepNews::ENDED);
  EXPECT_EQ(say(3).news().kind(), wire::StepNews::CREATED) << "srun had not heard of it";
  reply = *next_reply();
  EXPECT_TRUE(reply.news().kind() == wire::StepNews::ENDED && reply.news().step_id() == 4 && reply.number() == 3)
      << "it does not run twice";

  request.mutable_ask()->clear_part();
  request.mutable_ask()->mutable_step()->mutable_stdio()->set_secret("another");
  EXPECT_EQ(say(3).news().step_id(), 5u) << "the wanted number was used";
  manager().hear(left);
  reply = *next_reply();
  EXPECT_TRUE(reply.news().kind() == wire::StepNews::ENDED && reply.news().step_id() == 5);
  request.mutable_ask()->mutable_part()->set_tasks(1);
  EXPECT_EQ(say(3).failure().code(), 2021u) << "what was dropped cannot be started";
}

TEST_F(StepManagerTest, A_part_whose_srun_is_not_heard_of_for_long_gives_back_its_room) {
  wire::StepRequest request = request_of(1);
  request.mutable_ask()->set_overlap(false);
  request.mutable_ask()->set_prepare(true);
  create(request);
  pass(60 * second);
  ask(request);
  pass(119 * second);
  wire::StepRequest other = request_of(2);
  other.mutable_ask()->set_overlap(false);
  ask(other);
  EXPECT_TRUE(next_reply()->news().prepared());
  EXPECT_FALSE(next_reply());
  pass(second);
  EXPECT_EQ(next_reply()->news().kind(), wire::StepNews::ENDED);
  EXPECT_EQ(next_reply()->news().kind(), wire::StepNews::CREATED);
}

TEST_F(StepManagerTest, A_step_is_warned_and_ended_in_time_which_it_does_not_use_while_suspended) {
  wire::StepRequest request = request_of(1);
  request.mutable_ask()->mutable_step()->set_time_limit_minutes(2);
  wire::JobSignal& warning = *request.mutable_ask()->mutable_step()->mutable_step_options()->mutable_signal();
  warning.set_signal(SIGUSR1);
  warning.set_seconds(20);
  create(request);
  runs(0);
  const auto is_signal = [](const wire::StepFromNode& message) { return message.has_signal(); };
  const auto is_kill = [](const wire::StepFromNode& message) { return message.has_kill(); };
  manager().suspend(true);
  pass(1000 * second);
  manager().suspend(false);
  pass(99 * second);
  EXPECT_FALSE(next(is_signal));
  pass(second);
  EXPECT_TRUE(next(is_signal)->signal().before_end());
  pass(20 * second);
  EXPECT_EQ(next(is_kill)->kill().why(), wire::Kill::TIME_LIMIT);
  pass(second);
  EXPECT_FALSE(next(is_kill));
  pass(4 * second);
  EXPECT_TRUE(next(is_kill)) << "whoever should have passed it on may have been away";
  ends(0, 0, SIGTERM);
  EXPECT_EQ(fact_of(0).end(), wire::StepFact::TIMED_OUT);
}

TEST_F(StepManagerTest, A_limit_is_changed_by_its_user_and_counts_from_the_start) {
  create(request_of(1));
  runs(0);
  pass(90 * second);
  wire::StepToNode message;
  message.mutable_update()->set_time_limit_minutes(1);
  message.mutable_update()->set_uid(user + 1);
  manager().hear(message);
  EXPECT_EQ(next_reply()->failure().code(), 2002u);
  message.mutable_update()->set_uid(user);
  manager().hear(message);
  EXPECT_TRUE(next_reply()->done());
  EXPECT_EQ(fact_of(0).time_limit_minutes(), 1u);
  pass(0);
  EXPECT_TRUE(next([](const wire::StepFromNode& one) { return one.has_kill(); }));
}

TEST_F(StepManagerTest, A_step_that_cannot_be_launched_on_one_node_ends_on_all_and_says_why) {
  have_nodes("c[1-2]", 2);
  create(request_of(1));
  wire::AttemptStatus failed;
  failed.set_state(wire::AttemptStatus::ENDED);
  failed.set_end(wire::AttemptStatus::LAUNCH_FAILED);
  failed.set_problem("no such program");
  report(0, "c2", failed);
  report(0, "c2", failed);
  const auto kill = next([](const wire::StepFromNode& one) { return one.has_kill(); });
  ASSERT_TRUE(kill);
  EXPECT_EQ(kill->node(), "c1");
  ends(0, 0, SIGTERM);
  EXPECT_EQ(next_reply()->news().problem(), "c2: no such program");
  EXPECT_EQ(fact_of(0).end(), wire::StepFact::NOT_LAUNCHED);
}

}  // namespace
}  // namespace millrace
