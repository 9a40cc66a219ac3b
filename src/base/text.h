// src/base/text.h - small text questions: splitting, trimming, numbers, sizes and durations as Slurm writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"

namespace millrace {

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string lower(std::string_view text);
bool equals_ignoring_case(std::string_view a, std::string_view b);
std::optional<std::int64_t> parse_integer(std::string_view text);  // whole text, decimal, optional sign

// "4G", "512", "100K": mebibytes; the unit defaults to M. Rounded up. Empty when it is not a size.
std::optional<Mebibytes> parse_memory(std::string_view text);

// Slurm's duration input: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S, UNLIMITED/INFINITE/-1.
struct ParsedDuration {
  bool unlimited = false;
  std::int64_t seconds = 0;
};
std::optional<ParsedDuration> parse_duration(std::string_view text);
// [D-]HH:MM:SS
std::string format_duration(std::int64_t seconds);

std::string to_hex(std::string_view bytes);
std::optional<std::string> from_hex(std::string_view text);

// 2,2,2,1 -> "2(x3),1", as Slurm writes counts by node.
std::string compress_counts(const std::vector<std::uint32_t>& counts);

}  // namespace millrace
