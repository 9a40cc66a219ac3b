// src/platform/daemon_log_test.cpp - the form of lines, their levels, and a file that was moved away.
#include "platform/daemon_log.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <regex>
#include <sstream>

namespace millrace {
namespace {

class Zone {
 public:
  explicit Zone(const char* name) {
    if (const char* before = getenv("TZ")) before_ = before;
    setenv("TZ", name, 1);
    tzset();
  }
  ~Zone() {
    before_.empty() ? unsetenv("TZ") : setenv("TZ", before_.c_str(), 1);
    tzset();
  }

 private:
  std::string before_;
};

TEST(LogStamp, Has_every_form_of_Slurm) {
  const Zone zone("XYZ-2");  // two hours east
  const timeval at{1'700'000'000, 45'678};
  EXPECT_EQ(log_stamp(LogTimeFormat::iso8601, at), "2023-11-15T00:13:20");
  EXPECT_EQ(log_stamp(LogTimeFormat::iso8601_ms, at), "2023-11-15T00:13:20.045");
  EXPECT_EQ(log_stamp(LogTimeFormat::rfc5424, at), "2023-11-15T00:13:20+02:00");
  EXPECT_EQ(log_stamp(LogTimeFormat::rfc5424_ms, at), "2023-11-15T00:13:20.045+02:00");
  EXPECT_EQ(log_stamp(LogTimeFormat::rfc3339, at), "2023-11-14T22:13:20Z");
  EXPECT_EQ(log_stamp(LogTimeFormat::short_form, at), "Nov 15 00:13:20");
  EXPECT_TRUE(std::regex_match(log_stamp(LogTimeFormat::clock, at), std::regex("[0-9]+")));
  EXPECT_TRUE(std::regex_match(log_stamp(LogTimeFormat::thread_id, at),
                               std::regex("Nov 15 00:13:20\\.045678 [0-9]+ \\S+ [0-9]+")));
}

class LogFile : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/daemon_log_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    for (const char* name : {"/log", "/old"}) unlink((folder_ + name).c_str());
    rmdir(folder_.c_str());
  }
  std::string read(const char* name) const {
    std::ifstream file(folder_ + name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string folder_;
};

TEST_F(LogFile, Has_lines_up_to_its_level_and_goes_on_in_a_new_file) {
  DaemonLog log;
  ASSERT_TRUE(log.open(folder_ + "/log"));
  log.say("usual");
  log.verbose([] { return "unwanted"; });
  log.set_level(LogLevel::debug);
  log.debug([] { return "detail"; });
  EXPECT_TRUE(std::regex_match(read("/log"), std::regex("\\[[0-9T:.-]+\\] usual\n\\[[0-9T:.-]+\\] debug:  detail\n")))
      << read("/log");
  ASSERT_EQ(rename((folder_ + "/log").c_str(), (folder_ + "/old").c_str()), 0);
  ASSERT_TRUE(log.open(folder_ + "/log"));
  log.set_level(LogLevel::error);
  log.say("unwanted");
  log.complain("wrong");
  EXPECT_TRUE(std::regex_match(read("/log"), std::regex("\\[[0-9T:.-]+\\] error: wrong\n"))) << read("/log");
  EXPECT_EQ(read("/old").find("wrong"), std::string::npos);
}

TEST_F(LogFile, No_name_in_a_line_makes_another_line) {
  DaemonLog log;
  ASSERT_TRUE(log.open(folder_ + "/log"));
  log.say("job evil\n[2026-11-18T00:00:00.000] root did it\x1b[1A: ended");
  const std::string text = read("/log");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_NE(text.find("job evil\\n[2026-11-18T00:00:00.000] root did it\\x1b[1A: ended\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace millrace
