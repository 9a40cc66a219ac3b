// src/controller/readers/cron_times_test.cpp - the next time of a line, also at the end of months, in leap years and
// when the clock changes.
#include "controller/readers/cron_times.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

namespace millrace {
namespace {

struct CronTime : testing::Test {
  void SetUp() override {
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
  }
  void TearDown() override {
    unsetenv("TZ");
    tzset();
  }
  static std::string next(const char* spec, const char* after) {
    tm local{};
    strptime(after, "%Y-%m-%dT%H:%M", &local);
    local.tm_isdst = -1;
    const auto times = parse_cron(spec);
    if (!times) return times.error().story;
    const auto at = next_cron_time(*times, Time{static_cast<std::int64_t>(mktime(&local)) * 1'000'000});
    if (!at) return "never";
    const time_t seconds = at->value / 1'000'000;
    char text[32];
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M", localtime_r(&seconds, &local));
    return text;
  }
  static std::int64_t next_of(const char* spec, std::int64_t after) {
    const auto at = next_cron_time(*parse_cron(spec), Time{after * 1'000'000});
    return at ? at->value / 1'000'000 : 0;
  }
};

TEST_F(CronTime, Follows_the_fields) {
  EXPECT_EQ(next("* * * * *", "2026-11-16T04:30"), "2026-11-16T04:31");
  EXPECT_EQ(next("*/15 * * * *", "2026-11-16T04:45"), "2026-11-16T05:00");
  EXPECT_EQ(next("0 3 * * *", "2026-11-16T04:30"), "2026-11-17T03:00");
  EXPECT_EQ(next("30 6 * * mon", "2026-11-16T06:30"), "2026-11-23T06:30");
  EXPECT_EQ(next("0 0 1 * *", "2026-12-15T00:00"), "2027-01-01T00:00");
  EXPECT_EQ(next("0 0 31 * *", "2026-11-16T00:00"), "2026-12-31T00:00");
  EXPECT_EQ(next("0 12 29 2 *", "2026-11-16T00:00"), "2028-02-29T12:00");
  EXPECT_EQ(next("0 0 30 2 *", "2026-11-16T00:00"), "never");
}

TEST_F(CronTime, A_time_that_the_clock_leaves_out_is_due_when_it_is_set_forward) {
  EXPECT_EQ(next("30 2 * * *", "2026-03-28T12:00"), "2026-03-29T03:00") << "there is no half past two that day";
  EXPECT_EQ(next("30 2 * * *", "2026-03-29T03:00"), "2026-03-30T02:30");
  EXPECT_EQ(next("30 2 * * mon", "2026-03-28T12:00"), "2026-03-30T02:30") << "it is left out on a Sunday";
  EXPECT_EQ(next("30 3 * * *", "2026-03-28T12:00"), "2026-03-29T03:30");
  EXPECT_EQ(next("*/30 * * * *", "2026-03-29T01:30"), "2026-03-29T03:00");
  EXPECT_EQ(next("15 * * * *", "2026-03-29T01:15"), "2026-03-29T03:15");
  EXPECT_EQ(next("0 0 31 3 *", "2026-03-28T12:00"), "2026-03-31T00:00");
}

TEST_F(CronTime, A_time_that_comes_twice_when_the_clock_is_set_back_is_due_once) {
  constexpr std::int64_t first_half_past_two =
      1'792'888'200;  // 2026-10-25T00:30Z; the clock shows 02:00 again at 01:00Z
  EXPECT_EQ(next_of("30 2 * * *", first_half_past_two - 3600), first_half_past_two);
  EXPECT_EQ(next_of("30 2 * * *", first_half_past_two), first_half_past_two + 25 * 3600);
  EXPECT_EQ(next_of("*/30 * * * *", first_half_past_two), first_half_past_two + 1800)
      << "every half hour is every half hour";
  EXPECT_EQ(next_of("0 3 * * *", first_half_past_two), first_half_past_two + 5400);
  EXPECT_EQ(next("30 4 * * *", "2026-10-24T12:00"), "2026-10-25T04:30");
}

TEST_F(CronTime, Follows_clocks_that_change_at_midnight_or_by_half_an_hour) {
  setenv("TZ", "<-03>3<-02>,M10.1.0/0,M3.1.0/0", 1);  // midnight is left out on 4 October
  tzset();
  EXPECT_EQ(next("0 0 * * *", "2026-10-03T12:00"), "2026-10-04T01:00");
  EXPECT_EQ(next("15 0 4 10 *", "2026-10-01T12:00"), "2026-10-04T01:00");
  setenv("TZ", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 1);  // Lord Howe
  tzset();
  EXPECT_EQ(next("10 2 * * *", "2026-10-03T12:00"), "2026-10-04T02:30");
  EXPECT_EQ(next("40 1 * * *", "2026-04-04T12:00"), "2026-04-05T01:40");
}

// The fields of random lines say the same as a look at every minute.
TEST_F(CronTime, Misses_no_minute) {
  std::uint64_t seed = 88172645463325252ULL;
  const auto random = [&](std::uint64_t below) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed % below;
  };
  for (int i = 0; i < 60; ++i) {
    CronTimes times{.minutes = 1ULL << random(60),
                    .hours = static_cast<std::uint32_t>(1u << random(24) | 1u << random(24)),
                    .days = static_cast<std::uint32_t>(random(1u << 31) << 1 | 2),
                    .months = static_cast<std::uint32_t>(random(1u << 12) << 1 | 8),
                    .weekdays = static_cast<std::uint32_t>(random(1u << 7) | 1),
                    .any_day = false,
                    .any_weekday = random(2) == 0,
                    .any_hour = true};
    std::int64_t after =
        1'774'000'000 + static_cast<std::int64_t>(random(2000) * 60);  // a few days before the clock is set forward
    const auto at = next_cron_time(times, Time{after * 1'000'000});
    ASSERT_TRUE(at);
    std::int64_t looked = after / 60 * 60 + 60;
    for (;; looked += 60) {
      const time_t seconds = looked;
      tm local{};
      localtime_r(&seconds, &local);
      if ((times.months >> (local.tm_mon + 1) & 1) != 0 && times.has_day(local.tm_mday, local.tm_wday) &&
          (times.hours >> local.tm_hour & 1) != 0 && (times.minutes >> local.tm_min & 1) != 0)
        break;
    }
    ASSERT_EQ(at->value / 1'000'000, looked) << i;
  }
}

}  // namespace
}  // namespace millrace
