// src/base/quantity_test.cpp - amounts and times do not wrap, however large what was sent is.
#include "base/quantity.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Quantity, Sums_and_products_end_at_the_largest_number) {
  EXPECT_EQ(never + seconds(1), never);
  EXPECT_EQ(never + seconds(-1), Time{INT64_MAX - 1'000'000});
  EXPECT_EQ(Time{INT64_MIN} - seconds(1), Time{INT64_MIN});
  EXPECT_EQ(never - Time{-1}, Duration{INT64_MAX});
  EXPECT_EQ(minutes(INT64_MAX), Duration{INT64_MAX});
  EXPECT_EQ(minutes(INT64_MIN), Duration{INT64_MIN});
  EXPECT_EQ(Cpus{INT64_MAX} + Cpus{1}, Cpus{INT64_MAX});
  EXPECT_EQ(Cpus{INT64_MIN} * 2, Cpus{INT64_MIN});
  Cpus count{INT64_MAX};
  count += Cpus{7};
  EXPECT_EQ(count, Cpus{INT64_MAX});
  EXPECT_EQ(seconds(2) + seconds(3), seconds(5));
}

}  // namespace
}  // namespace millrace
