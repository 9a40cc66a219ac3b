// src/step/keeper_launch_test.cpp - the real supervisor as keeper of a step with the largest environment there can be:
// it takes the request, and its launches leave in bursts that every link on their way can hold.
#include <set>

#include "step/supervisor_harness.h"
#include "wire/limits.h"

namespace millrace {
namespace {

class LargeStepTest : public SupervisorTest {
 protected:
  static constexpr int nodes = 12;
  void SetUp() override {
    SupervisorTest::SetUp();
    wire::LaunchPlan& plan = *order_.mutable_run();
    plan.set_nodes("c[1-12]");
    plan.clear_cpus_per_node();
    for (int i = 0; i < nodes; ++i) plan.add_cpus_per_node(1);
    request_.mutable_step()->set_job_key(7);
    wire::StepRequest& request = *request_.mutable_step()->mutable_request();
    request.set_client(1);
    request.set_number(1);
    request.set_uid(order_.identity().uid());
    request.mutable_ask()->mutable_step()->add_arguments("true");
    request.mutable_ask()->mutable_step()->set_min_nodes(nodes);
    request.mutable_ask()->mutable_step()->mutable_stdio()->set_secret(std::string(32, 's'));
    request.mutable_ask()->set_overlap(true);
    request.mutable_ask()->set_environment("LARGE=" + std::string(launch_text_max - 10, 'x') + std::string(1, '\0'));
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
  // Launches up to the answer to what was asked last; each is whole.
  std::size_t take_launches() {
    for (std::size_t bytes = 0;;) {
      const auto message = next();
      if (!message) return 0;
      if (message->step().has_reply()) {
        EXPECT_EQ(message->step().reply().news().kind(), wire::StepNews::CREATED);
        return bytes;
      }
      if (!message->step().has_launch()) continue;
      EXPECT_EQ(message->step().launch().plan().environment().size(),
                request_.step().request().ask().environment().size());
      EXPECT_EQ(message->step().launch().plan().node_name(), message->step().node());
      bytes += message->ByteSizeLong();
      launched_.push_back(message->step().node());
    }
  }
  wire::ToStep request_;
  std::vector<std::string> launched_;
};

TEST_F(LargeStepTest, Its_launches_leave_in_bursts_and_all_arrive) {
  Fifo gate(work_ + "/gate");
  script("read line < gate");
  start();
  send_all(request_);
  take_launches();  // it is told first that the step was created
  // Asked again it answers behind what it has sent.
  send_all(request_);
  EXPECT_LE(take_launches(), launch_burst_max);
  EXPECT_GE(launched_.size(), 2u);
  EXPECT_LT(launched_.size(), static_cast<std::size_t>(nodes));
  for (std::size_t confirmed = 0; confirmed < nodes; ++confirmed) {
    ASSERT_GT(launched_.size(), confirmed) << "a report makes room for the next";
    wire::ToStep message;
    message.mutable_step()->set_job_key(7);
    wire::StepReport& report = *message.mutable_step()->mutable_report();
    report.set_node(launched_[confirmed]);
    report.mutable_status()->set_job_key(7);
    report.mutable_status()->set_step(0);
    report.mutable_status()->set_state(wire::AttemptStatus::RUNNING_NOW);
    send_all(message);
    send_all(request_);
    take_launches();
  }
  EXPECT_EQ(std::set<std::string>(launched_.begin(), launched_.end()).size(), static_cast<std::size_t>(nodes));
}

// Many steps with the largest environment, asked for as fast as it goes.
class ManyLargeStepsTest : public LargeStepTest {
 protected:
  void ask_for(int count) {
    for (int i = 0; i < count; ++i) {
      wire::StepRequest& request = *request_.mutable_step()->mutable_request();
      request.set_client(++clients_);
      request.mutable_ask()->mutable_step()->mutable_stdio()->set_secret(std::to_string(clients_));
      send_all(request_);
    }
  }
  // The next so many answers that are no launches, by what they say.
  void take_answers(int count) {
    while (count > 0) {
      const auto message = next();
      if (!message) return;
      if (message->step().has_launch()) launched_.push_back(message->step().node());
      if (!message->step().has_reply()) continue;
      const wire::StepNews& news = message->step().reply().news();
      ++(news.ask_again() ? again_ : news.kind() == wire::StepNews::CREATED ? created_ : waiting_);
      --count;
    }
  }
  static constexpr int most = keeper_backlog_max / launch_text_max;
  int clients_ = 0, created_ = 0, waiting_ = 0, again_ = 0;
};

TEST_F(ManyLargeStepsTest, Those_that_wait_have_so_many_bytes_and_others_are_to_come_again) {
  Fifo gate(work_ + "/gate");
  script("read line < gate");
  start();
  request_.mutable_step()->mutable_request()->mutable_ask()->set_overlap(false);
  ask_for(1);
  take_answers(1);
  EXPECT_EQ(created_, 1);
  ask_for(most + 5);
  take_answers(most + 5);
  EXPECT_EQ(created_, 1);
  EXPECT_LE(waiting_, most);
  EXPECT_GE(waiting_, most - 1);
  EXPECT_EQ(waiting_ + again_, most + 5);
}

TEST_F(ManyLargeStepsTest, Those_whose_launches_nobody_confirms_are_bounded_and_make_room_for_others) {
  Fifo gate(work_ + "/gate");
  script("read line < gate");
  start();
  ask_for(most + 5);
  take_answers(most + 5);
  EXPECT_LE(created_, most);
  EXPECT_GE(created_, most - 1);
  EXPECT_GE(waiting_, 5);
  EXPECT_EQ(again_, 0);
  const int before = created_;
  for (int node = 1; node <= nodes; ++node) {
    wire::ToStep message;
    message.mutable_step()->set_job_key(7);
    message.mutable_step()->mutable_report()->set_node("c" + std::to_string(node));
    message.mutable_step()->mutable_report()->mutable_status()->set_job_key(7);
    message.mutable_step()->mutable_report()->mutable_status()->set_step(0);
    message.mutable_step()->mutable_report()->mutable_status()->set_state(wire::AttemptStatus::RUNNING_NOW);
    send_all(message);
  }
  take_answers(1);
  EXPECT_EQ(created_, before + 1);
}

}  // namespace
}  // namespace millrace
