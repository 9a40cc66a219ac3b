// src/controller/readers/absent_clients_test.cpp - a job ends when its client is gone for too long, and only then.
#include "controller/readers/absent_clients.h"

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
  EXPECT_TRUE(absent.take_due(state, seconds(30), at(129), at(129)).empty());
  EXPECT_EQ(absent.take_due(state, seconds(30), at(130), at(130)), std::vector{JobKey{1}});
  EXPECT_TRUE(absent.take_due(state, seconds(30), at(999), at(999)).empty());
}

TEST(AbsentClients, One_that_came_back_is_not) {
  State state;
  put(state, 1, true, JobState::running, at(10));
  AbsentClients absent;
  absent.left(state, JobKey{1}, at(100));
  absent.came(JobKey{1});
  EXPECT_TRUE(absent.take_due(state, seconds(30), at(500), at(500)).empty());
}

TEST(AbsentClients, Without_a_limit_for_batch_jobs_and_while_waiting_nothing_is_due) {
  State state;
  put(state, 1, true, JobState::running, at(10));
  put(state, 2, false, JobState::running, at(10));
  put(state, 3, true, JobState::pending, {});
  AbsentClients absent;
  for (const std::uint64_t key : {1u, 2u, 3u, 4u}) absent.left(state, JobKey{key}, at(100));
  EXPECT_TRUE(absent.take_due(state, seconds(0), at(500), at(500)).empty());
  put(state, 1, true, JobState::ended, at(10));
  EXPECT_TRUE(absent.take_due(state, seconds(30), at(500), at(500)).empty());
  put(state, 3, true, JobState::running, at(490));
  EXPECT_TRUE(absent.take_due(state, seconds(30), at(500), at(500)).empty());
  EXPECT_EQ(absent.take_due(state, seconds(30), at(520), at(520)), std::vector{JobKey{3}});
}

// How many seconds pass until `key` is found to be abandoned; 0: it is not.
std::uint32_t abandoned_after(AbsentClients& absent, const State& state, JobKey key) {
  for (std::uint32_t second = 1; second < 1000; ++second)
    for (const JobKey found : absent.take_abandoned(state))
      if (found == key) return second;
  return 0;
}

void put_waiting(State& state, std::uint64_t key, bool allocation, bool with_client = true) {
  put(state, key, allocation, JobState::pending, {});
  Job job = state.job(JobKey{key});
  JobSpec spec = *job.spec;
  spec.interactive = !allocation;
  RareRequest rare = spec.rare_request();
  rare.client_waits = with_client;
  spec.rare = SharedValue(rare);
  job.spec = SharedValue(spec);
  state.jobs.set(job.key, SharedValue(job));
}

TEST(AbsentClients, A_waiting_job_whose_client_is_gone_is_abandoned_once_after_the_grace) {
  State state;
  put_waiting(state, 1, true);
  put_waiting(state, 2, false);
  AbsentClients absent;
  absent.left(state, JobKey{1}, at(100));
  absent.left(state, JobKey{2}, at(100));
  for (std::uint32_t second = 1; second < client_grace_seconds; ++second)
    EXPECT_TRUE(absent.take_abandoned(state).empty()) << second;
  EXPECT_EQ(absent.take_abandoned(state), (std::vector{JobKey{1}, JobKey{2}}));
  EXPECT_EQ(abandoned_after(absent, state, JobKey{1}), 0u);
}

TEST(AbsentClients, A_client_that_comes_back_in_time_keeps_its_job_and_has_the_whole_grace_again) {
  State state;
  put_waiting(state, 1, false);
  AbsentClients absent;
  absent.left(state, JobKey{1}, at(100));
  for (std::uint32_t second = 1; second < client_grace_seconds; ++second) (void)absent.take_abandoned(state);
  absent.came(JobKey{1});
  EXPECT_EQ(abandoned_after(absent, state, JobKey{1}), 0u);
  absent.left(state, JobKey{1}, at(500));
  EXPECT_EQ(abandoned_after(absent, state, JobKey{1}), client_grace_seconds);
}

TEST(AbsentClients, After_a_start_of_the_controller_clients_have_longer) {
  State state;
  put_waiting(state, 1, false);
  put_waiting(state, 2, true);
  put(state, 3, false, JobState::pending, {});  // a batch job
  put_waiting(state, 4, true, false);           // sbatch --external: it never had one
  put(state, 5, true, JobState::running, at(1));
  AbsentClients absent;
  absent.expect_all(state, at(100));
  absent.came(JobKey{2});
  EXPECT_EQ(abandoned_after(absent, state, JobKey{1}), client_grace_at_start_seconds);
  for (const std::uint64_t key : {2u, 3u, 4u, 5u}) EXPECT_EQ(abandoned_after(absent, state, JobKey{key}), 0u) << key;
}

TEST(AbsentClients, A_client_that_is_never_heard_of_after_its_submission_is_gone_as_well) {
  State state;
  put_waiting(state, 1, false);
  put_waiting(state, 2, true, false);
  AbsentClients absent;
  absent.expect(state, JobKey{1}, at(100));
  absent.expect(state, JobKey{2}, at(100));
  EXPECT_EQ(abandoned_after(absent, state, JobKey{1}), client_grace_seconds);
  EXPECT_EQ(abandoned_after(absent, state, JobKey{2}), 0u);
}

TEST(AbsentClients, What_has_started_meanwhile_and_a_step_of_the_clock_change_nothing) {
  State state;
  put_waiting(state, 1, false);
  AbsentClients absent;
  absent.left(state, JobKey{1}, at(100));
  (void)absent.take_due(state, seconds(30), at(1'000'000'000), at(1'000'000'000));
  EXPECT_TRUE(absent.take_abandoned(state).empty());
  Job job = state.job(JobKey{1});
  job.state = JobState::running;
  state.jobs.set(job.key, SharedValue(job));
  EXPECT_EQ(abandoned_after(absent, state, JobKey{1}), 0u);
}

}  // namespace
}  // namespace millrace
