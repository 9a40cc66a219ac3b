// src/store/high_mark.h - the second place that knows how far the event log has been acknowledged: by it a log whose
// end was lost is told from one whose last write was torn.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ports/filesystem.h"

namespace millrace {

constexpr std::string_view high_mark_name = "acknowledged";

// Two slots in blocks of their own. Between syncs one of them alone is written, so that the other is whole after any
// end. Never ahead of the log: it is moved when the log is on stable storage. It is a help, and the log goes on without
// it: where it cannot be written it stays behind, which refuses nothing.
class HighMark {
 public:
  explicit HighMark(Filesystem& files) : files_(files) {}

  // Everything up to `index` is in the log and durable; the mark is not lower afterwards, as far as the disk lets it.
  Result<void> open(std::uint64_t index);
  void move(std::uint64_t index);  // without a sync
  Result<void> sync();             // nothing to do when it was not moved

 private:
  Result<void> make();
  Result<void> write();

  Filesystem& files_;
  std::unique_ptr<File> file_;  // none: the next sync tries again
  std::uint64_t index_ = 0, written_ = 0, synced_ = 0;
  unsigned slot_ = 0;
};

// The highest index that a whole slot holds; 0: there is no mark.
Result<std::uint64_t> read_high_mark(Filesystem& files);

// What is acknowledged and no longer there is given up: the next start makes a new mark.
Result<void> forget_high_mark(Filesystem& files);

}  // namespace millrace
