// src/step/keeper_facts_test.cpp - the real supervisor as keeper, with the test in the agent's place: what it tells of
// steps, how long, and what it has measured.
#include <map>
#include <set>

#include "step/supervisor_harness.h"

namespace millrace {
namespace {

class KeeperTest : public SupervisorTest {
 protected:
  // The next thing it says that is not about launches and forgetting.
  std::optional<wire::FromStep> next_word() {
    for (;;) {
      const auto bytes = reader_.next();
      if (bytes && *bytes) {
        wire::FromStep message;
        EXPECT_TRUE(message.ParseFromArray((*bytes)->data(), static_cast<int>((*bytes)->size())));
        if (message.step().has_launch() || message.step().has_forget()) continue;
        return message;
      }
      char buffer[4096];
      if (!wait_readable(fd_)) return std::nullopt;
      const ssize_t count = read(fd_, buffer, sizeof buffer);
      if (count <= 0) return std::nullopt;
      reader_.feed({buffer, static_cast<std::size_t>(count)});
    }
  }
  wire::ToStep to_keeper() {
    wire::ToStep message;
    message.mutable_step()->set_job_key(7);
    return message;
  }
  std::uint32_t create_step(const char* program, bool no_kill = false) {
    wire::ToStep message = to_keeper();
    wire::StepRequest& request = *message.mutable_step()->mutable_request();
    request.set_client(1);
    request.set_number(1);
    request.set_uid(order_.identity().uid());
    request.mutable_ask()->mutable_step()->set_name("test");  // the job's
    request.mutable_ask()->mutable_step()->set_command(program);
    request.mutable_ask()->mutable_step()->add_arguments(program);
    request.mutable_ask()->set_overlap(true);
    request.mutable_ask()->set_srun_pid(4711);
    if (no_kill) request.mutable_ask()->mutable_step()->mutable_extras()->set_no_kill(true);
    send(message);
    auto word = next_word();
    while (word && word->step().has_facts()) word = next_word();  // of a step before
    EXPECT_TRUE(word && word->step().reply().news().kind() == wire::StepNews::CREATED);
    return word ? word->step().reply().news().step_id() : 99;
  }
  void end_step(std::uint32_t id, std::uint32_t code, std::uint32_t signal = 0) {
    wire::ToStep message = to_keeper();
    wire::StepReport& report = *message.mutable_step()->mutable_report();
    report.set_node("c1");
    report.mutable_status()->set_job_key(7);
    report.mutable_status()->set_step(id);
    report.mutable_status()->set_state(wire::AttemptStatus::ENDED);
    report.mutable_status()->set_end(wire::AttemptStatus::EXITED);
    report.mutable_status()->set_exit_code(code);
    report.mutable_status()->set_exit_signal(signal);
    report.mutable_status()->mutable_usage()->set_user_us(250);
    send(message);
  }
  void hear(std::uint64_t number) {
    wire::ToStep message = to_keeper();
    message.mutable_step()->mutable_facts_heard()->set_number(number);
    send(message);
  }
  void begin(const std::string& body) {
    script(body);
    start();
  }
};

TEST_F(KeeperTest, Tells_of_starts_and_ends_until_they_are_heard) {
  Fifo gate(work_ + "/gate");
  begin("read line < gate; exit 0");
  EXPECT_EQ(create_step("/usr/bin/solver"), 0u);
  auto word = next_word();
  ASSERT_TRUE(word && word->step().has_facts());
  ASSERT_EQ(word->step().facts().facts_size(), 1);
  EXPECT_EQ(word->step().facts().facts(0).name(), "solver") << "a step without a name of its own has its program's";
  EXPECT_EQ(word->step().facts().facts(0).nodes(), "c1");
  EXPECT_EQ(word->step().facts().facts(0).srun_pid(), 4711u);
  EXPECT_FALSE(word->step().facts().facts(0).ended());
  hear(word->step().facts().number());
  end_step(0, 3);
  word = next_word();  // srun hears of it
  ASSERT_TRUE(word && word->step().reply().news().kind() == wire::StepNews::ENDED);
  word = next_word();
  ASSERT_TRUE(word && word->step().has_facts());
  EXPECT_TRUE(word->step().facts().facts(0).ended());
  EXPECT_EQ(word->step().facts().facts(0).exit_code(), 3u);
  EXPECT_EQ(word->step().facts().facts(0).usage().user_us(), 250);
  // Nobody says that it was heard: it goes with the end of the attempt.
  gate.say("go\n");
  const wire::AttemptStatus status = end();
  ASSERT_EQ(status.steps_size(), 1);
  EXPECT_TRUE(status.steps(0).ended());
  ASSERT_TRUE(recorded_end());
  EXPECT_EQ(recorded_end()->steps_size(), 1);
}

TEST_F(KeeperTest, Waits_a_moment_for_the_end_of_a_step_that_is_on_its_way) {
  Fifo gate(work_ + "/gate");
  begin("read line < gate; exit 0");
  EXPECT_EQ(create_step("true"), 0u);
  const auto task = state_words("task");
  ASSERT_GE(task.size(), 2u);
  const int script_process = static_cast<int>(syscall(SYS_pidfd_open, std::stoi(task[1]), 0));
  ASSERT_GE(script_process, 0);
  auto word = next_word();
  ASSERT_TRUE(word && word->step().has_facts());
  hear(word->step().facts().number());
  gate.say("go\n");
  ASSERT_TRUE(wait_readable(script_process)) << "the script does not end";
  close(script_process);
  end_step(0, 0);
  for (word = next_word(); word && !word->has_status(); word = next_word()) continue;
  ASSERT_TRUE(word);
  EXPECT_EQ(word->status().state(), wire::AttemptStatus::ENDED);
  ASSERT_EQ(word->status().steps_size(), 1);
  EXPECT_TRUE(word->status().steps(0).ended());
  wait_exit();
}

// --no-kill of the job. A step that was not started with it ends everywhere, one that was goes on.
TEST_F(KeeperTest, Ends_on_a_node_that_failed_what_ran_there) {
  wire::LaunchPlan& plan = *order_.mutable_run();
  plan.set_nodes("c[1-2]");
  plan.clear_cpus_per_node();
  for (int i = 0; i < 2; ++i) plan.add_cpus_per_node(1);
  Fifo gate(work_ + "/gate");
  begin("read line < gate; exit 0");
  const std::uint32_t fragile = create_step("solver"), hardy = create_step("solver", true);
  wire::ToStep message = to_keeper();
  message.mutable_step()->mutable_lost()->add_nodes("c2");
  send(message);
  send(message);  // told again
  std::map<std::uint32_t, std::vector<std::uint32_t>> lost;
  std::set<std::uint32_t> killed;
  for (std::optional<wire::FromStep> word; lost.size() < 2 || killed.empty();) {
    word = next_word();
    ASSERT_TRUE(word);
    if (const wire::StepNews& news = word->step().reply().news(); news.kind() == wire::StepNews::NODE_LOST) {
      EXPECT_EQ(news.nodes(), "c2");
      EXPECT_TRUE(
          lost.emplace(news.step_id(), std::vector<std::uint32_t>{news.lost_tasks().begin(), news.lost_tasks().end()})
              .second)
          << "told twice";
    }
    if (word->step().has_kill()) {
      EXPECT_EQ(word->step().kill().why(), wire::Kill::NODE_FAILED);
      EXPECT_EQ(word->step().node(), "c1");
      killed.insert(word->step().kill().step());
    }
  }
  EXPECT_EQ(lost[fragile], (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(lost[hardy], (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(killed, (std::set<std::uint32_t>{fragile}));
  end_step(fragile, 0, SIGTERM);
  end_step(hardy, 0);
  gate.say("go\n");
  std::optional<wire::FromStep> word;
  for (word = next_word(); word && word->status().state() != wire::AttemptStatus::ENDED; word = next_word()) continue;
  ASSERT_TRUE(word);
  wait_exit();
  std::map<std::uint32_t, wire::StepFact> ends;
  for (const wire::StepFact& fact : word->status().steps())
    if (fact.ended()) ends[fact.id()] = fact;
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[fragile].end(), wire::StepFact::LOST);
  EXPECT_EQ(ends[hardy].end(), wire::StepFact::EXITED);
  EXPECT_EQ(ends[hardy].exit_signal(), 9u) << "the task that was there counts as killed";
}

// scontrol update NumNodes=: nothing failed, so srun has nothing to complain of, and the step counts as cancelled.
TEST_F(KeeperTest, Ends_on_a_node_that_the_job_gave_up_what_ran_there) {
  wire::LaunchPlan& plan = *order_.mutable_run();
  plan.set_nodes("c[1-2]");
  plan.clear_cpus_per_node();
  for (int i = 0; i < 2; ++i) plan.add_cpus_per_node(1);
  Fifo gate(work_ + "/gate");
  begin("read line < gate; exit 0");
  const std::uint32_t step = create_step("solver");
  wire::ToStep message = to_keeper();
  message.mutable_step()->mutable_lost()->add_nodes("c2");
  message.mutable_step()->mutable_lost()->add_given_up("c2");
  send(message);
  bool told = false, killed = false;
  while (!told || !killed) {
    const auto word = next_word();
    ASSERT_TRUE(word);
    if (const wire::StepNews& news = word->step().reply().news(); news.kind() == wire::StepNews::NODE_LOST)
      told = news.given_up();
    if (!word->step().has_kill()) continue;
    EXPECT_EQ(word->step().kill().why(), wire::Kill::CANCELLED_BY_USER);
    EXPECT_EQ(word->step().node(), "c1");
    killed = true;
  }
  end_step(step, 0, SIGTERM);
  gate.say("go\n");
  std::optional<wire::FromStep> word;
  for (word = next_word(); word && word->status().state() != wire::AttemptStatus::ENDED; word = next_word()) continue;
  ASSERT_TRUE(word);
  wait_exit();
  const auto end = std::ranges::find_if(word->status().steps(),
                                        [&](const wire::StepFact& fact) { return fact.ended() && fact.id() == step; });
  ASSERT_NE(end, word->status().steps().end());
  EXPECT_EQ(end->end(), wire::StepFact::CANCELLED);
}

TEST_F(KeeperTest, A_step_left_running_is_killed_and_its_end_waited_for) {
  Fifo gate(work_ + "/gate");
  begin("read line < gate; exit 0");
  create_step("sleep");
  gate.say("go\n");
  std::optional<wire::FromStep> word;
  for (word = next_word(); word && !word->step().has_kill(); word = next_word()) continue;
  ASSERT_TRUE(word);
  EXPECT_EQ(word->step().kill().why(), wire::Kill::NOT_WANTED);
  end_step(0, 0, SIGTERM);
  for (word = next_word(); word && !word->has_status(); word = next_word()) continue;
  ASSERT_TRUE(word);
  ASSERT_EQ(word->status().steps_size(), 1);
  EXPECT_EQ(word->status().steps(0).end(), wire::StepFact::CANCELLED);
  wait_exit();
}

TEST_F(KeeperTest, One_whose_end_is_never_told_does_not_keep_the_attempt) {
  Fifo gate(work_ + "/gate");
  order_.mutable_run()->set_kill_wait_seconds(0);
  begin("read line < gate; exit 0");
  create_step("sleep");
  gate.say("go\n");
  std::optional<wire::FromStep> word;
  for (word = next_word(); word && !word->has_status(); word = next_word()) continue;
  ASSERT_TRUE(word);
  EXPECT_EQ(word->status().state(), wire::AttemptStatus::ENDED);
  wait_exit();
}

TEST_F(KeeperTest, Signals_of_the_user_go_to_the_nodes_of_the_step) {
  Fifo gate(work_ + "/gate");
  begin("read line < gate; exit 0");
  create_step("true");
  const auto signal = [&](std::uint32_t step, std::uint32_t number, std::uint32_t uid) {
    wire::ToStep message = to_keeper();
    message.mutable_step()->mutable_signal()->set_step(step);
    message.mutable_step()->mutable_signal()->set_signal(number);
    message.mutable_step()->mutable_signal()->set_uid(uid);
    send(message);
    auto word = next_word();
    while (word && word->step().has_facts()) word = next_word();
    return word ? word->step() : wire::StepFromNode{};
  };
  const std::uint32_t owner = order_.identity().uid();
  wire::StepFromNode said = signal(0, SIGUSR1, owner);
  EXPECT_EQ(said.signal().signal(), static_cast<std::uint32_t>(SIGUSR1));
  EXPECT_EQ(said.node(), "c1");
  EXPECT_TRUE(next_word()->step().reply().done());
  EXPECT_EQ(signal(5, SIGUSR1, owner).reply().failure().code(), 2017u);
  EXPECT_EQ(signal(0, 0, owner + 1).reply().failure().code(), 2002u);
  said = signal(0, 0, owner);
  EXPECT_TRUE(said.has_kill());
  EXPECT_TRUE(next_word()->step().reply().done());
  end_step(0, 0);
  auto word = next_word();
  while (word && !(word->step().has_facts() && word->step().facts().facts(0).ended())) {
    if (word->step().has_facts()) hear(word->step().facts().number());
    word = next_word();
  }
  ASSERT_TRUE(word);
  EXPECT_EQ(word->step().facts().facts(0).end(), wire::StepFact::CANCELLED);
  EXPECT_EQ(word->step().facts().facts(0).cancelled_by(), owner);
  EXPECT_EQ(signal(0, 0, owner).reply().failure().code(), 2021u);
  gate.say("go\n");
  end();
}

TEST_F(KeeperTest, A_step_that_has_to_wait_is_told_so_unless_it_gets_its_turn_soon) {
  Fifo gate(work_ + "/gate");
  begin("read line < gate; exit 0");
  wire::ToStep message = to_keeper();
  const auto ask = [&](std::uint64_t client) {
    wire::StepRequest& request = *message.mutable_step()->mutable_request();
    request.set_client(client);
    request.set_uid(order_.identity().uid());
    request.mutable_ask()->mutable_step()->set_command("true");
    request.mutable_ask()->mutable_step()->mutable_stdio()->set_secret(std::to_string(client));
    send(message);
  };
  ask(1);
  ask(2);
  end_step(0, 0);
  ask(3);
  std::vector<std::string> said;
  while (said.size() < 4) {
    const auto word = next_word();
    ASSERT_TRUE(word);
    if (word->step().has_reply())
      said.push_back(std::to_string(word->step().reply().client()) + ' ' +
                     wire::StepNews::Kind_Name(word->step().reply().news().kind()));
  }
  EXPECT_EQ(said, (std::vector<std::string>{"1 CREATED", "1 ENDED", "2 CREATED", "3 WAITING"}));
  kill_attempt(wire::Kill::CANCELLED_BY_USER, 0);
  end_step(1, 0, SIGTERM);  // with its job
  for (auto word = next_word(); word && !word->has_status(); word = next_word()) continue;
  wait_exit();
}

TEST_F(KeeperTest, Steps_have_ports_of_their_job_each_its_own) {
  Fifo gate(work_ + "/gate");
  begin("read line < gate; exit 0");
  wire::ToStep message = to_keeper();
  const auto ask = [&](std::uint64_t client, std::uint32_t count, const std::string& of_job) {
    wire::StepRequest& request = *message.mutable_step()->mutable_request();
    request.set_client(client);
    request.set_uid(order_.identity().uid());
    request.mutable_ask()->mutable_step()->set_command("true");
    request.mutable_ask()->mutable_step()->mutable_stdio()->set_secret(std::to_string(client));
    request.mutable_ask()->set_overlap(true);
    request.mutable_ask()->set_recorded(true);
    request.mutable_ask()->set_resv_ports(count);
    request.mutable_ask()->set_job_ports(of_job);
    send(message);
  };
  std::map<std::uint32_t, std::string> ports;
  // Told when its facts are heard: by then whoever looks for the step finds it.
  const auto next_reply = [&](bool hears = true) -> wire::StepReply {
    for (auto word = next_word(); word; word = next_word()) {
      if (word->step().has_reply()) return word->step().reply();
      if (!word->step().has_facts()) continue;
      for (const wire::StepFact& fact : word->step().facts().facts()) ports[fact.id()] = fact.ports();
      if (hears) hear(word->step().facts().number());
    }
    return {};
  };
  ask(1, 5, "100-103");
  EXPECT_EQ(next_reply().failure().code(), 2060u);
  ask(2, 3, "100-103");
  EXPECT_EQ(next_reply().news().kind(), wire::StepNews::CREATED);
  EXPECT_EQ(ports[0], "100-102");
  ask(3, 2, "100-103");
  const wire::StepReply waits = next_reply();
  EXPECT_EQ(std::pair(waits.client(), waits.news().kind()), std::pair(std::uint64_t{3}, wire::StepNews::WAITING))
      << "one is left";
  ask(4, 1, "100-103");
  EXPECT_EQ(next_reply().client(), 4u);
  EXPECT_EQ(ports[1], "103");
  end_step(0, 0);
  EXPECT_EQ(next_reply().news().kind(), wire::StepNews::ENDED);
  const wire::StepReply then = next_reply();
  EXPECT_EQ(std::pair(then.client(), then.news().kind()), std::pair(std::uint64_t{3}, wire::StepNews::CREATED));
  EXPECT_EQ(ports[2], "100-101");
  kill_attempt(wire::Kill::CANCELLED_BY_USER, 0);
  end_step(1, 0, SIGTERM);
  end_step(2, 0, SIGTERM);
  for (auto word = next_word(); word && !word->has_status(); word = next_word()) continue;
  wait_exit();
}

// A part of a step over several components: prepared, told its place, launched with it; or dropped when its srun has
// left.
TEST_F(KeeperTest, Part_of_a_greater_step_starts_when_its_place_is_known) {
  Fifo gate(work_ + "/gate");
  begin("read line < gate; exit 0");
  wire::ToStep message = to_keeper();
  wire::StepRequest& request = *message.mutable_step()->mutable_request();
  request.set_client(1);
  request.set_number(1);
  request.set_uid(order_.identity().uid());
  request.mutable_ask()->mutable_step()->set_command("true");
  request.mutable_ask()->mutable_step()->add_arguments("true");
  request.mutable_ask()->mutable_step()->mutable_stdio()->set_secret("one");
  request.mutable_ask()->set_prepare(true);
  request.mutable_ask()->set_overlap(true);
  request.mutable_ask()->set_least_id(4);
  const auto next_reply = [&]() -> wire::StepReply {
    for (auto word = next_word(); word; word = next_word())
      if (word->step().has_reply()) return word->step().reply();
    return {};
  };
  send(message);
  wire::StepReply reply = next_reply();
  EXPECT_TRUE(reply.news().prepared());
  EXPECT_EQ(reply.news().step_id(), 4u);
  EXPECT_EQ(reply.news().nodes(), "c1");
  EXPECT_EQ(reply.news().tasks_per_node_size(), 1);
  request.set_number(2);
  send(message);  // srun shows that it is still there
  reply = next_reply();
  EXPECT_TRUE(reply.news().prepared() && reply.number() == 2 && reply.news().step_id() == 4);
  wire::PartOfStep& part = *request.mutable_ask()->mutable_part();
  part.set_first_task(3);
  part.set_first_node(2);
  part.set_nodes("a1,a2,c1");
  for (const std::uint32_t tasks : {1u, 2u, 1u}) part.add_tasks_per_node(tasks), part.add_cpus_per_node(1);
  part.set_tasks(4);
  send(message);
  reply = next_reply();
  EXPECT_TRUE(reply.news().kind() == wire::StepNews::CREATED && !reply.news().prepared());
  wire::ToStep left = to_keeper();
  left.mutable_step()->mutable_left()->set_client(1);
  send(left);  // it runs: srun's streams decide
  end_step(4, 0);
  EXPECT_EQ(next_reply().news().kind(), wire::StepNews::ENDED);
  request.set_number(3);
  send(message);  // srun had not heard of it
  EXPECT_EQ(next_reply().news().kind(), wire::StepNews::CREATED);
  reply = next_reply();
  EXPECT_TRUE(reply.news().kind() == wire::StepNews::ENDED && reply.news().step_id() == 4 && reply.number() == 3)
      << "it does not run twice";

  request.mutable_ask()->clear_part();
  request.mutable_ask()->mutable_step()->mutable_stdio()->set_secret("two");
  send(message);
  EXPECT_EQ(next_reply().news().step_id(), 5u) << "the wanted number was used";
  send(left);
  reply = next_reply();
  EXPECT_TRUE(reply.news().kind() == wire::StepNews::ENDED && reply.news().step_id() == 5);
  request.mutable_ask()->mutable_part()->set_tasks(1);
  send(message);
  EXPECT_EQ(next_reply().failure().code(), 2021u) << "what was dropped cannot be started";
  gate.say("go\n");
  for (auto word = next_word(); word && !word->has_status(); word = next_word()) continue;
  wait_exit();
}

TEST_F(KeeperTest, Usage_is_measured_when_asked_and_at_the_end) {
  Fifo gate(work_ + "/gate"), ready(work_ + "/ready");
  begin(
      "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; head -c 300000 /dev/zero > /dev/null; echo up > ready; read "
      "line < gate; exit 0");
  EXPECT_EQ(ready.line(), "up");
  wire::ToStep message;
  message.mutable_order()->set_inquiry(42);
  send(message);
  const auto word = next_word();
  ASSERT_TRUE(word && word->has_sample());
  EXPECT_EQ(word->sample().inquiry(), 42u);
  ASSERT_EQ(word->sample().tasks_size(), 1);
  EXPECT_GT(word->sample().tasks(0).max_rss_bytes(), 100'000);
  EXPECT_GT(word->sample().tasks(0).max_vm_bytes(), word->sample().tasks(0).max_rss_bytes());
  EXPECT_TRUE(word->sample().tasks(0).running());
  gate.say("go\n");
  const wire::AttemptStatus status = end();
  EXPECT_GT(status.usage().user_us() + status.usage().system_us(), 0);
  EXPECT_GT(status.usage().max_rss_bytes(), 100'000);
  EXPECT_GE(status.usage().read_bytes(), 300'000);
  EXPECT_GE(status.usage().max_vm_bytes(), word->sample().tasks(0).max_vm_bytes());
}

}  // namespace
}  // namespace millrace
