// src/core/model/sluid_test.cpp - SLUIDs are written and read back; what is none is told from a wrong one.
#include "core/model/sluid.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Sluid, Is_read_back_as_it_was_written) {
  for (const std::uint64_t key : {std::uint64_t{0}, std::uint64_t{7}, std::uint64_t{31}, std::uint64_t{32},
                                  std::uint64_t{0xffffffff}, UINT64_MAX}) {
    EXPECT_EQ(parse_sluid(sluid_text(key)), key);
  }
  EXPECT_EQ(sluid_text(31), "s000000000000Z");
  EXPECT_EQ(parse_sluid("S000000000000z"), 31u);
}

TEST(Sluid, Wrong_ones_are_not_read) {
  EXPECT_TRUE(looks_like_sluid("s000000000000U"));
  EXPECT_EQ(parse_sluid("s000000000000U"), std::nullopt);  // no digit
  EXPECT_EQ(parse_sluid("sZZZZZZZZZZZZZ"), std::nullopt);  // 65 bits
  EXPECT_FALSE(looks_like_sluid("s12"));
  EXPECT_FALSE(looks_like_sluid("12"));
  EXPECT_FALSE(looks_like_sluid("s000000000000_"));
}

}  // namespace
}  // namespace millrace
