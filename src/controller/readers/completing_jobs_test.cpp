// src/controller/readers/completing_jobs_test.cpp - how long jobs that leave their nodes hold up others.
#include "controller/readers/completing_jobs.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

struct StandingClock final : Clock {
  Time now() const override { return Time{}; }
};

Time at(std::int64_t second) { return Time{second * 1'000'000}; }

void put(State& state, std::uint64_t key, JobState job_state) {
  Job job;
  job.key = JobKey{key};
  job.spec = SharedValue(JobSpec{});
  job.state = job_state;
  state.jobs.set(job.key, SharedValue(job));
}

TEST(CompletingJobs, Hold_up_others_until_they_are_gone_or_take_too_long) {
  State state;
  const StandingClock clock;
  CompletingJobs completing{clock};
  put(state, 1, JobState::running);
  completing.look_at(state, JobKey{1}, at(5));
  EXPECT_EQ(completing.wait(seconds(30), at(5)), seconds(0));
  put(state, 1, JobState::completing);
  put(state, 2, JobState::completing);
  completing.look_at(state, JobKey{1}, at(10));
  completing.look_at(state, JobKey{2}, at(15));
  completing.look_at(state, JobKey{1}, at(20));  // changed again: it counts from its beginning
  EXPECT_EQ(completing.wait(seconds(30), at(20)), seconds(25));
  EXPECT_EQ(completing.wait(seconds(0), at(20)), seconds(0));
  put(state, 2, JobState::ended);
  completing.look_at(state, JobKey{2}, at(21));
  EXPECT_EQ(completing.wait(seconds(30), at(21)), seconds(19));
  EXPECT_EQ(completing.wait(seconds(30), at(41)), seconds(0));
}

}  // namespace
}  // namespace millrace
