// src/base/shown_text_test.cpp - nothing that a terminal obeys gets through, and what people write does.
#include "base/shown_text.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(ShownText, Ordinary_texts_of_any_language_are_shown_as_they_are) {
  EXPECT_EQ(shown_text("a job_1 -x=\\y ~"), "a job_1 -x=\\y ~");
  EXPECT_EQ(shown_text("grün Ωμέγα 日本 😀"), "grün Ωμέγα 日本 😀");
  EXPECT_EQ(shown_text("\xc2\xa0"), "\xc2\xa0") << "the first one after the controls";
}

TEST(ShownText, Controls_are_escaped_in_every_form) {
  EXPECT_EQ(shown_text("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(shown_text("\x1b[2J\x7f"), "\\x1b[2J\\x7f");
  EXPECT_EQ(shown_text(std::string_view{"\0x", 2}), "\\x00x");
  EXPECT_EQ(shown_text("\xc2\x9b"
                       "31m"),
            "\\xc2\\x9b31m")
      << "CSI as U+009B";
  EXPECT_EQ(shown_text("\x9b"
                       "31m"),
            "\\x9b31m")
      << "and as one byte";
}

TEST(ShownText, What_is_no_utf8_is_escaped_byte_by_byte) {
  EXPECT_EQ(shown_text("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(shown_text("x\xe2\x82"), "x\\xe2\\x82") << "cut short";
  EXPECT_EQ(shown_text("\xc0\xaf"), "\\xc0\\xaf") << "too long a form";
  EXPECT_EQ(shown_text("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
}

TEST(ShownText, Every_byte_alone_is_plain_or_escaped) {
  for (int i = 0; i < 256; ++i) {
    const std::string out = shown_text(std::string(1, static_cast<char>(i)));
    for (const char c : out) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << i;
  }
}

TEST(ShownText, Lines_stay_lines_where_there_are_several) { EXPECT_EQ(shown_lines("a\n\tb\r\x1b"), "a\n\tb\\r\\x1b"); }

}  // namespace
}  // namespace millrace
