// src/store/recover.h - reads a log back after any kind of end, cuts what was torn, and refuses what is damaged.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ports/event_log.h"
#include "ports/filesystem.h"
#include "store/payload.h"
#include "store/segment.h"

namespace millrace {

constexpr std::string_view segment_temporary_name = "segment.new";

struct RecoveredLog {
  Recovered recovered;
  PayloadIndex payloads;
  std::map<std::uint64_t, SegmentHeader> segments;  // by number
  std::uint64_t next_index = 1;
  std::uint64_t next_segment = 1;
  std::uint64_t bytes_since_snapshot = 0;
  // The end of the last segment, where the next record goes; 0: a new segment must be begun.
  std::uint64_t append_at = 0;
};

// Blocks. When it returns, what it found is on stable storage and what it cut is gone for good.
Result<RecoveredLog> recover_log(Filesystem& files);

// For people who look into a log. Nothing is changed, and damage does not stop it.
struct ScannedRecord {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::string type;  // event, payload, synced, end, segment, snapshot; "damaged" for what is none of them
  std::uint64_t index = 0;
  bool crc_ok = false;
  std::string_view body;  // of an event or payload
  std::string story;      // of what is damaged
};
Result<void> scan_log(Filesystem& files, const std::function<void(const ScannedRecord&)>& visit);

}  // namespace millrace
