// src/base/log_level.h - how much a daemon says: levels, subsystems that may say more, and the form of times; Slurm's
// words for each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

enum class LogLevel : std::uint8_t { quiet, fatal, error, info, verbose, debug, debug2, debug3, debug4, debug5 };

constexpr LogLevel loudest = LogLevel::debug5;
std::string_view name_of(LogLevel level);
std::string_view prefix_of(LogLevel level);                      // "error: ", "debug2: "; nothing for info and verbose
std::optional<LogLevel> parse_log_level(std::string_view text);  // a name, or 0 to 9
LogLevel raised(LogLevel from, unsigned by);                     // as -v does, which stops at the last

// Subsystems of Slurm that can be told to say more (DebugFlags). Those with a prefix have something to say here.
enum class DebugFlag : std::uint8_t {
  agent,
  audit_rpcs,
  backfill,
  cgroup,
  cpu_bind,
  dependency,
  gang,
  gres,
  hetjob,
  license,
  network,
  power,
  priority,
  protocol,
  reservation,
  script,
  select_type,
  steps,
  trace_jobs,
  triggers,
  without_lines  // the last stands for all the others
};
using DebugFlags = std::uint64_t;  // one bit for each row of debug_flags()

struct DebugFlagRow {
  std::string_view name, prefix;
  DebugFlag flag;
};
std::span<const DebugFlagRow> debug_flags();  // every one that Slurm knows
DebugFlags bit_of(DebugFlag flag);
Result<DebugFlags> parse_debug_flags(std::string_view list);  // names with commas between them
std::string names_of_flags(DebugFlags flags);
std::string flags_without_lines(DebugFlags flags);  // the names of those that have nothing to say here

enum class LogTimeFormat : std::uint8_t {
  iso8601,
  iso8601_ms,
  rfc5424,
  rfc5424_ms,
  rfc3339,
  clock,
  short_form,
  thread_id
};
Result<LogTimeFormat> parse_log_time_format(std::string_view text);

}  // namespace millrace
