// src/sim/swf_test.cpp - what a trace file says, and what is said about one that is wrong.
#include "sim/swf.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

namespace millrace {
namespace {

constexpr std::string_view small =
    "; Version: 2.2\n"
    "; MaxProcs: 338 (batch partition; 512 total)\n"
    "; Note: THIS IS A CLEANED VERSION OF THE LOG!\n"
    ";       a line without a key\n"
    "\n"
    "   15   599850 192180   3477    4  27.5    -1    4  53940    -1  1  12  12  -1 -1 -1 -1 -1\r\n"
    "16 600022 11940 2488 25 -1 -1 25 3600 -1 1 13 13 -1 3 -1 -1 -1";

std::string problem_of(std::string_view text) {
  const auto trace = parse_swf(text, "t.swf");
  return trace ? "none" : trace.error().story;
}

TEST(Swf, keeps_the_header_and_every_field) {
  const auto trace = parse_swf(small, "t.swf");
  ASSERT_TRUE(trace) << trace.error().story;
  EXPECT_EQ(trace->header_number("MaxProcs"), 338);
  EXPECT_EQ(trace->header_number("MaxNodes"), std::nullopt);
  EXPECT_EQ(trace->header.size(), 4u);
  EXPECT_EQ(trace->header[3], (std::pair<std::string, std::string>{"", "a line without a key"}));
  ASSERT_EQ(trace->jobs.size(), 2u);
  EXPECT_EQ(trace->jobs[0].submit, 599850);
  EXPECT_EQ(trace->jobs[0].cpu_time, 27);
  EXPECT_EQ(trace->jobs[0].requested_time, 53940);
  EXPECT_EQ(trace->jobs[1].queue, 3);
  EXPECT_EQ(format_swf(trace->jobs[1]), "16 600022 11940 2488 25 -1 -1 25 3600 -1 1 13 13 -1 3 -1 -1 -1");
}

TEST(Swf, names_file_line_and_field_of_what_is_wrong) {
  EXPECT_EQ(problem_of("; a\n1 2 3 4 5\n"),
            "t.swf line 2: the line ends before field 6, Average CPU Time Used; a job has 18 fields, -1 where nothing "
            "is known");
  EXPECT_EQ(problem_of("1 0 0 ten 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1"),
            "t.swf line 1: field 4, Run Time, is 'ten'; a whole number of at least -1 is right");
  EXPECT_EQ(problem_of("1 0 0 1.5 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1"),
            "t.swf line 1: field 4, Run Time, is '1.5'; a whole number of at least -1 is right");
  EXPECT_EQ(problem_of("1 -5 0 1 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1"),
            "t.swf line 1: field 2, Submit Time, is '-5'; a whole number of at least 0 is right");
  EXPECT_EQ(problem_of("1 99999999999999999999 0 1 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1"),
            "t.swf line 1: field 2, Submit Time, is '99999999999999999999'; a whole number of at least 0 is right");
  EXPECT_EQ(problem_of("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19"),
            "t.swf line 1: 19 fields; a job has 18, and Think Time from Preceding Job is the last");
}

TEST(Swf, reads_gzip_and_says_when_it_is_cut) {
  const auto folder = std::filesystem::temp_directory_path() / ("swf_test." + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string path = folder / "t.swf.gz";
  const gzFile packed = gzopen(path.c_str(), "wb");
  std::string text{small};
  for (int i = 0; i < 200; ++i)
    text += "\n" + std::to_string(i) + " 600022 11940 2488 25 -1 -1 25 3600 -1 1 13 13 -1 3 -1 -1 -1";
  gzwrite(packed, text.data(), static_cast<unsigned>(text.size()));
  gzclose(packed);
  const auto trace = read_swf(path);
  ASSERT_TRUE(trace) << trace.error().story;
  EXPECT_EQ(trace->jobs.size(), 202u);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 20);
  const auto cut = read_swf(path);
  ASSERT_FALSE(cut);
  EXPECT_TRUE(cut.error().story.starts_with("reading " + path + ": ")) << cut.error().story;
  const auto absent = read_swf(folder / "absent");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().story, "opening " + (folder / "absent").string() + ": No such file or directory");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace millrace
