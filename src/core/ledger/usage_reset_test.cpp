// src/core/ledger/usage_reset_test.cpp - the calendar by which usage is forgotten.
#include "core/ledger/usage_reset.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr Time since{1'709'210'096'000'000};  // Thursday 2024-02-29T12:34:56Z

std::int64_t days_later(ResetPeriod period) {
  const Time next = next_usage_reset(period, since);
  EXPECT_EQ(next.seconds() % 86400, 0);
  return next.seconds() / 86400 - since.seconds() / 86400;
}

TEST(UsageResetPeriod, Begins_with_the_next_day_Sunday_month_quarter_or_year) {
  EXPECT_EQ(days_later(ResetPeriod::daily), 1);
  EXPECT_EQ(days_later(ResetPeriod::weekly), 3);
  EXPECT_EQ(days_later(ResetPeriod::monthly), 1);
  EXPECT_EQ(days_later(ResetPeriod::quarterly), 32);
  EXPECT_EQ(days_later(ResetPeriod::yearly), 307);
  EXPECT_EQ(next_usage_reset(ResetPeriod::none, since), never);
}

}  // namespace
}  // namespace millrace
