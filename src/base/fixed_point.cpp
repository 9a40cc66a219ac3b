// src/base/fixed_point.cpp - see fixed_point.h.
#include "base/fixed_point.h"

#include <array>
#include <bit>

#include "base/assert.h"

namespace millrace {
namespace {

using Wide = unsigned __int128;
constexpr Wide highest_raw = ~static_cast<Wide>(0) >> 1;

Wide magnitude(Fixed x) { return x.raw < 0 ? -static_cast<Wide>(x.raw) : static_cast<Wide>(x.raw); }

Fixed with_sign(Wide size, bool negative) {
  if (size > highest_raw) size = highest_raw;
  const auto raw = static_cast<__int128>(size);
  return {negative ? -raw : raw};
}

int highest_bit(Wide x) {
  const auto high = static_cast<std::uint64_t>(x >> 64);
  return high != 0 ? 127 - std::countl_zero(high) : 63 - std::countl_zero(static_cast<std::uint64_t>(x));
}

// The largest root with root * root <= value * 2^shift, two bits of the number at a time. The root has less than 90
// bits.
constexpr Wide integer_root(Wide value, int shift) {
  Wide root = 0, rest = 0;
  for (int at = 126; at >= -shift; at -= 2) {
    const Wide pair = at >= 0 ? value >> at & 3 : 0;
    rest = rest << 2 | pair;
    root <<= 1;
    const Wide trial = root << 1 | 1;
    if (trial <= rest) {
      rest -= trial;
      root |= 1;
    }
  }
  return root;
}

// Binary logarithm as a whole part and a fraction of 62 bits.
struct Logarithm {
  int whole;
  std::uint64_t fraction;
};

// Squaring the mantissa doubles its logarithm: each time it passes 2, the next bit is 1. An error made at step k counts
// 2^-k.
Logarithm logarithm(Wide raw) {
  const int top = highest_bit(raw);
  std::uint64_t mantissa =
      top >= 63 ? static_cast<std::uint64_t>(raw >> (top - 63)) : static_cast<std::uint64_t>(raw) << (63 - top);
  std::uint64_t fraction = 0;
  for (int bit = 61; bit >= 0; --bit) {
    const Wide square = static_cast<Wide>(mantissa) * mantissa;  // in [1, 4) with 126 bits of fraction
    const bool passed = (square >> 127) != 0;
    mantissa = static_cast<std::uint64_t>(square >> (passed ? 64 : 63));
    if (passed) fraction |= std::uint64_t{1} << bit;
    if (mantissa == std::uint64_t{1} << 63) break;  // exactly a power: nothing more will come
  }
  return {top - Fixed::fraction_bits, fraction};
}

// 2^(1/2), 2^(1/4), 2^(1/8) ... with 62 bits of fraction.
constexpr std::array<std::uint64_t, Fixed::fraction_bits> make_roots_of_two() {
  std::array<std::uint64_t, Fixed::fraction_bits> roots{};
  std::uint64_t value = std::uint64_t{2} << 62;
  for (std::uint64_t& root : roots) root = value = static_cast<std::uint64_t>(integer_root(value, 62));
  return roots;
}
constexpr auto roots_of_two = make_roots_of_two();

}  // namespace

Fixed Fixed::from_ratio(std::int64_t numerator, std::int64_t denominator) {
  MR_ASSERT(denominator != 0);
  const __int128 scaled = static_cast<__int128>(numerator) << fraction_bits;
  return {scaled / denominator};
}

Fixed operator+(Fixed a, Fixed b) {
  __int128 sum = 0;
  if (__builtin_add_overflow(a.raw, b.raw, &sum)) return a.raw < 0 ? Fixed::lowest() : Fixed::highest();
  return {sum};
}

Fixed operator-(Fixed a, Fixed b) {
  __int128 rest = 0;
  if (__builtin_sub_overflow(a.raw, b.raw, &rest)) return a.raw < 0 ? Fixed::lowest() : Fixed::highest();
  return {rest};
}

Fixed multiply(Fixed a, Fixed b) {
  const bool negative = (a.raw < 0) != (b.raw < 0);
  const Wide x = magnitude(a), y = magnitude(b);
  constexpr Wide low_half = ~std::uint64_t{0};
  const Wide low = (x & low_half) * (y & low_half);
  const Wide cross = (x >> 64) * (y & low_half), other = (x & low_half) * (y >> 64);
  const Wide middle = (low >> 64) + (cross & low_half) + (other & low_half);
  const Wide high = (x >> 64) * (y >> 64) + (cross >> 64) + (other >> 64) + (middle >> 64);
  constexpr int up = 128 - Fixed::fraction_bits;
  if (high >> (Fixed::fraction_bits - 1) != 0) return with_sign(highest_raw, negative);
  const Wide lower = middle << 64 | (low & low_half);
  return with_sign(high << up | lower >> Fixed::fraction_bits, negative);
}

Fixed divide(Fixed a, Fixed b) {
  MR_ASSERT(b.raw != 0);
  const bool negative = (a.raw < 0) != (b.raw < 0);
  const Wide x = magnitude(a), y = magnitude(b);
  Wide quotient = x / y, rest = x % y;
  if (quotient >> (127 - Fixed::fraction_bits) != 0) return with_sign(highest_raw, negative);
  if (rest >> (128 - Fixed::fraction_bits) == 0)  // the usual case: one division more
    return with_sign(quotient << Fixed::fraction_bits | (rest << Fixed::fraction_bits) / y, negative);
  for (int bit = 0; bit < Fixed::fraction_bits; ++bit) {
    rest <<= 1;  // below 2^128, since rest < y <= 2^127
    quotient = quotient << 1 | (rest >= y ? 1 : 0);
    if (rest >= y) rest -= y;
  }
  return with_sign(quotient, negative);
}

Fixed log2(Fixed x) {
  MR_ASSERT(x.raw > 0);
  const Logarithm log = logarithm(static_cast<Wide>(x.raw));
  constexpr int cut = 62 - Fixed::fraction_bits;
  return {Fixed::from_integer(log.whole).raw + static_cast<__int128>(log.fraction >> cut)};
}

Fixed log10(Fixed x) {
  MR_ASSERT(x.raw > 0);
  constexpr std::uint64_t log10_of_2 = 5'553'023'288'523'357'132;  // 64 bits of fraction
  const Logarithm log = logarithm(static_cast<Wide>(x.raw));
  const __int128 whole = static_cast<__int128>(log10_of_2) * log.whole;
  const auto part = static_cast<__int128>(static_cast<Wide>(log10_of_2) * log.fraction >> 62);
  return {(whole + part) >> (64 - Fixed::fraction_bits)};
}

Fixed exp2(Fixed x) {
  if (x >= Fixed::from_integer(127 - Fixed::fraction_bits)) return Fixed::highest();
  const std::int64_t whole = to_integer(x);
  if (whole < -Fixed::fraction_bits) return {};
  std::uint64_t product = std::uint64_t{1} << 62;
  for (int bit = 0; bit < Fixed::fraction_bits; ++bit)
    if ((x.raw >> (Fixed::fraction_bits - 1 - bit) & 1) != 0)
      product =
          static_cast<std::uint64_t>(static_cast<Wide>(product) * roots_of_two[static_cast<std::size_t>(bit)] >> 62);
  const auto down = 62 - Fixed::fraction_bits - whole;
  return {down >= 0 ? static_cast<__int128>(product >> down) : static_cast<__int128>(product) << -down};
}

Fixed sqrt(Fixed x) {
  MR_ASSERT(x.raw >= 0);
  return {static_cast<__int128>(integer_root(static_cast<Wide>(x.raw), Fixed::fraction_bits))};
}

std::int64_t to_integer(Fixed x) {
  const __int128 whole = x.raw >> Fixed::fraction_bits;
  if (whole > INT64_MAX) return INT64_MAX;
  return whole < INT64_MIN ? INT64_MIN : static_cast<std::int64_t>(whole);
}

}  // namespace millrace
