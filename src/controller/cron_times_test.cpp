// src/controller/cron_times_test.cpp - the next time of a line, also at the end of months, in leap years and when the clock changes.
#include "controller/cron_times.h"

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

TEST_F(CronTime, Goes_on_when_the_clock_is_changed) {
  EXPECT_EQ(next("30 2 * * *", "2026-03-28T12:00"), "2026-03-30T02:30") << "there is no half past two that day";
  EXPECT_EQ(next("30 3 * * *", "2026-03-28T12:00"), "2026-03-29T03:30");
  EXPECT_EQ(next("30 4 * * *", "2026-10-24T12:00"), "2026-10-25T04:30");
  EXPECT_EQ(next("0 * * * *", "2026-10-25T01:30"), "2026-10-25T02:00");
}

}  // namespace
}  // namespace millrace
