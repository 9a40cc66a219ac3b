// src/cli/options/job_values.h - what the values of job options mean: counts, sizes, times, node lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

struct NodeCount {
  std::uint32_t least, most;
  std::string counts;  // 1,3-7:2: one of these and no other; empty: any between the two
};

Result<NodeCount> parse_node_count(std::string_view text);
Result<std::uint32_t> parse_positive(std::string_view option, std::string_view text);
// Like base's parse_memory, and also 4GB, 512MB.
std::optional<std::uint64_t> parse_size_mib(std::string_view text);
// Minutes, rounded up; 0xffffffff for no limit.
std::optional<std::uint32_t> parse_limit_minutes(std::string_view text);
// --begin: seconds since 1970, of a time like 16:00, 2026-11-15T07:00, now+1hour, tomorrow. A past time is that time.
std::optional<std::int64_t> parse_time_of_day(std::string_view text, std::int64_t now);
// A list as given, or the names in the file when it has a '/'.
Result<std::string> node_list(std::string_view text);
// "TERM", "SIGUSR1", "10" -> number.
// "NOFILE,CORE", ALL or NONE: the names of limits; an error names those there are.
Result<std::vector<std::string>> limit_names(std::string_view list);
std::optional<std::uint32_t> parse_signal(std::string_view text);

}  // namespace millrace
