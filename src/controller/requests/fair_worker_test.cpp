// src/controller/requests/fair_worker_test.cpp - users take turns at a worker, and it works for nobody who has left.
#include "controller/requests/fair_worker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

namespace millrace {
namespace {

class Hand final : public Worker {
 public:
  void run(Task work, Task then) override { pieces.push_back({std::move(work), std::move(then)}); }
  bool one() {
    if (pieces.empty()) return false;
    auto piece = std::move(pieces.front());
    pieces.pop_front();
    piece.first();
    piece.second();
    return true;
  }
  std::deque<std::pair<Task, Task>> pieces;
};

struct FairWorkerTest : testing::Test {
  Hand hand;
  FairWorker worker{hand};
  std::string begun, done;

  void ask(std::uint32_t uid, ClientId client, char name) {
    worker.ask(UserId{uid}, client, [this, name] {
      begun += name;
      return FairWorker::Piece{[] {}, [this, name] { done += name; }};
    });
  }
};

TEST_F(FairWorkerTest, Who_asks_little_does_not_wait_for_who_asks_much) {
  for (char name = 'a'; name <= 'h'; ++name) ask(1, 1, name);
  ask(2, 2, 'x');
  ask(3, 3, 'y');
  EXPECT_EQ(hand.pieces.size(), 2u) << "the worker's own queue is nobody's to fill";
  while (hand.one()) continue;
  EXPECT_EQ(done, "abxycdefgh");
}

TEST_F(FairWorkerTest, A_piece_begins_when_its_turn_has_come) {
  for (char name = 'a'; name <= 'd'; ++name) ask(1, 1, name);
  EXPECT_EQ(begun, "ab");
  hand.one();
  EXPECT_EQ(begun, "abc");
}

TEST_F(FairWorkerTest, What_a_client_asked_for_ends_with_it) {
  for (char name = 'a'; name <= 'd'; ++name) ask(1, 1, name);
  ask(1, 2, 'x');
  worker.client_left(1);
  while (hand.one()) continue;
  EXPECT_EQ(done, "abx");
  EXPECT_EQ(worker.waiting(UserId{1}), 0u);
}

TEST_F(FairWorkerTest, May_go_while_something_is_under_way) {
  {
    FairWorker gone(hand);
    gone.ask(UserId{1}, 1, [this] { return FairWorker::Piece{[] {}, [this] { done += '!'; }}; });
  }
  while (hand.one()) continue;
  EXPECT_EQ(done, "");
}

struct SlicedTest : FairWorkerTest {
  void ask_long(std::uint32_t uid, ClientId client, char name, int slices) {
    worker.ask_in_slices(UserId{uid}, client, [this, name, slices] {
      begun += name;
      return FairWorker::Sliced{[this, name, left = slices]() mutable {
                                  worked += name;
                                  return --left == 0;
                                },
                                [this, name] { done += name; }};
    });
  }
  std::string worked;
};

TEST_F(SlicedTest, Others_have_their_turn_between_the_slices_of_something_long) {
  ask_long(1, 1, 'l', 4);
  ask(2, 2, 'x');
  ask(2, 2, 'y');
  ask(3, 3, 'z');
  while (hand.one()) continue;
  EXPECT_EQ(worked, "llll");
  EXPECT_EQ(done, "xzyl");
}

TEST_F(SlicedTest, What_a_user_has_begun_is_brought_to_its_end_first) {
  for (char name = 'a'; name <= 'd'; ++name) ask_long(1, 1, name, 3);
  hand.one();
  hand.one();
  EXPECT_EQ(begun, "ab") << "no more than the worker has at a time are kept in memory";
  while (hand.one()) continue;
  EXPECT_EQ(done, "abcd");
}

TEST_F(SlicedTest, What_is_long_ends_with_its_client) {
  ask_long(1, 1, 'l', 1000);
  ask_long(2, 2, 'm', 2);
  hand.one();
  worker.client_left(1);
  while (hand.one()) continue;
  EXPECT_EQ(done, "m");
  EXPECT_LE(std::ranges::count(worked, 'l'), 2);
}

TEST_F(SlicedTest, A_slice_under_way_is_the_last_of_a_client_that_leaves) {
  ask_long(1, 1, 'l', 1000);
  EXPECT_EQ(hand.pieces.size(), 1u);
  worker.client_left(1);
  while (hand.one()) continue;
  EXPECT_EQ(worked, "l");
}

}  // namespace
}  // namespace millrace
