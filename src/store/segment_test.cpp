// src/store/segment_test.cpp - the record format and its checksum.
#include "store/segment.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "store/crc32c.h"

namespace millrace {
namespace {

TEST(Crc32c, Gives_the_published_values) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Crc32c, Processor_and_table_agree_and_pieces_add_up) {
  Prng random(1);
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    bytes += static_cast<char>(random.next());
    EXPECT_EQ(crc32c(bytes), crc32c_by_table(bytes));
    const std::string_view all = bytes;
    const std::size_t cut = random.below(all.size() + 1);
    EXPECT_EQ(crc32c(all.substr(cut), crc32c(all.substr(0, cut))), crc32c(all));
  }
}

TEST(Segment, Name_goes_both_ways_and_nothing_else_is_a_name) {
  EXPECT_EQ(segment_name(12), "segment-0000000000000012");
  EXPECT_EQ(segment_number("segment-0000000000000012"), 12u);
  for (const char* name : {"segment-12", "segment-", "segment.new", "segment-000000000000001x", "snapshot-12", ""})
    EXPECT_FALSE(segment_number(name)) << name;
}

TEST(Segment, Header_is_read_back_and_any_flipped_bit_is_seen) {
  const std::string bytes = encode_segment_header({3, 17, 99});
  ASSERT_EQ(bytes.size(), segment_header_size);
  const auto header = decode_segment_header(bytes);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->number, 3u);
  EXPECT_EQ(header->first_index, 17u);
  EXPECT_EQ(header->salt, 99u);
  for (std::size_t at = 0; at < bytes.size() * 8; ++at) {
    std::string bad = bytes;
    bad[at / 8] = static_cast<char>(bad[at / 8] ^ 1 << at % 8);
    EXPECT_FALSE(decode_segment_header(bad)) << at;
  }
  EXPECT_FALSE(decode_segment_header(bytes.substr(0, 63)));
}

TEST(Segment, Record_is_read_back_and_any_flipped_bit_is_seen) {
  const SegmentHeader segment{3, 17, 99};
  for (std::size_t length = 0; length < 20; ++length) {
    const std::string body(length, 'b');
    std::string bytes;
    append_record(bytes, segment, 128, 64, RecordType::event, 18, body.substr(0, length / 2), body.substr(length / 2));
    ASSERT_EQ(bytes.size(), record_size(length));
    const auto record = parse_record(segment, 128, bytes);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->type, RecordType::event);
    EXPECT_EQ(record->index, 18u);
    EXPECT_EQ(record->group, 64u);
    EXPECT_EQ(record->size, bytes.size());
    EXPECT_EQ(record->body, body);
    for (std::size_t at = 0; at < bytes.size() * 8; ++at) {
      std::string bad = bytes;
      bad[at / 8] = static_cast<char>(bad[at / 8] ^ 1 << at % 8);
      EXPECT_FALSE(parse_record(segment, 128, bad)) << at;
    }
    EXPECT_FALSE(parse_record(segment, 128, std::string_view{bytes}.substr(0, bytes.size() - 1)));
  }
}

TEST(Segment, Record_is_true_in_its_own_place_only) {
  std::string bytes;
  append_record(bytes, {3, 17, 99}, 128, 64, RecordType::event, 18, "body");
  EXPECT_TRUE(parse_record({3, 17, 99}, 128, bytes));
  EXPECT_FALSE(parse_record({3, 17, 99}, 136, bytes));  // another offset
  EXPECT_FALSE(parse_record({4, 17, 99}, 128, bytes));  // another segment
  EXPECT_FALSE(parse_record({3, 17, 98}, 128, bytes));  // another log
}

TEST(Segment, Next_record_is_found_behind_garbage) {
  const SegmentHeader segment{1, 1, 5};
  std::string bytes(segment_header_size, 'h');
  bytes += std::string(200, '\x01');
  const std::uint64_t at = bytes.size();
  append_record(bytes, segment, at, at, RecordType::event, 1, "found");
  const auto record = next_record_after(segment, bytes, segment_header_size);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->offset, at);
  EXPECT_FALSE(next_record_after(segment, bytes, at));
}

}  // namespace
}  // namespace millrace
