// src/cli/squeue_filter_test.cpp - which jobs squeue's options choose.
#include "cli/squeue_filter.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr std::int64_t now = 1'700'000'100'000'000;

wire::JobView job() {
  wire::JobView out;
  out.set_state(wire::RUNNING);
  out.set_start_at_us(now - 90'000'000);
  out.set_partition("main");
  out.set_name("work");
  out.set_nodes("n[1-2]");
  out.mutable_resources()->set_licenses("matlab:2,fluent:1");
  out.mutable_resources()->set_reservation("friday");
  return out;
}

bool chosen(const JobFilterWords& words, const wire::JobView& view) {
  const auto filter = make_job_filter(words);
  EXPECT_TRUE(filter) << filter.error().story;
  return filter && (*filter)(view, now);
}

TEST(JobFilter, By_licence_reservation_and_run_time) {
  EXPECT_TRUE(chosen({}, job()));
  EXPECT_TRUE(chosen({.licences = "fluent"}, job()));
  EXPECT_FALSE(chosen({.licences = "mat"}, job()));
  EXPECT_TRUE(chosen({.reservations = "thursday,friday"}, job()));
  EXPECT_FALSE(chosen({.reservations = "thursday"}, job()));
  EXPECT_TRUE(chosen({.running_over_seconds = 60}, job()));
  EXPECT_FALSE(chosen({.running_over_seconds = 120}, job()));
  EXPECT_TRUE(chosen({.running_under_seconds = 120}, job()));
  wire::JobView waiting = job();
  waiting.set_state(wire::PENDING);
  EXPECT_FALSE(chosen({.running_under_seconds = 120}, waiting));
}

TEST(JobFilter, A_job_that_waits_in_two_partitions_is_in_both) {
  wire::JobView waiting = job();
  waiting.set_partition("debug,main");
  EXPECT_TRUE(chosen({.partitions = "main"}, waiting));
  EXPECT_TRUE(chosen({.partitions = "debug"}, waiting));
  EXPECT_FALSE(chosen({.partitions = "gpu"}, waiting));
}

TEST(JobFilter, States_by_name_and_letters_in_any_case) {
  EXPECT_TRUE(chosen({.states = "pd,r"}, job()));
  EXPECT_TRUE(chosen({.states = "Running"}, job()));
  EXPECT_FALSE(chosen({.states = "PD"}, job()));
  EXPECT_TRUE(chosen({.states = "all"}, job()));
  const auto unknown = make_job_filter({.states = "purple"});
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(
      unknown.error().story.starts_with("Invalid job state specified: purple\nValid job states include: PENDING,"))
      << unknown.error().story;
}

}  // namespace
}  // namespace millrace
