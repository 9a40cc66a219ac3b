// src/apps/log_dump.h - an event log as text: one line per record, also where it is damaged.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ports/filesystem.h"

namespace millrace {

struct LogDumpOptions {
  std::uint64_t from = 0;  // events before this index are left out
  bool payloads = false;   // what they hold, too
};

struct LogDumpCounts {
  std::uint64_t records = 0, events = 0, payloads = 0, damaged = 0, last_index = 0;
};

// Changes nothing. Lines come as they are read, so that a large log needs no large memory beyond a segment.
Result<LogDumpCounts> dump_log(Filesystem& files, const LogDumpOptions& options,
                               const std::function<void(std::string_view line)>& line);

}  // namespace millrace
