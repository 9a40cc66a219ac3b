// src/store/writer.cpp - see writer.h.
#include "store/writer.h"

#include <algorithm>

#include "base/assert.h"
#include "base/shared_map.h"
#include "store/recover.h"

namespace millrace {

namespace {

constexpr std::uint64_t mark_size = record_size(0);
constexpr std::uint64_t segment_size_max = 1u << 31;  // far enough below what a record's group field can say

}  // namespace

std::uint64_t LogItem::size() const {
  std::uint64_t size = 0;
  for (const auto& [id, bytes] : payloads) size += record_size(id.digest.size() + bytes->size());
  for (const std::string& event : events) size += record_size(event.size());
  return size;
}

// Under a temporary name, so that a segment has its name only when its header is whole and its room is there.
Result<std::unique_ptr<File>> LogWriter::prepare(const SegmentHeader& segment) {
  if (auto removed = files_.remove(segment_temporary_name); !removed && removed.error().code != Errc::not_found)
    return std::unexpected(removed.error());
  MR_TRY(auto file, files_.create(segment_temporary_name));
  MR_TRY_VOID(file->reserve(segment_header_size + ahead()));
  MR_TRY_VOID(file->write_at(0, encode_segment_header(segment)));
  MR_TRY_VOID(file->sync_data());
  return file;
}

Result<void> LogWriter::adopt(std::unique_ptr<File> file, const SegmentHeader& segment) {
  MR_TRY_VOID(files_.rename(segment_temporary_name, segment_name(segment.number)));
  MR_TRY_VOID(files_.sync_directory());
  file_ = std::move(file);
  segment_ = segment;
  end_ = segment_header_size;
  reserved_ = segment_header_size + ahead();
  return {};
}

Result<void> LogWriter::begin_first(std::uint64_t number, std::uint64_t first_index) {
  const SegmentHeader segment{number, first_index, mix_bits(settings_.salt + number)};
  MR_TRY(auto file, prepare(segment));
  return adopt(std::move(file), segment);
}

Result<void> LogWriter::reopen(const SegmentHeader& segment, std::uint64_t append_at) {
  MR_TRY(file_, files_.open(segment_name(segment.number)));
  segment_ = segment;
  end_ = append_at;
  reserved_ = append_at;
  reserve();
  return {};
}

bool LogWriter::reserve(std::uint64_t wanted) {
  const std::uint64_t beyond = std::max(settings_.reserve_step, wanted);
  if (room() >= settings_.reserve_size + beyond) return true;
  const std::uint64_t length = end_ + settings_.reserve_size + beyond + settings_.reserve_step;
  // A no is not an error: room() says how much is left, and the next append or question tries again.
  if (file_->reserve(length)) reserved_ = length;
  return room() >= settings_.reserve_size + wanted;
}

void LogWriter::encode(LogGroup& group, std::string& out) {
  std::uint64_t size = 0;
  for (const LogItem& item : group.items) size += item.size();
  out.reserve(size + mark_size);
  for (const LogItem& item : group.items) {
    for (const auto& [id, bytes] : item.payloads) {
      const std::uint64_t at = end_ + out.size();
      const std::string_view name{reinterpret_cast<const char*>(id.digest.data()), id.digest.size()};
      append_record(out, segment_, at, end_, RecordType::payload, item.first_index, name, *bytes);
      group.places.push_back({segment_.number, at, end_ + out.size() - at, item.first_index});
    }
    std::uint64_t index = item.first_index;
    for (const std::string& event : item.events)
      append_record(out, segment_, end_ + out.size(), end_, RecordType::event, index++, event);
  }
}

void LogWriter::write(LogGroup& group) {
  group.outcome = write_items(group);
  group.room = room();
}

Result<void> LogWriter::write_items(LogGroup& group) {
  MR_ASSERT(!group.items.empty());
  const LogItem& first = group.items.front();
  if (first.begin_segment || end_ >= settings_.segment_size) {
    MR_TRY_VOID(begin_next(group, first.first_index));
  }
  std::string out;
  encode(group, out);
  if (out.empty()) return {};
  const std::uint64_t after = end_ + out.size();
  // More than was reserved: only a caller that did not ask for room gets here.
  if (after + mark_size > reserved_) reserve(out.size() + mark_size);
  MR_TRY_VOID(file_->write_at(end_, out));
  MR_TRY_VOID(file_->sync_data());
  end_ = after;
  // Not synced, and overwritten by the next group: after a kill it tells damage in this group from a torn write of it.
  std::string mark;
  const LogItem& last = group.items.back();
  append_record(mark, segment_, end_, end_, RecordType::synced, last.first_index + last.events.size(), {});
  MR_TRY_VOID(file_->write_at(end_, mark));
  high_mark_.move(last.first_index + last.events.size() - 1);
  reserve();
  return {};
}

// When another segment cannot be made, for want of room most likely, the present one simply grows on.
Result<void> LogWriter::begin_next(LogGroup& group, std::uint64_t first_index) {
  const SegmentHeader next{segment_.number + 1, first_index, mix_bits(settings_.salt + segment_.number + 1)};
  auto prepared = prepare(next);
  if (!prepared) {
    (void)files_.remove(
        segment_temporary_name);  // it may be what fills the disk; failing that, the next try removes it
    if (end_ <= segment_size_max) return {};
    return std::unexpected(prepared.error());
  }
  std::string last;
  append_record(last, segment_, end_, end_, RecordType::end, first_index, {});
  MR_TRY_VOID(file_->write_at(end_, last));
  MR_TRY_VOID(file_->truncate(end_ + last.size()));  // gives back what was reserved and not used
  MR_TRY_VOID(file_->sync_data());
  MR_TRY_VOID(adopt(*std::move(prepared), next));
  group.begun.push_back(next);
  return {};
}

}  // namespace millrace
