// src/step/attempt/supervisor_steps_test.cpp - the real supervisor of a job with steps, with the test in the agent's
// place: its step manager hears and is heard, and its end waits for them. What the manager does is in
// step_manager_test.cpp.
#include "step/attempt/supervisor_harness.h"
#include "wire/limits.h"

namespace millrace {
namespace {

class SupervisorStepsTest : public SupervisorTest {
 protected:
  std::optional<wire::FromStep> next() {
    for (;;) {
      const auto bytes = reader_.next();
      if (bytes && *bytes) {
        wire::FromStep message;
        EXPECT_TRUE(message.ParseFromArray((*bytes)->data(), static_cast<int>((*bytes)->size())));
        return message;
      }
      static char buffer[1u << 20];
      if (!wait_readable(fd_)) return std::nullopt;
      const ssize_t count = read(fd_, buffer, sizeof buffer);
      if (count <= 0) return std::nullopt;
      reader_.feed({buffer, static_cast<std::size_t>(count)});
    }
  }
  // The next thing it says that is not about launches and forgetting.
  std::optional<wire::FromStep> next_word() {
    auto word = next();
    while (word && (word->step().has_launch() || word->step().has_forget())) word = next();
    return word;
  }
  wire::ToStep about_steps() {
    wire::ToStep message;
    message.mutable_step()->set_job_key(7);
    return message;
  }
  std::uint32_t create_step(const char* program, const std::string& environment = {}) {
    wire::ToStep message = about_steps();
    wire::StepRequest& request = *message.mutable_step()->mutable_request();
    request.set_client(1);
    request.set_number(1);
    request.set_uid(order_.identity().uid());
    request.mutable_ask()->mutable_step()->set_command(program);
    request.mutable_ask()->mutable_step()->add_arguments(program);
    request.mutable_ask()->set_overlap(true);
    request.mutable_ask()->set_environment(environment);
    send_all(message);
    const auto word = next_word();
    EXPECT_TRUE(word && word->step().reply().news().kind() == wire::StepNews::CREATED);
    return word ? word->step().reply().news().step_id() : 99;
  }
  // A frame may be larger than the socket's buffer.
  void send_all(const wire::ToStep& message) {
    const std::string bytes = frame(message.SerializeAsString());
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      ASSERT_GT(count, 0);
      sent += static_cast<std::size_t>(count);
    }
  }
  void end_step(std::uint32_t id, std::uint32_t code, std::uint32_t signal = 0) {
    wire::ToStep message = about_steps();
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
    wire::ToStep message = about_steps();
    message.mutable_step()->mutable_facts_heard()->set_number(number);
    send(message);
  }
  void begin(const std::string& body) {
    script(body);
    start();
  }
};

TEST_F(SupervisorStepsTest, What_is_not_known_to_be_heard_goes_with_the_end_of_the_attempt) {
  Fifo gate(work_ + "/gate");
  begin("read line < gate; exit 0");
  EXPECT_EQ(create_step("/usr/bin/solver"), 0u);
  auto word = next_word();
  ASSERT_TRUE(word && word->step().has_facts());
  ASSERT_EQ(word->step().facts().facts_size(), 1);
  EXPECT_EQ(word->step().facts().facts(0).name(), "solver");
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

TEST_F(SupervisorStepsTest, A_step_left_running_is_killed_and_its_end_waited_for) {
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

TEST_F(SupervisorStepsTest, A_step_with_the_largest_environment_there_can_be_is_launched) {
  Fifo gate(work_ + "/gate");
  begin("read line < gate");
  const std::string environment = "LARGE=" + std::string(launch_text_max - 10, 'x') + std::string(1, '\0');
  create_step("true", environment);
  auto word = next();
  while (word && !word->step().has_launch()) word = next();
  ASSERT_TRUE(word);
  EXPECT_EQ(word->step().launch().plan().environment(), environment);
}

TEST_F(SupervisorStepsTest, Usage_is_measured_when_asked_and_at_the_end) {
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
