// src/controller/loop/departed_users_test.cpp - users who are gone, users who are there, and a name service that does
// not answer.
#include "controller/loop/departed_users.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace millrace {
namespace {

struct Timers final : Loop {
  Time now() const override { return Time{}; }
  void post(Task task) override { task(); }
  TimerId after(Duration, Task task) override {
    waiting.emplace(++last, std::move(task));
    return last;
  }
  void cancel(TimerId timer) override { waiting.erase(timer); }
  std::map<TimerId, Task> waiting;
  TimerId last = 0;
};

struct Names final : Identities {
  void find(UserId, GroupId, std::move_only_function<void(Result<UserIdentity>)> done) override {
    if (at_once) return done(answer);
    asked.push_back(std::move(done));
  }
  bool at_once = true;
  Result<UserIdentity> answer = UserIdentity{};
  std::vector<std::move_only_function<void(Result<UserIdentity>)>> asked;
};

struct Bench {
  Timers timers;
  Names names;
  std::vector<bool> said;
  void check() {
    DepartedUsers(timers, names).check(UserId{1000}, GroupId{1000}, [this](bool departed) {
      said.push_back(departed);
    });
  }
};

TEST(DepartedUsers, Only_a_clear_no_counts) {
  Bench bench;
  bench.check();
  bench.names.answer = fail(Errc::not_found, "no such user");
  bench.check();
  bench.names.answer = fail(Errc::unavailable, "the name service is down");
  bench.check();
  EXPECT_EQ(bench.said, (std::vector<bool>{false, true, false}));
  EXPECT_TRUE(bench.timers.waiting.empty());
}

TEST(DepartedUsers, Silence_is_waited_for_and_then_the_job_starts) {
  Bench bench;
  bench.names.at_once = false;
  bench.check();
  EXPECT_TRUE(bench.said.empty());
  ASSERT_EQ(bench.timers.waiting.size(), 1u);
  bench.timers.waiting.begin()->second();
  EXPECT_EQ(bench.said, (std::vector<bool>{false}));
  bench.names.asked[0](fail(Errc::not_found, "no such user"));
  EXPECT_EQ(bench.said.size(), 1u) << "an answer that comes too late is not told again";
}

TEST(DepartedUsers, A_late_answer_stops_the_clock) {
  Bench bench;
  bench.names.at_once = false;
  bench.check();
  bench.names.asked[0](fail(Errc::not_found, "no such user"));
  EXPECT_EQ(bench.said, (std::vector<bool>{true}));
  EXPECT_TRUE(bench.timers.waiting.empty());
}

}  // namespace
}  // namespace millrace
