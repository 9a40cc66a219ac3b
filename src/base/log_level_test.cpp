// src/base/log_level_test.cpp - Slurm's words for levels, subsystems and forms of times; lines that nobody wants are
// not made.
#include "base/log_level.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/log.h"

namespace millrace {
namespace {

TEST(LogLevels, Have_names_and_numbers) {
  EXPECT_EQ(parse_log_level("quiet"), LogLevel::quiet);
  EXPECT_EQ(parse_log_level("Debug3"), LogLevel::debug3);
  EXPECT_EQ(parse_log_level("6"), LogLevel::debug2);
  EXPECT_EQ(parse_log_level("9"), LogLevel::debug5);
  for (const char* wrong : {"", "10", "-1", "loud", "debug6", "info "})
    EXPECT_EQ(parse_log_level(wrong), std::nullopt) << wrong;
  EXPECT_EQ(name_of(LogLevel::verbose), "verbose");
  EXPECT_EQ(raised(LogLevel::info, 2), LogLevel::debug);
  EXPECT_EQ(raised(LogLevel::info, 4'000'000'000u), LogLevel::debug5);
}

TEST(DebugFlags, Are_lists_of_names_in_any_case) {
  const auto flags = parse_debug_flags("backfill, STEPS,,TLS");
  ASSERT_TRUE(flags);
  EXPECT_EQ(names_of_flags(*flags), "Backfill,Steps,TLS");
  EXPECT_EQ(flags_without_lines(*flags), "TLS");
  EXPECT_EQ(*flags & bit_of(DebugFlag::steps), bit_of(DebugFlag::steps));
  EXPECT_EQ(*flags & bit_of(DebugFlag::gres), 0u);
  EXPECT_EQ(parse_debug_flags(""), 0u);
  ASSERT_FALSE(parse_debug_flags("Backfill,Nonsense"));
  EXPECT_NE(parse_debug_flags("Backfill,Nonsense").error().story.find("Nonsense"), std::string::npos);
}

TEST(DebugFlags, Each_that_has_lines_has_a_bit_and_a_prefix) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(DebugFlag::without_lines); ++i)
    EXPECT_NE(bit_of(static_cast<DebugFlag>(i)), 0u) << i;
  EXPECT_EQ(bit_of(DebugFlag::without_lines), 0u);
  for (const DebugFlagRow& row : debug_flags())
    EXPECT_EQ(row.prefix.empty(), row.flag == DebugFlag::without_lines) << row.name;
}

TEST(LogTimeFormats, Are_Slurms) {
  EXPECT_EQ(parse_log_time_format("rfc5424_ms"), LogTimeFormat::rfc5424_ms);
  EXPECT_EQ(parse_log_time_format("Short,format_stderr"), LogTimeFormat::short_form);
  EXPECT_FALSE(parse_log_time_format("iso"));
}

class Remembered final : public Log {
 public:
  std::vector<std::string> lines;

 private:
  void write(LogLevel, std::string_view prefix, std::string_view text) override {
    lines.push_back(std::string{prefix} + std::string{text});
  }
};

TEST(Logs, Make_only_the_lines_that_somebody_wants) {
  Remembered log;
  log.set_level(LogLevel::debug);
  int made = 0;
  const auto line = [&] { return "line " + std::to_string(++made); };
  log.error(line);
  log.verbose(line);
  log.debug(line);
  log.debug2(line);
  log.about(DebugFlag::steps, line);
  EXPECT_EQ(made, 3);
  log.set_flags(bit_of(DebugFlag::steps));
  log.about(DebugFlag::steps, line);
  log.about(DebugFlag::gres, line);
  EXPECT_EQ(log.lines, (std::vector<std::string>{"error: line 1", "line 2", "debug:  line 3", "STEPS: line 4"}));
}

}  // namespace
}  // namespace millrace
