// src/controller/absent_clients_test.cpp - an allocation ends when its client is gone for too long, and only then.
#include "controller/absent_clients.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

Time at(std::int64_t second) { return Time{second * 1'000'000}; }

void put(State& state, std::uint64_t key, bool allocation, JobState job_state, Time started) {
  JobSpec spec;
  spec.allocation_only = allocation;
  Job job;
  job.key = JobKey{key};
  job.spec = SharedValue(spec);
  job.state = job_state;
  job.started_at = started;
  state.jobs.set(job.key, SharedValue(job));
}

TEST(AbsentClients, An_allocation_is_due_once_after_the_limit) {
  State state;
  put(state, 1, true, JobState::running, at(10));
  AbsentClients absent;
  absent.left(state, JobKey{1}, at(100));
  absent.left(state, JobKey{1}, at(110));  // another of its clients: the first counts
  EXPECT_TRUE(absent.take_due(state, seconds(30), at(129)).empty());
  EXPECT_EQ(absent.take_due(state, seconds(30), at(130)), std::vector{JobKey{1}});
  EXPECT_TRUE(absent.take_due(state, seconds(30), at(999)).empty());
}

TEST(AbsentClients, One_that_came_back_is_not) {
  State state;
  put(state, 1, true, JobState::running, at(10));
  AbsentClients absent;
  absent.left(state, JobKey{1}, at(100));
  absent.came(JobKey{1});
  EXPECT_TRUE(absent.take_due(state, seconds(30), at(500)).empty());
}

TEST(AbsentClients, Without_a_limit_for_batch_jobs_and_while_waiting_nothing_is_due) {
  State state;
  put(state, 1, true, JobState::running, at(10));
  put(state, 2, false, JobState::running, at(10));
  put(state, 3, true, JobState::pending, {});
  AbsentClients absent;
  for (const std::uint64_t key : {1u, 2u, 3u, 4u}) absent.left(state, JobKey{key}, at(100));
  EXPECT_TRUE(absent.take_due(state, seconds(0), at(500)).empty());
  put(state, 1, true, JobState::ended, at(10));
  EXPECT_TRUE(absent.take_due(state, seconds(30), at(500)).empty());
  put(state, 3, true, JobState::running, at(490));
  EXPECT_TRUE(absent.take_due(state, seconds(30), at(500)).empty());
  EXPECT_EQ(absent.take_due(state, seconds(30), at(520)), std::vector{JobKey{3}});
}

}  // namespace
}  // namespace millrace
