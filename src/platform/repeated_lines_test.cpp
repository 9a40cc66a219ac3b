// src/platform/repeated_lines_test.cpp - a line that comes a thousand times is written twice.
#include "platform/repeated_lines.h"

#include "platform/loop_fixture.h"

namespace millrace {
namespace {

TEST_F(LoopTest, Repeated_lines_are_counted_by_kind) {
  std::vector<std::string> said;
  RepeatedLines lines(
      loop,
      [&](const std::string& line) {
        said.push_back(line);
        loop.stop();
      },
      milliseconds(20));
  for (int i = 0; i < 1000; ++i) lines.say("refused", "refused " + std::to_string(i));
  lines.say("other", "other");
  EXPECT_EQ(said, (std::vector<std::string>{"refused 0", "other"}));
  run_until([&] { return said.size() == 3; });
  EXPECT_EQ(said[2], "refused 999 (and 998 more like it)");
  said.clear();
  for (int i = 0; i < 1000; ++i) lines.say("kind " + std::to_string(i), "line");
  EXPECT_LE(said.size(), 65u) << "kinds that a peer makes up";
}

}  // namespace
}  // namespace millrace
