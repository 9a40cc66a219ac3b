// src/controller/requests/fair_turns_test.cpp - nobody waits for more than a piece of what somebody else asked for.
#include "controller/requests/fair_turns.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

class Queue final : public Loop {
 public:
  Time now() const override { return {}; }
  void post(Task task) override { tasks_.push_back(std::move(task)); }
  TimerId after(Duration, Task) override { return 1; }
  void cancel(TimerId) override {}
  bool run_one() {
    if (tasks_.empty()) return false;
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    const_cast<Task&>(task)();
    return true;
  }

 private:
  std::deque<Task> tasks_;
};

TEST(FairTurns, Users_take_turns_and_the_requests_of_one_are_done_in_order) {
  Queue loop;
  FairTurns turns(loop);
  std::string done;
  const auto add = [&](std::uint32_t uid, char name, int pieces) {
    turns.add(UserId{uid}, uid, [&done, name, pieces]() mutable {
      done += name;
      return --pieces > 0;
    });
  };
  add(1, 'a', 4);
  EXPECT_EQ(done, "a") << "nothing else waits";
  add(1, 'b', 2);
  add(2, 'x', 1);
  add(3, 'y', 2);
  while (loop.run_one()) continue;
  EXPECT_EQ(done, "axyayaabb");
}

TEST(FairTurns, A_piece_may_add_work) {
  Queue loop;
  FairTurns turns(loop);
  std::string done;
  turns.add(UserId{1}, 1, [&] {
    turns.add(UserId{1}, 1, [&] {
      done += 'b';
      return false;
    });
    done += 'a';
    return false;
  });
  while (loop.run_one()) continue;
  EXPECT_EQ(done, "ab");
}

TEST(FairTurns, Each_turn_of_the_loop_has_one_piece) {
  Queue loop;
  FairTurns turns(loop);
  std::string done;
  const auto add = [&](char name) {
    turns.add(UserId{1}, 1, [&done, name] {
      done += name;
      return false;
    });
  };
  add('a');
  add('b');
  EXPECT_EQ(done, "a");
  EXPECT_TRUE(loop.run_one());
  EXPECT_EQ(done, "ab");
  while (loop.run_one()) continue;
  add('c');
  EXPECT_EQ(done, "abc") << "in a turn of its own";
}

TEST(FairTurns, What_a_client_wants_ends_with_it) {
  Queue loop;
  FairTurns turns(loop);
  std::string done;
  turns.add(UserId{1}, 7, [&] {
    done += 'a';
    if (done == "aa") turns.client_left(7);
    return true;
  });
  turns.add(UserId{1}, 7, [&] {
    done += 'b';
    return false;
  });
  turns.add(UserId{1}, 8, [&] {
    done += 'c';
    return false;
  });
  while (loop.run_one()) continue;
  EXPECT_EQ(done, "aac");
}

}  // namespace
}  // namespace millrace
