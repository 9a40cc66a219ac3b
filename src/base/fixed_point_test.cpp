// src/base/fixed_point_test.cpp - fixed point against the machine's long double, at the edges and at random.
#include "base/fixed_point.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/prng.h"

namespace millrace {
namespace {

constexpr long double step = 0x1p-48L;
long double value_of(Fixed x) { return static_cast<long double>(x.raw) * step; }

// EXPECT_NEAR goes through double, which is too coarse here.
void expect_near(long double seen, long double right, long double allowed) {
  EXPECT_LE(std::fabs(seen - right), allowed) << "saw " << seen << ", right is " << right;
}

// Of any size from 2^-48 to 2^78, each size equally likely.
Fixed random_positive(Prng& random) {
  const auto bits = static_cast<int>(random.below(126)) + 1;
  const __int128 raw = (static_cast<__int128>(random.next()) << 62) ^ static_cast<__int128>(random.next() >> 1);
  return {(raw >> (126 - bits)) | 1};
}

TEST(Fixed, numbers_and_ratios_are_what_they_say) {
  EXPECT_EQ(to_integer(Fixed::from_integer(-7)), -7);
  EXPECT_EQ(to_integer(Fixed::from_ratio(-7, 2)), -4);
  EXPECT_EQ(to_integer(Fixed::from_ratio(7, 2)), 3);
  EXPECT_EQ(Fixed::from_ratio(1, 2).raw, static_cast<__int128>(1) << 47);
  EXPECT_LT(Fixed::from_ratio(1, 3), Fixed::from_ratio(1, 2));
  EXPECT_EQ(to_integer(Fixed::highest()), INT64_MAX);
}

TEST(Fixed, sums_and_products_stop_at_the_ends_of_the_range) {
  const Fixed one = Fixed::from_integer(1);
  EXPECT_EQ(Fixed::highest() + one, Fixed::highest());
  EXPECT_EQ(Fixed::lowest() - one, Fixed::lowest());
  EXPECT_EQ(multiply(Fixed::highest(), Fixed::from_integer(-2)), Fixed::lowest());
  EXPECT_EQ(divide(Fixed::highest(), Fixed::from_ratio(1, 2)), Fixed::highest());
  EXPECT_EQ(exp2(Fixed::from_integer(79)), Fixed::highest());
  EXPECT_EQ(multiply(Fixed::highest(), one), Fixed::highest());
}

TEST(Fixed, products_and_quotients_agree_with_long_double) {
  Prng random(1);
  for (int i = 0; i < 20'000; ++i) {
    const Fixed a = random_positive(random), b = random_positive(random);
    const long double product = value_of(a) * value_of(b), quotient = value_of(a) / value_of(b);
    if (product < 0x1p78L) expect_near(value_of(multiply(a, b)), product, step + product * 0x1p-62L);
    if (quotient < 0x1p78L) expect_near(value_of(divide(a, b)), quotient, step + quotient * 0x1p-62L);
    EXPECT_EQ(multiply(-a, b), -multiply(a, b));
    EXPECT_EQ(divide(-a, b), -divide(a, b));
  }
}

TEST(Fixed, logarithms_and_roots_agree_with_long_double_to_the_last_bit) {
  Prng random(2);
  for (int i = 0; i < 20'000; ++i) {
    const Fixed x = random_positive(random);
    expect_near(value_of(log2(x)), std::log2(value_of(x)), step * 1.01L);
    expect_near(value_of(log10(x)), std::log10(value_of(x)), step * 1.01L);
    const long double root = std::sqrt(value_of(x));
    expect_near(value_of(sqrt(x)), root, step + root * 0x1p-62L);
  }
}

TEST(Fixed, exp2_agrees_with_long_double_and_undoes_log2) {
  Prng random(3);
  for (int i = 0; i < 20'000; ++i) {
    const Fixed x{static_cast<__int128>(random.between(-50, 77)) * (static_cast<__int128>(1) << 48) +
                  static_cast<__int128>(random.below(1ULL << 48))};
    const long double power = std::exp2(value_of(x));
    expect_near(value_of(exp2(x)), power, step + power * 0x1p-54L);
  }
  for (std::int64_t whole = 1; whole < 1'000'000; whole = whole * 3 + 1)
    expect_near(value_of(exp2(log2(Fixed::from_integer(whole)))), static_cast<long double>(whole),
                static_cast<long double>(whole) * 0x1p-46L);
}

TEST(Fixed, powers_of_two_and_squares_are_exact) {
  for (int power = 0; power < 60; ++power) {
    EXPECT_EQ(log2(Fixed::from_integer(std::int64_t{1} << power)), Fixed::from_integer(power));
    EXPECT_EQ(exp2(Fixed::from_integer(power)), Fixed::from_integer(std::int64_t{1} << power));
  }
  for (std::int64_t side = 0; side < 100'000; side += 77)
    EXPECT_EQ(sqrt(Fixed::from_integer(side * side)), Fixed::from_integer(side));
  EXPECT_EQ(exp2(Fixed::from_integer(-60)), Fixed{});
}

}  // namespace
}  // namespace millrace
