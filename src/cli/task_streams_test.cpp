// src/cli/task_streams_test.cpp - how lines of many tasks become one stream, and how their ends are told.
#include "cli/task_streams.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/constant_time.h"
#include "cli/srun_console.h"

namespace millrace {
namespace {

class Lines : public testing::Test {
 protected:
  Lines() { EXPECT_EQ(pipe(pipe_), 0); }
  ~Lines() override { close(pipe_[0]); }
  std::string written() {
    close(pipe_[1]);
    char buffer[4096];
    const ssize_t got = read(pipe_[0], buffer, sizeof buffer);
    return {buffer, static_cast<std::size_t>(got < 0 ? 0 : got)};
  }
  StreamOptions options(bool label) { return {label, false, pipe_[1], pipe_[1], {}}; }
  int pipe_[2];
};

TEST_F(Lines, Do_not_mix) {
  OutputLines lines(options(false));
  lines.set_task_count(2);
  lines.take(0, false, "fir");
  lines.take(1, false, "second\n");
  lines.take(0, false, "st\nno newline");
  lines.flush(0);
  EXPECT_EQ(written(), "second\nfirst\nno newline");
}

TEST_F(Lines, Labels_are_as_wide_as_the_largest_task) {
  OutputLines lines(options(true));
  lines.set_task_count(11);
  lines.take(3, false, "a\nb\nc");
  lines.flush(3);
  EXPECT_EQ(written(), "03: a\n03: b\n03: c\n");
}

TEST_F(Lines, Of_one_task_alone_when_asked) {
  StreamOptions only = options(false);
  only.only_output_of = 1;
  OutputLines lines(only);
  lines.set_task_count(2);
  lines.take(0, false, "no\n");
  lines.take(1, false, "yes\n");
  EXPECT_EQ(written(), "yes\n");
}

TEST(Streams, Tasks_that_went_with_their_node_are_not_waited_for) {
  TaskStreams streams("secret", {});
  streams.set_task_count(2);
  streams.lose({1});
  streams.lose({1});
  EXPECT_EQ(streams.tasks_ended(), 1u);
  EXPECT_FALSE(streams.all_ended());
  streams.lose({0, 1});
  EXPECT_TRUE(streams.all_ended());
  EXPECT_TRUE(streams.take_ends().empty());
}

TEST(EndLines, Group_what_ended_alike) {
  const auto lines = end_lines({{0, "n1", 2, 0, false},
                                {1, "n1", 2, 0, false},
                                {2, "n2", 2, 0, false},
                                {3, "n2", 0, 9, true},
                                {4, "n2", 0, 0, false}});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "n2: task 3: Killed (core dumped)");
  EXPECT_EQ(lines[1], "n[1-2]: tasks 0-2: Exited with exit code 2");
}

TEST(OwnPattern, Knows_the_job) {
  EXPECT_EQ(expand_own_pattern("o.%4j-%J.%x%%", 12, "n"), "o.0012-12.0.n%");
  EXPECT_EQ(expand_own_pattern("a\\%j", 12, "n"), "a%j") << "a backslash means: as it is";
}

}  // namespace
}  // namespace millrace
