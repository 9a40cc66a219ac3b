// src/controller/readers/stored_bytes_test.cpp - what users have stored in the controller's memory is bounded, and free
// again.
#include "controller/readers/stored_bytes.h"

#include "controller/controller_fixture.h"

namespace millrace {
namespace {

wire::Request held_job(std::size_t bytes_of_arguments) {
  wire::Request request;
  *request.mutable_submit() = a_job(1);
  request.mutable_submit()->mutable_job()->set_hold(true);
  for (std::size_t left = bytes_of_arguments; left > 0; left -= std::min<std::size_t>(left, 100'000))
    request.mutable_submit()->mutable_job()->add_arguments(std::string(std::min<std::size_t>(left, 100'000), 'a'));
  return request;
}

class StoredBytesTest : public ControllerTest {
 protected:
  // How many jobs were taken before one was refused.
  int fill(UserId user) {
    constexpr std::size_t large = 2'000'000;
    int taken = 0;
    for (; taken < 100; ++taken) {
      const wire::Reply reply = ask(user, held_job(large));
      if (reply.has_submitted()) continue;
      EXPECT_EQ(reply.failure().code(), 2012u);
      break;
    }
    return taken;
  }
  void cancel_all(UserId user) {
    wire::Request request;
    request.mutable_cancel()->set_user(std::to_string(user.value));
    EXPECT_TRUE(ask(user, request).has_jobs_changed());
  }
};

TEST_F(StoredBytesTest, Arguments_of_all_jobs_of_a_user_have_a_bound) {
  start();
  const int taken = fill(UserId{1000});
  EXPECT_GT(taken, 25);
  EXPECT_LT(taken, 40);
  EXPECT_TRUE(ask(UserId{1000}, held_job(10'000)).has_submitted()) << "an ordinary job";
  EXPECT_TRUE(ask(UserId{1001}, held_job(2'000'000)).has_submitted()) << "another user";
  wire::Request larger;
  larger.mutable_update_job()->mutable_job()->set_job_id(1);
  larger.mutable_update_job()->set_time_limit_minutes(5);
  EXPECT_TRUE(ask(UserId{1000}, larger).has_jobs_changed());
}

TEST_F(StoredBytesTest, They_are_free_again_when_the_jobs_are_forgotten) {
  start();
  const int taken = fill(UserId{1000});
  cancel_all(UserId{1000});
  EXPECT_FALSE(ask(UserId{1000}, held_job(2'000'000)).has_submitted()) << "they may yet be requeued";
  const Time later = world.now() + minutes(10);
  while (world.next_at() <= later) world.step();
  EXPECT_EQ(fill(UserId{1000}), taken);
}

TEST_F(StoredBytesTest, They_count_after_a_start_and_once_for_an_array) {
  wire::Request array = held_job(2'000'000);
  array.mutable_submit()->mutable_job()->set_array("1-1000");
  add_job(array.submit());
  wire::Request one = held_job(2'000'000);
  for (int i = 0; i < 20; ++i) add_job(one.submit());
  start();
  for (std::uint32_t task = 1; task <= 20; ++task) {  // records of their own, which share the rest
    wire::Request change;
    change.mutable_update_job()->mutable_job()->set_job_id(1);
    change.mutable_update_job()->mutable_job()->set_tasks(std::to_string(task));
    change.mutable_update_job()->set_time_limit_minutes(task);
    EXPECT_EQ(ask(UserId{0}, change).jobs_changed().changed_size(), 1);
  }
  const int taken = fill(UserId{1000});
  EXPECT_GT(taken, 5);
  EXPECT_LT(taken, 15);
}

}  // namespace
}  // namespace millrace
