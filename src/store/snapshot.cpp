// src/store/snapshot.cpp - see snapshot.h.
#include "store/snapshot.h"

#include <charconv>
#include <cstring>

#include "store/crc32c.h"
#include "store/segment.h"

namespace millrace {

namespace {

constexpr std::string_view snapshot_magic{"MRsnapsh", 8};
constexpr std::string_view name_prefix = "snapshot-";
constexpr std::size_t name_digits = 20;
constexpr std::uint64_t piece_size = 4u << 20;

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t size;
  std::uint64_t index, first_segment, length;
  std::uint32_t state_crc;
  char zero[16];
  std::uint32_t crc;
};
static_assert(sizeof(FileHeader) == snapshot_header_size);

std::string_view bytes_of(const FileHeader& header) { return {reinterpret_cast<const char*>(&header), sizeof header}; }

}  // namespace

std::string snapshot_name(std::uint64_t index) {
  std::string digits = std::to_string(index);
  if (digits.size() < name_digits) digits.insert(0, name_digits - digits.size(), '0');
  return std::string{name_prefix} + digits;
}

std::optional<std::uint64_t> snapshot_index(std::string_view name) {
  if (!name.starts_with(name_prefix)) return std::nullopt;
  const std::string_view digits = name.substr(name_prefix.size());
  std::uint64_t index = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (problem != std::errc{} || snapshot_name(index) != name) return std::nullopt;
  return index;
}

Result<Snapshot> read_snapshot(Filesystem& files, const std::string& name) {
  const auto corrupt = [&](std::uint64_t offset, const std::string& what) {
    return fail(Errc::corrupt, name + ": at byte " + std::to_string(offset) + ": " + what);
  };
  MR_TRY(const auto file, files.open(name));
  MR_TRY(const std::string head, file->read_at(0, snapshot_header_size));
  FileHeader header{};
  if (head.size() < sizeof header) return corrupt(head.size(), "the snapshot's header is not complete");
  std::memcpy(&header, head.data(), sizeof header);
  if (std::string_view{header.magic, sizeof header.magic} != snapshot_magic)
    return corrupt(0, "this is not a snapshot");
  if (header.crc != crc32c(bytes_of(header).substr(0, offsetof(FileHeader, crc))))
    return corrupt(0, "the checksum of the snapshot's header is wrong");
  if (header.version != log_format_version)
    return fail(Errc::invalid,
                name + ": log format " + std::to_string(header.version) + " is not known to this release");
  if (header.index != snapshot_index(name)) return corrupt(16, "the snapshot is of another event than its name says");
  MR_TRY(const std::uint64_t size, file->size());
  if (size != sizeof header + header.length) return corrupt(size, "the snapshot has not the length its header says");
  MR_TRY(std::string state, file->read_at(sizeof header, header.length));
  if (state.size() != header.length || crc32c(state) != header.state_crc)
    return corrupt(sizeof header, "the checksum of the snapshot is wrong");
  return Snapshot{{header.index, header.first_segment}, std::move(state)};
}

SnapshotWriter::SnapshotWriter(SnapshotHeader header, std::string state) : header_(header), state_(std::move(state)) {}

Result<bool> SnapshotWriter::advance(Filesystem& files) {
  if (!file_) {
    // Left over from an attempt that failed.
    if (auto removed = files.remove(snapshot_temporary_name); !removed && removed.error().code != Errc::not_found)
      return std::unexpected(removed.error());
    MR_TRY(file_, files.create(snapshot_temporary_name));
    FileHeader header{};
    std::memcpy(header.magic, snapshot_magic.data(), sizeof header.magic);
    header.version = log_format_version;
    header.size = snapshot_header_size;
    header.index = header_.index;
    header.first_segment = header_.first_segment;
    header.length = state_.size();
    header.state_crc = crc32c(state_);
    header.crc = crc32c(bytes_of(header).substr(0, offsetof(FileHeader, crc)));
    MR_TRY_VOID(file_->write_at(0, bytes_of(header)));
  }
  const std::string_view piece = std::string_view{state_}.substr(written_, piece_size);
  MR_TRY_VOID(file_->write_at(snapshot_header_size + written_, piece));
  // After every piece: one sync of everything at the end would hold up the appends behind it.
  MR_TRY_VOID(file_->sync_data());
  written_ += piece.size();
  if (written_ < state_.size()) return false;
  MR_TRY_VOID(files.rename(snapshot_temporary_name, snapshot_name(header_.index)));
  MR_TRY_VOID(files.sync_directory());
  return true;
}

}  // namespace millrace
