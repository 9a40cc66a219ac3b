// src/cli/render/job_words_test.cpp - how long a job ran, as every command shows it.
#include "cli/render/job_words.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr std::int64_t second = 1'000'000;

wire::JobView job_that_ran(std::int64_t from, std::int64_t until) {
  wire::JobView job;
  job.set_state(wire::RUNNING);
  job.set_start_at_us(from * second);
  job.set_end_at_us(until * second);
  return job;
}

TEST(RunSeconds, Stand_still_while_the_job_is_tidied_up_after) {
  wire::JobView job = job_that_ran(100, 160);
  EXPECT_EQ(run_seconds(job, 130 * second), 30);
  job.set_completing(true);  // and is about to go back to the queue: it has come to nothing
  EXPECT_EQ(run_seconds(job, 500 * second), 60);
  job.set_state(wire::CANCELLED);
  EXPECT_EQ(run_seconds(job, 500 * second), 60);
  job.set_suspend_at_us(150 * second);
  job.set_ran_before_us(20 * second);
  EXPECT_EQ(run_seconds(job, 500 * second), 30);
}

}  // namespace
}  // namespace millrace
