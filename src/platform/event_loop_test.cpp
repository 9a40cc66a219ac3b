// src/platform/event_loop_test.cpp - timers, posting from other threads, signals, processes, and work off the loop.
#include "platform/event_loop.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "platform/loop_fixture.h"
#include "platform/worker.h"

namespace millrace {
namespace {

struct EventLoopTest : LoopTest {};
struct WorkerTest : LoopTest {};

TEST_F(EventLoopTest, Posts_run_in_order) {
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) loop.post([&, i] { order.push_back(i); });
  loop.post([&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
}

TEST_F(EventLoopTest, Timers_fire_by_time_and_then_by_age_and_can_be_cancelled) {
  std::vector<int> order;
  loop.after(milliseconds(3), [&] { order.push_back(3); });
  loop.after(milliseconds(1), [&] { order.push_back(1); });
  const auto unwanted = loop.after(milliseconds(2), [&] { order.push_back(2); });
  loop.after(seconds(-1), [&] { order.push_back(0); });
  loop.after(never - Time{0}, [&] { order.push_back(9); });
  loop.cancel(unwanted);
  loop.cancel(unwanted);
  loop.cancel(12345);
  loop.after(milliseconds(5), [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(order, (std::vector{0, 1, 3}));
}

TEST_F(EventLoopTest, Timer_may_set_and_cancel_timers) {
  int fired = 0;
  Loop::TimerId other = 0;
  std::function<void()> again = [&] {
    if (++fired == 10) return loop.stop();
    loop.cancel(other);
    other = loop.after(seconds(100), [&] { fired = 1000; });
    loop.after(Duration{0}, [&] { again(); });
  };
  loop.after(Duration{0}, [&] { again(); });
  loop.run();
  EXPECT_EQ(fired, 10);
}

TEST_F(EventLoopTest, Stop_before_run_is_not_lost) {
  loop.stop();
  loop.run();
}

TEST_F(EventLoopTest, Post_from_many_threads_loses_nothing) {
  constexpr int threads = 4, each = 2000;
  int count = 0;
  std::vector<std::thread> posters;
  for (int t = 0; t < threads; ++t)
    posters.emplace_back([&] {
      for (int i = 0; i < each; ++i)
        loop.post([&] {
          if (++count == threads * each) loop.stop();
        });
    });
  run_until([&] { return count == threads * each; });
  for (auto& poster : posters) poster.join();
}

TEST_F(EventLoopTest, Watch_tells_of_readiness_and_may_be_destroyed_inside_its_call) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  int calls = 0;
  std::unique_ptr<DescriptorWatch> watch;
  watch = std::make_unique<DescriptorWatch>(loop, ends[0], [&] {
    ++calls;
    loop.stop();
    if (calls == 1) return watch->want_readable();  // nothing was read: still readable
    watch.reset();
  });
  watch->want_readable();
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  run_until([&] { return calls == 2; });
  EXPECT_EQ(watch, nullptr);
  EXPECT_EQ(::close(ends[0]), 0);  // still ours
  ::close(ends[1]);
}

TEST_F(EventLoopTest, Signal_reaches_its_handler) {
  int got = 0;
  ASSERT_TRUE(loop.on_signals({SIGUSR1}, [&](int signal) {
    got = signal;
    loop.stop();
  }));
  ::kill(::getpid(), SIGUSR1);
  run_until([&] { return got != 0; });
  EXPECT_EQ(got, SIGUSR1);
}

ProcessEnd end_of(LoopTest& test, const char* script) {
  pid_t child = 0;
  const char* arguments[] = {"sh", "-c", script, nullptr};
  EXPECT_EQ(::posix_spawn(&child, "/bin/sh", nullptr, nullptr, const_cast<char**>(arguments), environ), 0);
  std::optional<ProcessEnd> end;
  const auto watch = ProcessWatch::start(test.loop, child, [&](ProcessEnd e) {
    end = e;
    test.loop.stop();
  });
  EXPECT_TRUE(watch.has_value());
  test.run_until([&] { return end.has_value(); });
  return end.value_or(ProcessEnd{});
}

TEST_F(EventLoopTest, Process_end_tells_code_and_signal) {
  const ProcessEnd code = end_of(*this, "exit 7");
  EXPECT_TRUE(code.known);
  EXPECT_EQ(code.exit_code, 7);
  EXPECT_EQ(code.signal, 0);
  const ProcessEnd killed = end_of(*this, "kill -KILL $$");
  EXPECT_TRUE(killed.known);
  EXPECT_EQ(killed.signal, SIGKILL);
}

TEST_F(EventLoopTest, Process_that_does_not_exist_is_not_found) {
  const auto watch = ProcessWatch::start(loop, 1 << 30, [](ProcessEnd) {});
  ASSERT_FALSE(watch);
}

TEST_F(EventLoopTest, Tasks_left_over_are_destroyed_with_the_loop) {
  auto token = std::make_shared<int>(1);
  {
    EventLoop other;
    other.post([token] {});
    other.after(seconds(1), [token] {});
    EXPECT_EQ(token.use_count(), 3);
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST_F(WorkerTest, Works_off_the_loop_in_order_and_answers_on_it) {
  ThreadWorker worker(loop);
  const auto here = std::this_thread::get_id();
  std::vector<int> worked, answered;  // the first is the worker's until its last `then` has run
  for (int i = 0; i < 100; ++i)
    worker.run(
        [&, i] {
          EXPECT_NE(std::this_thread::get_id(), here);
          worked.push_back(i);
        },
        [&, i] {
          EXPECT_EQ(std::this_thread::get_id(), here);
          answered.push_back(i);
          if (i == 99) loop.stop();
        });
  run_until([&] { return answered.size() == 100; });
  EXPECT_EQ(worked, answered);
}

TEST_F(WorkerTest, Destructor_does_what_is_queued) {
  std::atomic<int> done = 0;
  {
    ThreadWorker worker(loop, "drain", ThreadWorker::Manner::prompt,
                        4);  // smaller than the queue: run() waits for its place
    for (int i = 0; i < 50; ++i) worker.run([&] { ++done; }, {});
  }
  EXPECT_EQ(done, 50);
}

TEST_F(WorkerTest, Many_threads_may_hand_in_work) {
  ThreadWorker worker(loop);
  int answers = 0;
  std::int64_t sum = 0;  // touched by the worker alone, read after everything was answered
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i)
        worker.run([&] { ++sum; },
                   [&] {
                     if (++answers == 2000) loop.stop();
                   });
    });
  run_until([&] { return answers == 2000; });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(sum, 2000);
}

}  // namespace
}  // namespace millrace
