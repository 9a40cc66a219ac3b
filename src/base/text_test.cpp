// src/base/text_test.cpp - sizes, durations, host lists and index sets as users write them.
#include "base/text.h"

#include <gtest/gtest.h>

#include "base/constant_time.h"
#include "base/hostlist.h"
#include "base/index_set.h"

namespace millrace {
namespace {

TEST(Text, reads_memory_sizes_and_refuses_what_is_none) {
  EXPECT_EQ(parse_memory("100")->value, 100);
  EXPECT_EQ(parse_memory("4G")->value, 4096);
  EXPECT_EQ(parse_memory("4gb")->value, 4096);
  EXPECT_EQ(parse_memory("1K")->value, 1);  // rounded up
  EXPECT_EQ(parse_memory("2T")->value, 2 * 1024 * 1024);
  for (const char* bad : {"", "x", "12x", "-1", "+5", "G", "1.5G", "99999999999999999999"})
    EXPECT_FALSE(parse_memory(bad)) << bad;
}

TEST(Text, reads_durations_in_every_form) {
  const auto seconds_of = [](const char* text) { return parse_duration(text)->seconds; };
  EXPECT_EQ(seconds_of("5"), 300);
  EXPECT_EQ(seconds_of("5:30"), 330);
  EXPECT_EQ(seconds_of("1:00:01"), 3601);
  EXPECT_EQ(seconds_of("1-0"), 86400);
  EXPECT_EQ(seconds_of("1-2:3"), 86400 + 2 * 3600 + 180);
  EXPECT_EQ(seconds_of("1-02:03:04"), 93784);
  EXPECT_TRUE(parse_duration("UNLIMITED")->unlimited);
  EXPECT_TRUE(parse_duration("-1")->unlimited);
  for (const char* bad : {"", "xx", "1:2:3:4", "1-", "-5", "1:-2", "5m"}) EXPECT_FALSE(parse_duration(bad)) << bad;
  EXPECT_EQ(format_duration(93784), "1-02:03:04");
  EXPECT_EQ(format_duration(59), "00:00:59");
}

TEST(Secret, Is_compared_whole) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
}

TEST(Hostlist, expands_and_compresses) {
  const auto expanded = [](const char* text) { return *expand_hostlist(text); };
  EXPECT_EQ(expanded("n[1-3,5]"), (std::vector<std::string>{"n1", "n2", "n3", "n5"}));
  EXPECT_EQ(expanded("r[0-1]n[08-10]").size(), 6u);
  EXPECT_EQ(expanded("r[0-1]n[08-10]").front(), "r0n08");
  EXPECT_EQ(expanded("a,b[1-2],c"), (std::vector<std::string>{"a", "b1", "b2", "c"}));
  for (const char* bad : {"n[1-", "n]1[", "n[2-1]", "n[a-b]", "n[1-999999]"}) EXPECT_FALSE(expand_hostlist(bad)) << bad;
  EXPECT_EQ(compress_hostlist({"n1", "n2", "n3", "n5", "x"}), "n[1-3,5],x");
  EXPECT_EQ(compress_hostlist({"n9", "n10", "n11"}), "n[9-11]");
  EXPECT_EQ(compress_hostlist({"n09", "n10"}), "n[09-10]");
  EXPECT_EQ(compress_hostlist({"c1"}), "c1");
  EXPECT_EQ(compress_hostlist_sorted({"n3", "n1", "n2", "n1"}), "n[1-3]");
}

// What anybody may write must not take more time, memory or stack than its length justifies.
TEST(Sizes, Have_one_unit) {
  EXPECT_EQ(parse_memory("4GB")->value, 4096);
  EXPECT_EQ(parse_memory("4b")->value, 4);
  for (const std::string& bad : {std::string{"4GBB"}, std::string{"b"}, "4" + std::string(1'000'000, 'b')})
    EXPECT_FALSE(parse_memory(bad));
}

TEST(Hostlist, Refuses_what_would_be_too_much) {
  std::string nested, many = "n", wide(1 << 20, 'n');
  for (int i = 0; i < 40'000; ++i) nested += "[1]";
  for (int i = 0; i < 60; ++i) many += "[0-9]";
  wide += "[1-65536]";
  for (const std::string& bad : {nested, many, wide, std::string(100'000, '[')}) {
    const auto refused = expand_hostlist(bad);
    ASSERT_FALSE(refused);
    EXPECT_LT(refused.error().story.size(), 300u);
    EXPECT_NE(refused.error().story.find("expected names like n[1-3,5]"), std::string::npos);
  }
  EXPECT_EQ(expand_hostlist("n[1-65536]")->size(), 65536u);
  EXPECT_FALSE(expand_hostlist("n[1-65536],m"));
}

TEST(IndexSet, Reads_long_lists_in_time_and_refuses_what_has_no_bound) {
  EXPECT_FALSE(parse_index_set("0-4294967290:2", UINT32_MAX));
  EXPECT_EQ(parse_index_set("0-4000000:2", 4'000'000)->ranges().size(), 2'000'001u);
  std::string down;
  for (int i = 200'000; i > 0; i -= 2) down += std::to_string(i) + ",";
  EXPECT_EQ(format_index_set(*parse_index_set(down + "0", 200'000)), "0-200000:2");
  EXPECT_EQ(format_index_set(*parse_index_set("5-7,1-2,3,6-9,4294967295", UINT32_MAX)), "1-3,5-9,4294967295");
}

TEST(IndexSet, Joins_ranges_that_touch) {
  IndexSet set;
  for (const std::uint32_t index : {9u, 1u, 5u, 3u, 4294967295u, 4u, 0u}) set.insert(index);
  EXPECT_EQ(format_index_set(set), "0-1,3-5,9,4294967295");
  set.insert(2, 8);
  EXPECT_EQ(format_index_set(set), "0-9,4294967295");
  set.insert(10, 4294967294);
  EXPECT_EQ(set.size(), std::uint64_t{1} << 32);
}

TEST(IndexSet, reads_writes_and_loses_single_members) {
  EXPECT_EQ(format_index_set(*parse_index_set("1-5,7", 100)), "1-5,7");
  EXPECT_EQ(format_index_set(*parse_index_set("0-12:4", 100)), "0-12:4");
  EXPECT_EQ(parse_index_set("0-12:4", 100)->size(), 4u);
  for (const char* bad : {"", "a", "3-1", "1-5:0", "5:2", "101", "1,,2"})
    EXPECT_FALSE(parse_index_set(bad, 100)) << bad;
  IndexSet set = *parse_index_set("1-5", 100);
  set.erase(3);
  EXPECT_EQ(format_index_set(set), "1-2,4-5");
  set.erase(1);
  set.erase(5);
  EXPECT_EQ(format_index_set(set), "2,4");
  set.insert(3);
  EXPECT_EQ(set.ranges().size(), 1u);
  EXPECT_TRUE(set.contains(4));
  EXPECT_FALSE(set.contains(5));
}

TEST(IndexSet, Gives_some_away_side_by_side_where_it_can) {
  IndexSet set = *parse_index_set("1-2,5-8,11", 100);
  EXPECT_EQ(format_ranges(take_some(set, 3)), "5-7");
  EXPECT_EQ(format_ranges(set), "1-2,8,11");
  EXPECT_EQ(format_ranges(take_some(set, 3)), "1-2,8") << "in no row: the first ones";
  EXPECT_EQ(format_ranges(set), "11");
  EXPECT_EQ(format_ranges(*parse_index_set("0-8:2", 100)), "0,2,4,6,8");
}

}  // namespace
}  // namespace millrace
