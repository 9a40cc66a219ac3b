// src/core/planner/order_test.cpp - scores against the published formulas in long double, their ties, and predictions.
#include "core/planner/order.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/prng.h"
#include "core/model/run_history.h"

namespace millrace {
namespace {

constexpr std::int64_t origin_second = 1'000'000;
Time at_second(std::int64_t second) { return Time{(origin_second + second) * 1'000'000}; }

Job job_of(std::uint64_t key, std::int64_t submit, std::uint32_t estimate, std::uint32_t processors) {
  Job job;
  JobSpec spec;
  spec.tasks = processors;
  job.spec = SharedValue(std::move(spec));
  job.key = JobKey{key};
  job.submitted_at = at_second(submit);
  job.expected_seconds = estimate;
  return job;
}

PlannerSettings settings_of(OrderPolicy order) {
  PlannerSettings settings;
  settings.order = order;
  settings.use_expected = true;
  settings.score_origin = at_second(0);
  return settings;
}

struct Case {
  OrderPolicy order;
  long double (*formula)(long double r, long double n, long double s, long double w);
};

constexpr Case cases[] = {
    {OrderPolicy::sjf, [](long double r, long double, long double, long double) { return r; }},
    {OrderPolicy::f1,
     [](long double r, long double n, long double s, long double) { return std::log10(r) * n + 870 * std::log10(s); }},
    {OrderPolicy::f2,
     [](long double r, long double n, long double s, long double) { return std::sqrt(r) * n + 25600 * std::log10(s); }},
    {OrderPolicy::f3,
     [](long double r, long double n, long double s, long double) { return r * n + 6.86e6L * std::log10(s); }},
    {OrderPolicy::f4, [](long double r, long double n, long double s,
                         long double) { return r * std::sqrt(n) + 5.3e5L * std::log10(s); }},
    {OrderPolicy::wfp3,
     [](long double r, long double n, long double, long double w) { return -std::pow(w / r, 3.0L) * n; }},
    {OrderPolicy::unicep,
     [](long double r, long double n, long double, long double w) {
       return n > 1 ? -w / (std::log2(n) * r) : -w / r * 624'331'476'816'536.0L;
     }},
};

TEST(Order, scores_are_the_published_formulas) {
  Prng random(4);
  for (int i = 0; i < 5'000; ++i) {
    const std::int64_t submit = random.between(1, 40'000'000), now = submit + random.between(0, 1'000'000);
    const auto estimate = static_cast<std::uint32_t>(random.between(1, 400'000));
    const auto processors = static_cast<std::uint32_t>(random.between(1, 1024));
    const Job job = job_of(1, submit, estimate, processors);
    for (const Case& row : cases) {
      const long double right =
          row.formula(estimate, processors, static_cast<long double>(submit), static_cast<long double>(now - submit));
      const Fixed value = score_of(job, settings_of(row.order), at_second(now)).value;
      const long double seen = static_cast<long double>(value.raw) * 0x1p-48L;
      EXPECT_LE(std::fabs(seen - right), std::fabs(right) * 1e-10L + 1e-6L)
          << "policy " << static_cast<int>(row.order) << " r " << estimate << " n " << processors << " s " << submit
          << " now " << now;
    }
  }
}

TEST(Order, first_come_first_served_is_submit_time_then_key) {
  const PlannerSettings settings = settings_of(OrderPolicy::fcfs);
  const Time now = at_second(100);
  EXPECT_LT(score_of(job_of(9, 10, 1, 1), settings, now), score_of(job_of(3, 11, 1, 1), settings, now));
  EXPECT_LT(score_of(job_of(3, 10, 500, 8), settings, now), score_of(job_of(9, 10, 1, 1), settings, now));
}

TEST(Order, equal_scores_go_by_submit_time_then_key) {
  const PlannerSettings settings = settings_of(OrderPolicy::sjf);
  const Time now = at_second(100);
  EXPECT_LT(score_of(job_of(9, 10, 60, 1), settings, now), score_of(job_of(3, 11, 60, 1), settings, now));
  EXPECT_LT(score_of(job_of(3, 11, 60, 1), settings, now), score_of(job_of(4, 11, 60, 1), settings, now));
}

TEST(Order, an_estimate_is_what_is_expected_or_else_the_limit) {
  PlannerSettings settings = settings_of(OrderPolicy::sjf);
  Job job = job_of(1, 1, 90, 1);
  job.time_limit_minutes = 10;
  EXPECT_EQ(estimated_seconds(job, settings), 90);
  settings.use_expected = false;
  EXPECT_EQ(estimated_seconds(job, settings), 600);
  job.time_limit_minutes = unlimited;
  EXPECT_EQ(estimated_seconds(job, settings), 365 * 86'400);
  settings.use_expected = true;
  job.expected_seconds = 0;
  EXPECT_EQ(estimated_seconds(job, settings), 365 * 86'400);
}

TEST(Order, waits_of_published_comparisons_count_to_a_fixed_time) {
  PlannerSettings settings = settings_of(OrderPolicy::wfp3);
  settings.waits_until = at_second(-1);
  const Job early = job_of(1, 10, 60, 4), late = job_of(2, 1'000, 60, 4);
  EXPECT_LT(score_of(early, settings, at_second(5'000)), score_of(late, settings, at_second(5'000)));
  EXPECT_EQ(score_of(late, settings, at_second(5'000)), score_of(late, settings, at_second(9'000)));
}

TEST(Order, the_waiting_go_first_under_wfp3_and_single_processors_under_unicep) {
  const Time now = at_second(1'000);
  const PlannerSettings wfp3 = settings_of(OrderPolicy::wfp3), unicep = settings_of(OrderPolicy::unicep);
  EXPECT_LT(score_of(job_of(1, 0, 60, 4), wfp3, now), score_of(job_of(2, 900, 60, 4), wfp3, now));
  EXPECT_LT(score_of(job_of(2, 900, 60, 1), unicep, now), score_of(job_of(1, 0, 60, 2), unicep, now));
}

TEST(Order, guarded_puts_long_jobs_back_by_hours_only) {
  const PlannerSettings settings = settings_of(OrderPolicy::guarded);
  const Time now = at_second(100'000);
  const auto score = [&](std::int64_t submit, std::uint32_t estimate) {
    Job job = job_of(1, submit, estimate, 1);
    job.time_limit_minutes = 24 * 60;
    return score_of(job, settings, now, 100).value;
  };
  EXPECT_EQ(score(1'000, 60), Fixed::from_integer(1'300));
  EXPECT_LT(score(1'000, 60), score(900, 100)) << "five times the estimate";
  EXPECT_LT(score(1'000, 100'000), score(30'000, 1)) << "but not by more than eight hours";
}

TEST(Order, guarded_has_an_express_lane_by_limit_and_width) {
  const PlannerSettings settings = settings_of(OrderPolicy::guarded);
  const Time now = at_second(800'000);
  const auto score = [&](std::int64_t submit, std::uint32_t limit_minutes, std::uint32_t processors) {
    Job job = job_of(1, submit, 60, processors);
    job.time_limit_minutes = limit_minutes;
    return score_of(job, settings, now, 100);
  };
  EXPECT_LT(score(700'000, 30, 25), score(100'000, 31, 1)) << "before whoever came in the last seven days";
  EXPECT_LT(score(1'000, 31, 1), score(700'000, 30, 25)) << "not before those who came earlier";
  EXPECT_LT(score(100'000, 31, 1), score(700'000, 30, 26)) << "not with more than a quarter of the partition";
}

TEST(Order, guarded_counts_from_when_the_job_could_have_run) {
  const PlannerSettings settings = settings_of(OrderPolicy::guarded);
  Job job = job_of(1, 1'000, 60, 1);
  job.time_limit_minutes = 60;
  job.eligible_at = at_second(5'000);
  EXPECT_EQ(score_of(job, settings, at_second(9'000), 100).value, Fixed::from_integer(5'300));
}

TEST(Prediction, is_the_mean_of_the_last_two_within_the_request) {
  RunHistory history;
  EXPECT_EQ(predicted_seconds(history, 3'600), 3'600u);
  history = remember_run(history, 100);
  EXPECT_EQ(predicted_seconds(history, 3'600), 3'600u) << "one run says too little";
  history = remember_run(history, 301);
  EXPECT_EQ(predicted_seconds(history, 3'600), 200u);
  EXPECT_EQ(predicted_seconds(history, 120), 120u);
  history = remember_run(history, 0);
  EXPECT_EQ(predicted_seconds(history, 3'600), 151u) << "the oldest is forgotten; no time counts as a second";
  EXPECT_EQ(predicted_seconds(history, 0), 1u);
}

}  // namespace
}  // namespace millrace
