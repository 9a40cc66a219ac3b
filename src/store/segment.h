// src/store/segment.h - how records lie in a segment of the event log; the picture is docs/spec/event-log.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

constexpr std::uint32_t log_format_version = 1;
constexpr std::size_t segment_header_size = 64;
constexpr std::size_t record_header_size = 24;
constexpr std::size_t record_alignment = 8;

struct SegmentHeader {
  std::uint64_t number = 0;       // 1, 2, 3 ...
  std::uint64_t first_index = 0;  // of the first event that is written into it
  std::uint64_t salt = 0;         // part of every checksum, so that bytes of another log never look like ours
};

enum class RecordType : std::uint8_t {
  event = 1,    // body: the encoded event; index: its own
  payload = 2,  // body: 16 bytes of PayloadId, then the payload; index: of the next event
  synced = 3,   // no body; what lies before it was on stable storage. Overwritten by the next write
  end = 4,      // no body; the segment is complete and the next one follows
};

struct Record {
  RecordType type{};
  std::uint64_t index = 0;
  std::uint64_t offset = 0;  // in its segment
  std::uint64_t group = 0;   // everything before this offset was on stable storage when the record was written
  std::uint64_t size = 0;    // with header and padding
  std::string_view body;
};

std::string segment_name(std::uint64_t number);
std::optional<std::uint64_t> segment_number(std::string_view name);  // empty: not the name of a segment

std::string encode_segment_header(const SegmentHeader& header);
Result<SegmentHeader> decode_segment_header(std::string_view bytes);

constexpr std::uint64_t record_size(std::uint64_t body) {
  return (record_header_size + body + record_alignment - 1) / record_alignment * record_alignment;
}
// Appends a record that will lie at `offset`; its body is `body` followed by `more`.
void append_record(std::string& out, const SegmentHeader& segment, std::uint64_t offset, std::uint64_t group,
                   RecordType type, std::uint64_t index, std::string_view body, std::string_view more = {});
// The record at the beginning of `bytes`, which lie at `offset` of the segment. Empty when there is no whole, true one.
std::optional<Record> parse_record(const SegmentHeader& segment, std::uint64_t offset, std::string_view bytes);

// The first true record after the bad one at `bad`. `segment_bytes` is the whole segment.
std::optional<Record> next_record_after(const SegmentHeader& segment, std::string_view segment_bytes,
                                        std::uint64_t bad);

}  // namespace millrace
