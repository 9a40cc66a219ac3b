// src/base/fixed_point.h - numbers with a fraction that are the same on every machine: 80 bits before the point, 48
// behind it.
#pragma once

#include <compare>
#include <cstdint>

namespace millrace {

// Scores, decay and fair shares are computed in this, because floating point may differ in its last bit elsewhere.
// Nothing wraps: a result beyond the range (2^79 either way) becomes the highest or lowest number, so an order stays an
// order.
struct Fixed {
  static constexpr int fraction_bits = 48;
  __int128 raw = 0;  // the number times 2^48

  auto operator<=>(const Fixed&) const = default;
  static constexpr Fixed from_integer(std::int64_t whole) { return {static_cast<__int128>(whole) << fraction_bits}; }
  static Fixed from_ratio(std::int64_t numerator, std::int64_t denominator);
  static constexpr Fixed highest() { return {~(static_cast<__int128>(1) << 127)}; }
  static constexpr Fixed lowest() { return {-highest().raw}; }
};

Fixed operator+(Fixed a, Fixed b);
Fixed operator-(Fixed a, Fixed b);
constexpr Fixed operator-(Fixed a) { return {-a.raw}; }
inline Fixed& operator+=(Fixed& a, Fixed b) { return a = a + b; }
inline Fixed& operator-=(Fixed& a, Fixed b) { return a = a - b; }

// Exact, then cut towards zero at the last bit.
Fixed multiply(Fixed a, Fixed b);
Fixed divide(Fixed a, Fixed b);  // b must not be 0

// Each within one step of the last bit, a large exp2 within 2^-54 of its size. Logarithms need x > 0, the root x >= 0.
Fixed log2(Fixed x);
Fixed log10(Fixed x);
Fixed exp2(Fixed x);  // 0 when x is below -48
Fixed sqrt(Fixed x);

std::int64_t to_integer(Fixed x);  // the largest whole number not above x, within 64 bits

}  // namespace millrace
