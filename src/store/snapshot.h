// src/store/snapshot.h - the encoded state after one event, in a file of its own with a checksum.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ports/filesystem.h"

namespace millrace {

constexpr std::size_t snapshot_header_size = 64;
constexpr std::string_view snapshot_temporary_name = "snapshot.new";

struct SnapshotHeader {
  std::uint64_t index = 0;          // the last event that is part of the state
  std::uint64_t first_segment = 0;  // that is needed besides it; older ones may go
};

struct Snapshot {
  SnapshotHeader header;
  std::string state;
};

std::string snapshot_name(std::uint64_t index);
std::optional<std::uint64_t> snapshot_index(std::string_view name);  // empty: not the name of a snapshot

Result<Snapshot> read_snapshot(Filesystem& files, const std::string& name);

// Writes a snapshot piece by piece, so that appends find their turn between the pieces. Used on the worker.
class SnapshotWriter {
 public:
  SnapshotWriter(SnapshotHeader header, std::string state);
  // One piece more. True when the snapshot is on stable storage under its name.
  Result<bool> advance(Filesystem& files);

 private:
  const SnapshotHeader header_;
  const std::string state_;
  std::unique_ptr<File> file_;
  std::uint64_t written_ = 0;
};

}  // namespace millrace
