// src/base/quantity.h - identities and counted amounts that must not be mixed up.
#pragma once

#include <compare>
#include <cstdint>

namespace millrace {

template <class Tag, class Number = std::uint32_t>
struct Id {
  Number value{};
  auto operator<=>(const Id&) const = default;
};

// Sums and products end at the largest and smallest number instead of wrapping: an amount or a time that somebody sent
// may be anything, and whatever is added to it later must stay as far away.
constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}
constexpr std::int64_t saturating_subtract(std::int64_t a, std::int64_t b) {
  std::int64_t rest = 0;
  return __builtin_sub_overflow(a, b, &rest) ? (b < 0 ? INT64_MAX : INT64_MIN) : rest;
}
constexpr std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? ((a < 0) == (b < 0) ? INT64_MAX : INT64_MIN) : product;
}

template <class Tag>
struct Quantity {
  std::int64_t value{};
  auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    value = saturating_add(value, other.value);
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value = saturating_subtract(value, other.value);
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {saturating_add(a.value, b.value)}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {saturating_subtract(a.value, b.value)}; }
  friend constexpr Quantity operator*(Quantity a, std::int64_t count) { return {saturating_multiply(a.value, count)}; }
};

using JobKey = Id<struct JobKeyTag, std::uint64_t>;  // names a job in log and accounting, never reused
using JobId = Id<struct JobTag>;                     // the number people see; wraps between FirstJobId and MaxJobId
using NodeIndex = Id<struct NodeTag>;
using PartitionIndex = Id<struct PartitionTag>;
using Attempt = Id<struct AttemptTag>;  // 0 for the first run of a job, one more for each requeue
using Epoch = Id<struct EpochTag, std::uint64_t>;
using UserId = Id<struct UserTag>;
using GroupId = Id<struct GroupTag>;

using Cpus = Quantity<struct CpusTag>;
using Mebibytes = Quantity<struct MebibytesTag>;
using Duration = Quantity<struct DurationTag>;  // microseconds

// Microseconds since 1970, given by the caller; core/ has no clock. Zero means "not set".
struct Time {
  std::int64_t value{};
  auto operator<=>(const Time&) const = default;
  constexpr bool is_set() const { return value != 0; }
  constexpr std::int64_t seconds() const { return value / 1'000'000; }
  friend constexpr Time operator+(Time a, Duration b) { return {saturating_add(a.value, b.value)}; }
  friend constexpr Time operator-(Time a, Duration b) { return {saturating_subtract(a.value, b.value)}; }
  friend constexpr Duration operator-(Time a, Time b) { return {saturating_subtract(a.value, b.value)}; }
};

constexpr Time never{INT64_MAX};

constexpr Duration microseconds(std::int64_t count) { return {count}; }
constexpr Duration milliseconds(std::int64_t count) { return {saturating_multiply(count, 1'000)}; }
constexpr Duration seconds(std::int64_t count) { return {saturating_multiply(count, 1'000'000)}; }
constexpr Duration minutes(std::int64_t count) { return {saturating_multiply(count, 60'000'000)}; }

}  // namespace millrace
