// src/controller/fair_turns_test.cpp - nobody waits for more than a piece of what somebody else asked for.
#include "controller/fair_turns.h"

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
    turns.add(UserId{uid}, [&done, name, pieces]() mutable {
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
  turns.add(UserId{1}, [&] {
    turns.add(UserId{1}, [&] {
      done += 'b';
      return false;
    });
    done += 'a';
    return false;
  });
  while (loop.run_one()) continue;
  EXPECT_EQ(done, "ab");
}

}  // namespace
}  // namespace millrace
