// src/step/step_manager/step_launches_test.cpp - launches of steps with the largest environment there can be: they
// leave in bursts that every link on their way can hold, again until they are confirmed, and are bounded.
#include "step/step_manager/step_launches.h"

#include <set>

#include "step/step_manager/step_manager_harness.h"
#include "wire/limits.h"

namespace millrace {
namespace {

class LargeStepsTest : public StepManagerTest {
 protected:
  static constexpr int nodes = 12;
  static constexpr int most = step_manager_backlog_max / launch_text_max;
  void SetUp() override {
    StepManagerTest::SetUp();
    have_nodes("c[1-12]", nodes);
  }
  wire::StepRequest large(std::uint64_t client, bool overlap = true) {
    wire::StepRequest request = request_of(client);
    request.mutable_ask()->mutable_step()->set_min_nodes(nodes);
    request.mutable_ask()->set_overlap(overlap);
    request.mutable_ask()->set_environment("LARGE=" + std::string(launch_text_max - 10, 'x') + std::string(1, '\0'));
    return request;
  }
  // What was said since: launches are counted, and answers by what they say.
  std::size_t take() {
    std::size_t bytes = 0;
    for (const wire::StepFromNode& message : std::exchange(said_, {})) {
      if (message.has_launch()) {
        EXPECT_EQ(message.launch().plan().node_name(), message.node());
        EXPECT_EQ(message.launch().plan().environment().size(), launch_text_max - 3);
        EXPECT_EQ(message.launch().identity().uid(), user);
        bytes += message.ByteSizeLong();
        launched_.push_back(message.node());
      }
      if (!message.has_reply()) continue;
      const wire::StepNews& news = message.reply().news();
      ++(news.ask_again() ? again_ : news.kind() == wire::StepNews::CREATED ? created_ : waiting_);
    }
    return bytes;
  }
  std::vector<std::string> launched_;
  int created_ = 0, waiting_ = 0, again_ = 0;
};

TEST_F(LargeStepsTest, Launches_leave_in_bursts_and_all_arrive) {
  ask(large(1));
  EXPECT_LE(take(), launch_burst_max);
  EXPECT_EQ(created_, 1);
  EXPECT_GE(launched_.size(), 2u);
  EXPECT_LT(launched_.size(), static_cast<std::size_t>(nodes));
  for (std::size_t confirmed = 0; confirmed < nodes; ++confirmed) {
    ASSERT_GT(launched_.size(), confirmed) << "a report makes room for the next";
    runs(0, launched_[confirmed]);
    take();
  }
  EXPECT_EQ(std::set<std::string>(launched_.begin(), launched_.end()).size(), static_cast<std::size_t>(nodes));
  EXPECT_EQ(launched_.size(), static_cast<std::size_t>(nodes)) << "each was confirmed before it was due again";
}

TEST_F(LargeStepsTest, Launches_that_nobody_confirms_leave_again) {
  ask(large(1));
  take();
  const std::vector<std::string> first = std::exchange(launched_, {});
  runs(0, first.front());
  take();
  launched_.clear();
  pass(5 * second);
  EXPECT_LE(take(), launch_burst_max);
  EXPECT_EQ(std::set<std::string>(launched_.begin(), launched_.end()).contains(first.front()), false);
  EXPECT_TRUE(std::set<std::string>(launched_.begin(), launched_.end()).contains(first.back()));
  launched_.clear();
  manager().agent_is_back();
  EXPECT_GT(take(), 0u) << "what was on its way may have died with the agent before";
}

TEST_F(LargeStepsTest, Those_that_wait_have_so_many_bytes_and_others_are_to_come_again) {
  ask(large(100, false));
  take();
  EXPECT_EQ(created_, 1);
  for (int i = 0; i < most + 5; ++i) ask(large(static_cast<std::uint64_t>(i + 1), false));
  pass(200'000);
  take();
  EXPECT_EQ(created_, 1);
  EXPECT_LE(waiting_, most);
  EXPECT_GE(waiting_, most - 1);
  EXPECT_EQ(waiting_ + again_, most + 5);
}

TEST_F(LargeStepsTest, Those_whose_launches_nobody_confirms_are_bounded_and_make_room_for_others) {
  for (int i = 0; i < most + 5; ++i) ask(large(static_cast<std::uint64_t>(i + 1)));
  pass(200'000);
  take();
  EXPECT_LE(created_, most);
  EXPECT_GE(created_, most - 1);
  EXPECT_GE(waiting_, 5);
  EXPECT_EQ(again_, 0);
  const int before = created_;
  for (int node = 1; node <= nodes; ++node) runs(0, "c" + std::to_string(node));
  take();
  EXPECT_EQ(created_, before + 1);
}

}  // namespace
}  // namespace millrace
