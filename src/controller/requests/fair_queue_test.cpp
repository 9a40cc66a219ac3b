// src/controller/requests/fair_queue_test.cpp - a few at a time, users in turn, and nothing for those who have left.
#include "controller/requests/fair_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace millrace {
namespace {

struct FairQueueTest : testing::Test {
  FairQueue queue{2};
  std::deque<Task> under_way;
  std::string begun;

  void ask(std::uint32_t uid, ClientId client, char name) {
    queue.ask(UserId{uid}, client, [this, name](Task done) {
      begun += name;
      under_way.push_back(std::move(done));
    });
  }
  void end_one() {
    Task done = std::move(under_way.front());
    under_way.pop_front();
    done();
  }
};

TEST_F(FairQueueTest, Users_take_turns_and_few_are_under_way) {
  for (const char name : {'a', 'b', 'c', 'd'}) ask(1, 1, name);
  ask(2, 2, 'x');
  EXPECT_EQ(begun, "ab");
  while (!under_way.empty()) {
    EXPECT_LE(under_way.size(), 2u);
    end_one();
  }
  EXPECT_EQ(begun, "abxcd");
}

TEST_F(FairQueueTest, What_ends_at_once_does_not_nest) {
  int depth = 0, deepest = 0, done_count = 0;
  FairQueue one{1};
  for (int i = 0; i < 1000; ++i)
    one.ask(UserId{1}, 1, [&](Task done) {
      deepest = std::max(deepest, ++depth);
      done();
      --depth;
      ++done_count;
    });
  EXPECT_EQ(done_count, 1000);
  EXPECT_EQ(deepest, 1);
}

TEST_F(FairQueueTest, What_a_client_asked_for_ends_with_it_unless_it_is_under_way) {
  for (const char name : {'a', 'b', 'c'}) ask(1, 1, name);
  ask(1, 2, 'x');
  queue.client_left(1);
  while (!under_way.empty()) end_one();
  EXPECT_EQ(begun, "abx");
}

TEST_F(FairQueueTest, What_is_under_way_may_end_after_the_queue) {
  Task late;
  {
    FairQueue gone{1};
    gone.ask(UserId{1}, 1, [&](Task done) { late = std::move(done); });
  }
  late();
}

}  // namespace
}  // namespace millrace
