// src/store/writer.h - the worker's half of the event log: turns groups of records into one write and one sync.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/shared_value.h"
#include "ports/event_log.h"
#include "ports/filesystem.h"
#include "store/high_mark.h"
#include "store/payload.h"
#include "store/segment.h"

namespace millrace {

struct WalSettings {
  std::uint64_t segment_size = 64u << 20;  // a new segment is begun above this
  std::uint64_t reserve_size = 16u << 20;  // kept for ends and cancels when there is no room for more
  std::uint64_t reserve_step = 32u << 20;  // room made ahead of need, beyond the reserve
  std::uint64_t salt = 0;                  // any number; a fixed one gives the same bytes again (golden logs)
};

// Records of one append, or the wish for a new segment.
struct LogItem {
  std::vector<std::pair<PayloadId, SharedValue<std::string>>> payloads;
  std::vector<std::string> events;
  std::uint64_t first_index = 0;
  bool begin_segment = false;
  EventLog::Durable done;
  std::uint64_t size() const;  // of its records
};

// What the worker does in one go. The loop fills the first half and reads the second.
struct LogGroup {
  std::vector<LogItem> items;

  Result<void> outcome;              // an error poisons the log
  std::vector<PayloadPlace> places;  // of the payloads of all items, in order
  std::vector<SegmentHeader> begun;  // segments
  std::uint64_t room = 0;            // afterwards
};

// Used on the worker only, after open.
class LogWriter {
 public:
  LogWriter(Filesystem& files, const WalSettings& settings) : files_(files), settings_(settings), high_mark_(files) {}

  Result<void> begin_first(std::uint64_t number, std::uint64_t first_index);   // a segment where none is open
  Result<void> reopen(const SegmentHeader& segment, std::uint64_t append_at);  // the last one of a recovered log

  HighMark& high_mark() { return high_mark_; }
  void write(LogGroup& group);
  // Makes room ahead, for at least `wanted` bytes beyond the reserve; tried by every write() and when somebody asks.
  // False when there is no room for them.
  bool reserve(std::uint64_t wanted = 0);
  std::uint64_t room() const { return reserved_ > end_ ? reserved_ - end_ : 0; }
  const SegmentHeader& segment() const { return segment_; }

 private:
  Result<void> write_items(LogGroup& group);
  void encode(LogGroup& group, std::string& out);
  Result<std::unique_ptr<File>> prepare(const SegmentHeader& segment);
  Result<void> begin_next(LogGroup& group, std::uint64_t first_index);
  Result<void> adopt(std::unique_ptr<File> file, const SegmentHeader& segment);
  std::uint64_t ahead() const { return settings_.reserve_size + 2 * settings_.reserve_step; }

  Filesystem& files_;
  const WalSettings settings_;
  HighMark high_mark_;
  std::unique_ptr<File> file_;
  SegmentHeader segment_;
  std::uint64_t end_ = 0;       // everything before it is on stable storage
  std::uint64_t reserved_ = 0;  // the file may grow to here without asking the file system
};

}  // namespace millrace
