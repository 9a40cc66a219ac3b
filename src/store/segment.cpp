// src/store/segment.cpp - see segment.h.
#include "store/segment.h"

#include <array>
#include <charconv>
#include <cstring>

#include "base/assert.h"
#include "store/crc32c.h"

namespace millrace {

namespace {

constexpr std::string_view segment_magic{"MRevents", 8};
constexpr std::string_view name_prefix = "segment-";
constexpr std::size_t name_digits = 16;

struct RecordHeader {
  std::uint32_t crc;
  std::uint32_t length;  // of the body
  std::uint8_t type;
  std::uint8_t zero[3];
  std::uint32_t group;
  std::uint64_t index;
};
static_assert(sizeof(RecordHeader) == record_header_size);

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t size;
  std::uint64_t number, first_index, salt;
  char zero[20];
  std::uint32_t crc;
};
static_assert(sizeof(FileHeader) == segment_header_size);

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Place and segment are part of the checksum: a true record is true in one place only.
std::uint32_t place_crc(const SegmentHeader& segment, std::uint64_t offset) {
  return crc32c(bytes_of(std::array{segment.salt, segment.number, offset}));
}

}  // namespace

std::string segment_name(std::uint64_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < name_digits) digits.insert(0, name_digits - digits.size(), '0');
  return std::string{name_prefix} + digits;
}

std::optional<std::uint64_t> segment_number(std::string_view name) {
  if (!name.starts_with(name_prefix)) return std::nullopt;
  const std::string_view digits = name.substr(name_prefix.size());
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (problem != std::errc{} || segment_name(number) != name) return std::nullopt;
  return number;
}

std::string encode_segment_header(const SegmentHeader& header) {
  FileHeader file{};
  std::memcpy(file.magic, segment_magic.data(), sizeof file.magic);
  file.version = log_format_version;
  file.size = segment_header_size;
  file.number = header.number;
  file.first_index = header.first_index;
  file.salt = header.salt;
  file.crc = crc32c(bytes_of(file).substr(0, offsetof(FileHeader, crc)));
  return std::string{bytes_of(file)};
}

Result<SegmentHeader> decode_segment_header(std::string_view bytes) {
  FileHeader file{};
  if (bytes.size() < sizeof file) return fail(Errc::corrupt, "the header is not complete");
  std::memcpy(&file, bytes.data(), sizeof file);
  if (std::string_view{file.magic, sizeof file.magic} != segment_magic)
    return fail(Errc::corrupt, "this is not a segment of an event log");
  if (file.crc != crc32c(bytes_of(file).substr(0, offsetof(FileHeader, crc))))
    return fail(Errc::corrupt, "the header's checksum is wrong");
  if (file.version != log_format_version)
    return fail(Errc::invalid, "log format " + std::to_string(file.version) + " is not known to this release");
  return SegmentHeader{file.number, file.first_index, file.salt};
}

void append_record(std::string& out, const SegmentHeader& segment, std::uint64_t offset, std::uint64_t group,
                   RecordType type, std::uint64_t index, std::string_view body, std::string_view more) {
  const std::uint64_t length = body.size() + more.size();
  MR_ASSERT(length <= UINT32_MAX);
  MR_ASSERT(group <= offset && group <= UINT32_MAX);
  MR_ASSERT(offset % record_alignment == 0);
  RecordHeader header{};
  header.length = static_cast<std::uint32_t>(length);
  header.type = static_cast<std::uint8_t>(type);
  header.group = static_cast<std::uint32_t>(group);
  header.index = index;
  const std::size_t begin = out.size();
  out += bytes_of(header);
  out += body;
  out += more;
  out.resize(begin + record_size(length));  // with zeros, which the checksum covers too
  const auto checked = std::string_view{out}.substr(begin + sizeof header.crc);
  header.crc = crc32c(checked, place_crc(segment, offset));
  std::memcpy(out.data() + begin, &header.crc, sizeof header.crc);
}

std::optional<Record> parse_record(const SegmentHeader& segment, std::uint64_t offset, std::string_view bytes) {
  RecordHeader header{};
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  // Cheap questions first: recovery asks at every place of a damaged tail.
  if (header.type < 1 || header.type > 4 || header.zero[0] != 0 || header.zero[1] != 0 || header.zero[2] != 0)
    return std::nullopt;
  const std::uint64_t size = record_size(header.length);
  if (header.group > offset || size > bytes.size()) return std::nullopt;
  if (header.crc != crc32c(bytes.substr(sizeof header.crc, size - sizeof header.crc), place_crc(segment, offset)))
    return std::nullopt;
  return Record{static_cast<RecordType>(header.type),      header.index, offset, header.group, size,
                bytes.substr(sizeof header, header.length)};
}

std::optional<Record> next_record_after(const SegmentHeader& segment, std::string_view segment_bytes,
                                        std::uint64_t bad) {
  for (std::uint64_t at = bad + record_alignment; at + record_header_size <= segment_bytes.size();
       at += record_alignment)
    if (auto record = parse_record(segment, at, segment_bytes.substr(at))) return record;
  return std::nullopt;
}

}  // namespace millrace
