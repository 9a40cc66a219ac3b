// src/core/model/cron_test.cpp - times of crontabs as cron has read them for forty years.
#include "core/model/cron.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Cron, Numbers_ranges_lists_steps_and_names) {
  const auto times = parse_cron("*/15,7 8-10 1,15 jan-mar mon");
  ASSERT_TRUE(times) << times.error().story;
  EXPECT_EQ(times->minutes, (1ULL << 0 | 1ULL << 15 | 1ULL << 30 | 1ULL << 45 | 1ULL << 7));
  EXPECT_EQ(times->hours, (1u << 8 | 1u << 9 | 1u << 10));
  EXPECT_EQ(times->days, (1u << 1 | 1u << 15));
  EXPECT_EQ(times->months, (1u << 1 | 1u << 2 | 1u << 3));
  EXPECT_EQ(times->weekdays, 1u << 1);
  EXPECT_TRUE(times->has_day(15, 3)) << "both are restricted: one is enough";
  EXPECT_TRUE(times->has_day(2, 1));
  EXPECT_FALSE(times->has_day(2, 3));
  EXPECT_EQ(parse_cron("5/20 * * * *")->minutes, (1ULL << 5 | 1ULL << 25 | 1ULL << 45));
  EXPECT_EQ(parse_cron("0 0 * * 7")->weekdays, 1u);
  EXPECT_EQ(*parse_cron(" 0\t0  *\t* * "), *parse_cron("@daily"));
  EXPECT_FALSE(parse_cron("0 0 * * *")->any_hour);
  EXPECT_TRUE(parse_cron("0 */2 * * *")->any_hour);
}

TEST(Cron, Words) {
  EXPECT_EQ(*parse_cron("@daily"), *parse_cron("0 0 * * *"));
  EXPECT_EQ(*parse_cron("@FIKA"), *parse_cron("0 15 * * *"));
}

TEST(Cron, What_is_wrong_is_said) {
  for (const char* wrong : {"", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8",
                            "5-1 * * * *", "*/0 * * * *", "x * * * *", "1,,2 * * * *", "@reboot", "* * * * * *"}) {
    const auto times = parse_cron(wrong);
    ASSERT_FALSE(times) << wrong;
    EXPECT_NE(times.error().story.find("right"), std::string::npos) << times.error().story;
  }
}

}  // namespace
}  // namespace millrace
