// src/core/ledger/use_test.cpp - usage fades as the closed form says, in however many steps it is brought up to date.
#include "core/ledger/use.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr Time start{1'800'000'000'000'000};

Use running(std::int64_t cpus) {
  Use use;
  use.running = 1;
  use.tres[tres_cpu] = use.tres[tres_billing] = cpus;
  use.rate[tres_cpu] = use.rate[tres_billing] = cpus * 1000;
  use.as_of = start;
  return use;
}

TEST(Use, Grows_by_what_is_held_when_nothing_fades) {
  Use use = running(4);
  settle(use, {0, 300}, start + seconds(100));
  EXPECT_EQ(to_integer(use.usage[tres_cpu]), 400);
  EXPECT_EQ(to_integer(use.wall), 100);
}

TEST(Use, Fades_by_half_in_a_half_life) {
  Use use = running(1000);
  settle(use, {3600, 300}, start + seconds(3600));
  const Fixed after_one = use.usage[tres_cpu];
  EXPECT_EQ(to_integer(after_one), 2'596'851);  // 1000 * 3600 / ln 2 * (1 - 1/2)
  use.rate = {};
  use.running = 0;
  settle(use, {3600, 300}, start + seconds(7200));
  EXPECT_EQ(to_integer(use.usage[tres_cpu]), 2'596'851 / 2);
}

TEST(Use, Ten_thousand_small_steps_come_to_the_same_as_one) {
  Use once = running(1000), often = running(1000);
  settle(once, {604'800, 300}, start + seconds(100));
  for (int i = 1; i <= 10'000; ++i) settle(often, {604'800, 300}, start + milliseconds(10 * i));
  const Fixed difference = once.usage[tres_cpu] > often.usage[tres_cpu] ? once.usage[tres_cpu] - often.usage[tres_cpu]
                                                                        : often.usage[tres_cpu] - once.usage[tres_cpu];
  EXPECT_LT(to_integer(multiply(difference, Fixed::from_integer(10))), 1) << "of 100000 CPU seconds";
}

TEST(Use, Of_a_period_does_not_change_with_what_happens_in_it) {
  Use use = running(10);
  const Time period = period_start(start + seconds(600), 300);
  const Fixed before = usage_of_period(use, {3600, 300}, period);
  settle(use, {3600, 300}, start + seconds(610));
  use.rate[tres_billing] = 99'000;
  settle(use, {3600, 300}, start + seconds(620));
  EXPECT_EQ(usage_of_period(use, {3600, 300}, period), before);
}

TEST(Use, Run_minutes_shrink_as_the_job_runs) {
  Use use = running(2);
  use.run_rate[tres_cpu] = 2000;
  use.run_end[tres_cpu] = static_cast<__int128>(2000) * (start + minutes(10)).seconds();
  EXPECT_EQ(run_seconds_left(use, tres_cpu, start), 1200);
  EXPECT_EQ(run_seconds_left(use, tres_cpu, start + minutes(4)), 720);
  EXPECT_EQ(run_seconds_left(use, tres_cpu, start + minutes(11)), 0);
}

}  // namespace
}  // namespace millrace
