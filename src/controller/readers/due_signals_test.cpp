// src/controller/readers/due_signals_test.cpp - --signal: when a job is told that its time is nearly over.
#include "controller/readers/due_signals.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr JobKey key{1};

State with_job(std::uint32_t limit_minutes, std::uint32_t signal_seconds, Time started) {
  State state;
  JobSpec spec;
  wire::StepOptions options;
  options.mutable_signal()->set_signal(10);
  options.mutable_signal()->set_seconds(signal_seconds);
  RareRequest rare;
  rare.step_options = options.SerializeAsString();
  spec.rare = SharedValue(rare);
  Job job;
  job.key = key;
  job.spec = SharedValue(spec);
  job.state = JobState::running;
  job.time_limit_minutes = limit_minutes;
  job.started_at = started;
  state.jobs.set(key, SharedValue(job));
  return state;
}

TEST(DueSignals, Signal_is_due_so_many_seconds_before_the_limit_and_once) {
  const Time start{1'000'000'000};
  const State state = with_job(10, 60, start);
  DueSignals due;
  due.look_at_all(state);
  EXPECT_EQ(due.next(), start + minutes(9));
  EXPECT_TRUE(due.take(start + minutes(8)).empty());
  const auto told = due.take(start + minutes(9));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].signal.signal(), 10u);
  due.look_at(state, key);
  EXPECT_EQ(due.next(), never);
  due.put_off(state, key, start + minutes(9) + seconds(5));
  EXPECT_EQ(due.next(), start + minutes(9) + seconds(5));
}

TEST(DueSignals, Another_time_limit_moves_it) {
  const Time start{1'000'000'000};
  DueSignals due;
  due.look_at(with_job(10, 60, start), key);
  due.look_at(with_job(20, 60, start), key);
  EXPECT_EQ(due.next(), start + minutes(19));
  due.look_at(State{}, key);
  EXPECT_EQ(due.next(), never);
}

}  // namespace
}  // namespace millrace
