// src/store/high_mark.cpp - see high_mark.h.
#include "store/high_mark.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "store/crc32c.h"

namespace millrace {

namespace {

constexpr std::string_view slot_magic{"MRackmrk", 8};
constexpr std::uint64_t slot_distance = 4096;
constexpr std::uint32_t slot_version = 1;

struct Slot {
  char magic[8];
  std::uint32_t version;
  std::uint32_t size;
  std::uint64_t index;
  char zero[36];
  std::uint32_t crc;
};
static_assert(sizeof(Slot) == 64);

std::string_view bytes_of(const Slot& slot) { return {reinterpret_cast<const char*>(&slot), sizeof slot}; }

std::string encode_slot(std::uint64_t index) {
  Slot slot{};
  std::memcpy(slot.magic, slot_magic.data(), sizeof slot.magic);
  slot.version = slot_version;
  slot.size = sizeof slot;
  slot.index = index;
  slot.crc = crc32c(bytes_of(slot).substr(0, offsetof(Slot, crc)));
  return std::string{bytes_of(slot)};
}

std::optional<std::uint64_t> decode_slot(std::string_view bytes) {
  Slot slot{};
  if (bytes.size() < sizeof slot) return std::nullopt;
  std::memcpy(&slot, bytes.data(), sizeof slot);
  if (bytes.substr(0, slot_magic.size()) != slot_magic || slot.version != slot_version) return std::nullopt;
  if (slot.crc != crc32c(bytes_of(slot).substr(0, offsetof(Slot, crc)))) return std::nullopt;
  return slot.index;
}

Result<std::pair<std::uint64_t, std::uint64_t>> read_slots(File& file) {
  std::uint64_t found[2] = {0, 0};
  for (const unsigned slot : {0u, 1u}) {
    MR_TRY(const std::string bytes, file.read_at(slot * slot_distance, sizeof(Slot)));
    found[slot] = decode_slot(bytes).value_or(0);
  }
  return std::pair{found[0], found[1]};
}

}  // namespace

Result<std::uint64_t> read_high_mark(Filesystem& files) {
  const auto file = files.open(high_mark_name);
  if (!file && file.error().code == Errc::not_found) return std::uint64_t{0};
  if (!file) return std::unexpected(file.error());
  MR_TRY(const auto found, read_slots(**file));
  return std::max(found.first, found.second);
}

Result<void> forget_high_mark(Filesystem& files) {
  auto removed = files.remove(high_mark_name);
  if (!removed && removed.error().code != Errc::not_found) return removed;
  return files.sync_directory();
}

Result<void> HighMark::open(std::uint64_t index) {
  index_ = index;
  auto file = files_.open(high_mark_name);
  if (!file && file.error().code != Errc::not_found) return std::unexpected(file.error());
  if (!file) return make();
  MR_TRY(const auto found, read_slots(**file));
  // The higher one may be the only whole one.
  MR_TRY_VOID((*file)->sync_data());
  slot_ = found.first > found.second ? 1 : 0;
  synced_ = written_ = std::max(found.first, found.second);
  file_ = *std::move(file);
  index_ = std::max(index_, synced_);
  return sync();
}

// All of its room is taken at once.
Result<void> HighMark::make() {
  MR_TRY(auto file, files_.create(high_mark_name));
  std::string bytes(slot_distance + sizeof(Slot), '\0');
  bytes.replace(0, sizeof(Slot), encode_slot(index_));
  auto made = file->write_at(0, bytes);
  if (made) made = file->sync_data();
  if (made) made = files_.sync_directory();
  if (!made) {
    (void)files_.remove(high_mark_name);  // it may be what fills the disk
    return made;
  }
  file_ = std::move(file);
  written_ = synced_ = index_;
  slot_ = 1;
  return {};
}

void HighMark::move(std::uint64_t index) {
  index_ = index;
  (void)write();  // sync() tries again, and says what is wrong
}

Result<void> HighMark::write() {
  if (!file_ || written_ == index_) return {};
  MR_TRY_VOID(file_->write_at(slot_ * slot_distance, encode_slot(index_)));
  written_ = index_;
  return {};
}

Result<void> HighMark::sync() {
  if (!file_) {
    (void)files_.remove(high_mark_name);  // half-made
    return make();
  }
  if (synced_ == index_) return {};
  MR_TRY_VOID(write());
  MR_TRY_VOID(file_->sync_data());
  synced_ = written_;
  slot_ = 1 - slot_;
  return {};
}

}  // namespace millrace
