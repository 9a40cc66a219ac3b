// src/sim/swf.h - reads and writes the Standard Workload Format, the archive's 18 columns per job, plain or gzip.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace millrace {

// One line, in the order of the format; -1 means that the log does not say. Times in seconds, memory in KiB per
// processor.
struct SwfJob {
  std::int64_t number = -1, submit = -1, wait = -1, run = -1, allocated = -1, cpu_time = -1, used_memory = -1;
  std::int64_t requested_processors = -1, requested_time = -1, requested_memory = -1, status = -1;
  std::int64_t user = -1, group = -1, executable = -1, queue = -1, partition = -1, preceding = -1, think_time = -1;
  bool operator==(const SwfJob&) const = default;
};

struct SwfTrace {
  std::string name;  // of the file, for messages
  std::vector<std::pair<std::string, std::string>>
      header;                // "; Key: value", in order; the key is empty where a line has none
  std::vector<SwfJob> jobs;  // in the order of the file

  // The first whole number of a header's value: "MaxProcs: 338" and "MaxNodes: 338 (batch partition)".
  std::optional<std::int64_t> header_number(std::string_view key) const;
};

// A line that is not 18 numbers is an error that names file, line, field and what would be right.
Result<SwfTrace> parse_swf(std::string_view text, std::string name);
Result<SwfTrace> read_swf(const std::string& path);

std::string format_swf(const SwfJob& job);  // one line, without its end

// The whole of a file, unpacked if it is gzip.
Result<std::string> read_packed_file(const std::string& path);

}  // namespace millrace
