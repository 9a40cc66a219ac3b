// src/cli/sacct_filter_test.cpp - which jobs sacct shows for which times, states and names.
#include "cli/sacct_filter.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace millrace {
namespace {

constexpr std::int64_t hour = 3600;
constexpr std::int64_t noon = 1'767'268'800;  // 2026-01-01T12:00:00Z

wire::JobView job(std::uint32_t id, wire::JobStateName state, std::int64_t submit, std::int64_t start = 0,
                  std::int64_t end = 0) {
  wire::JobView out;
  out.set_job_id(id);
  out.set_uid(1000);
  out.set_state(state);
  out.set_submit_at_us(submit * 1'000'000);
  out.set_start_at_us(start * 1'000'000);
  out.set_end_at_us(end * 1'000'000);
  out.mutable_accounted()->set_started(start != 0);
  out.set_time_limit_minutes(10);
  out.set_node_count(1);
  out.set_cpus(2);
  return out;
}

class Filter : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC", 1);
    tzset();
  }
  SacctFilter read(std::uint32_t uid = 1000) {
    auto filter = SacctFilter::read(draft_, noon * 1'000'000, uid);
    EXPECT_TRUE(filter) << filter.error().story;
    return *filter;
  }
  std::string problem() { return SacctFilter::read(draft_, noon * 1'000'000, 1000).error().story; }

  SacctDraft draft_;
  const wire::JobView yesterday_ = job(1, wire::COMPLETED, noon - 20 * hour, noon - 20 * hour, noon - 13 * hour);
  const wire::JobView over_midnight_ = job(2, wire::FAILED, noon - 20 * hour, noon - 13 * hour, noon - 11 * hour);
  const wire::JobView running_ = job(3, wire::RUNNING, noon - 2 * hour, noon - hour);
  const wire::JobView waiting_ = job(4, wire::PENDING, noon - hour);
};

TEST_F(Filter, Shows_what_existed_since_midnight) {
  const SacctFilter filter = read();
  EXPECT_FALSE(filter.wants(yesterday_));
  for (const wire::JobView& shown : {over_midnight_, running_, waiting_})
    EXPECT_TRUE(filter.wants(shown)) << shown.job_id();
  wire::JobView of_another = running_;
  of_another.set_uid(1001);
  EXPECT_FALSE(filter.wants(of_another));
  EXPECT_TRUE(read(0).wants(of_another)) << "root sees all";
  draft_.all_users = true;
  EXPECT_TRUE(read().wants(of_another));
}

TEST_F(Filter, Jobs_that_are_named_are_shown_whenever_they_ran_and_whose_they_are) {
  draft_.jobs = "1,3";
  const SacctFilter filter = read(5);
  EXPECT_TRUE(filter.wants(yesterday_));
  EXPECT_TRUE(filter.wants(running_));
  EXPECT_FALSE(filter.wants(over_midnight_));
}

TEST_F(Filter, A_window_has_two_ends) {
  draft_.start = "2025-12-31T17:00";
  draft_.end = "2025-12-31T22:00";
  EXPECT_TRUE(read().wants(yesterday_));
  EXPECT_TRUE(read().wants(over_midnight_)) << "it waited then";
  EXPECT_FALSE(read().wants(running_));
  draft_.start = "08:00";
  draft_.end = "now-90minutes";
  EXPECT_TRUE(read().wants(running_)) << "submitted by then";
  EXPECT_FALSE(read().wants(waiting_));
  draft_.start = "13:00";
  EXPECT_EQ(problem(), "Start time (2026-01-01T13:00:00) requested is after end time (2026-01-01T10:30:00).");
  draft_.start = "zz";
  EXPECT_EQ(problem(), "Invalid time specification (pos=0): zz");
}

TEST_F(Filter, States_are_those_of_the_window) {
  draft_.states = "R";
  EXPECT_TRUE(read().wants(running_));
  EXPECT_FALSE(read().wants(over_midnight_)) << "now it does not";
  draft_.start = "00:00";
  draft_.end = "00:30";
  EXPECT_TRUE(read().wants(over_midnight_)) << "it ran then, whatever became of it";
  EXPECT_FALSE(read().wants(running_));
  draft_.states = "failed,CD";
  EXPECT_FALSE(read().wants(over_midnight_)) << "it had not failed yet";
  draft_.end = "02:00";
  EXPECT_TRUE(read().wants(over_midnight_));
  draft_.states = "pending";
  draft_.start = "2025-12-31T20:00";
  draft_.end = "2025-12-31T21:00";
  EXPECT_TRUE(read().wants(over_midnight_)) << "it waited then";
  draft_.states = "nosuch";
  EXPECT_TRUE(problem().starts_with("unrecognized job state value 'nosuch'")) << problem();
}

TEST_F(Filter, Counts_limits_and_names) {
  draft_.cpu_range = "2-4";
  draft_.node_range = "1";
  draft_.limit_least = "5";
  draft_.limit_most = "10";
  EXPECT_TRUE(read().wants(running_));
  draft_.cpu_range = "3-4";
  EXPECT_FALSE(read().wants(running_));
  draft_.cpu_range = "x";
  EXPECT_EQ(problem(), "Invalid numeric value \"x\" for requested cpu range.");
  draft_ = {};
  draft_.names = "a,b";
  EXPECT_FALSE(read().wants(running_));
  draft_ = {};
  draft_.flags = "SchedBackfill";
  EXPECT_FALSE(read().wants(running_));
  wire::JobView ahead = running_;
  ahead.set_planned_by_backfill(true);
  EXPECT_TRUE(read().wants(ahead));
}

TEST_F(Filter, Steps_tasks_and_components_by_name) {
  wire::JobView task = job(21, wire::COMPLETED, noon, noon, noon);
  task.set_array_job_id(20);
  task.set_array_task(3);
  wire::JobView component = job(31, wire::COMPLETED, noon, noon, noon);
  component.set_het_job_id(30);
  component.set_het_job_offset(1);
  component.set_het_job_size(2);
  wire::AccountedStep step;
  step.mutable_step()->set_step(1);
  draft_.jobs = "20_[2-3],30+1,3.1";
  SacctFilter filter = read();
  EXPECT_TRUE(filter.wants(task));
  EXPECT_TRUE(filter.wants_row_of(task));
  EXPECT_TRUE(filter.wants(component));
  EXPECT_TRUE(filter.wants(running_));
  EXPECT_FALSE(filter.wants_row_of(running_)) << "only its step was named";
  EXPECT_TRUE(filter.wants(running_, step));
  step.mutable_step()->set_step(2);
  EXPECT_FALSE(filter.wants(running_, step));
  task.set_array_task(4);
  EXPECT_FALSE(filter.wants(task));
  draft_.jobs = "30";
  EXPECT_TRUE(read().wants(component)) << "the leader's number means the whole";
  draft_.whole_het = false;
  EXPECT_FALSE(read().wants(component));
  wire::JobView leader = component;
  leader.set_job_id(30);
  leader.set_het_job_offset(0);
  EXPECT_TRUE(read().wants(leader));
  draft_.jobs = "31";
  draft_.whole_het = true;
  filter = read();
  EXPECT_TRUE(filter.wants(leader));
  wire::Jobs answer;
  *answer.add_jobs() = component;
  EXPECT_EQ(filter.leaders_missing(answer), std::vector<std::uint32_t>{30});
  *answer.add_jobs() = leader;
  EXPECT_TRUE(filter.leaders_missing(answer).empty());
}

}  // namespace
}  // namespace millrace
