// src/core/model/request_limits.h - how much one job or step may ask for: sums and products of it fit, and what is made
// for each task stays bounded.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/quantity.h"

namespace millrace {

constexpr std::uint32_t tasks_max = 1'000'000;
constexpr std::uint32_t cpus_of_node_max = 1'000'000;
constexpr std::uint32_t array_index_max = 4'000'000;  // MaxArraySize is at most one more
constexpr std::int64_t mebibytes_max = 1LL << 36;     // for each node, CPU or gpu; no machine has a part of it

// A size as a message has it. What is more than there can be stays more than there is.
constexpr std::int64_t bounded_mebibytes(std::uint64_t size) {
  return static_cast<std::int64_t>(std::min(size, static_cast<std::uint64_t>(mebibytes_max)));
}

// Counts and microseconds since 1970 as a message has them: none below zero, and sums of many fit. The latest is in the
// year 2255.
constexpr std::int64_t count_max = 1LL << 53;
constexpr std::int64_t bounded_count(std::int64_t told) { return std::clamp<std::int64_t>(told, 0, count_max); }
// Of sizes and counts that are not below zero. Sums of many such fit, too.
constexpr std::int64_t bounded_product(std::int64_t a, std::int64_t b) {
  return bounded_count(saturating_multiply(a, b));
}
constexpr Time bounded_time(std::int64_t told) { return {told == never.value ? told : bounded_count(told)}; }
constexpr Duration bounded_duration(std::int64_t told) {
  return {told == INT64_MAX ? told : std::clamp(told, -count_max, count_max)};
}

}  // namespace millrace
