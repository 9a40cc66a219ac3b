// src/store/compaction.h - what a snapshot in the making holds, and the removal of what it replaces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ports/event_log.h"
#include "ports/filesystem.h"
#include "store/payload.h"
#include "store/segment.h"
#include "store/snapshot.h"
#include "store/wal.h"

namespace millrace {

struct Wal::Compaction {
  static constexpr std::uint64_t piece_size = 4u << 20;

  Compaction(std::uint64_t i, std::string s, std::vector<PayloadId> l, std::move_only_function<void(Result<void>)> d)
      : index(i), state(std::move(s)), live(std::move(l)), done(std::move(d)) {
    std::ranges::sort(live);
  }

  const std::uint64_t index;
  std::string state;
  std::vector<PayloadId> live;  // sorted
  std::move_only_function<void(Result<void>)> done;
  std::uint64_t first_segment = 0;
  std::uint64_t bytes_before = 0;  // of log at the time of the snapshot
  std::vector<PayloadId> to_copy;
  struct Piece {
    PayloadId id;
    SegmentHeader segment;
    PayloadPlace place;
    Result<std::string> bytes;
  };
  std::vector<Piece> copying;
  bool has_room = false;
  std::optional<SnapshotWriter> file;
  Result<bool> written = false;
};

// Segments before `first_segment` and snapshots before `index`. What cannot be removed now is removed at the next
// snapshot or the next start, so a failure needs no answer.
void remove_obsolete_files(Filesystem& files, std::uint64_t index, std::uint64_t first_segment);

}  // namespace millrace
