// src/core/model/multi_prog_test.cpp - the file of srun --multi-prog.
#include "core/model/multi_prog.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

using Words = std::vector<std::string>;

Words command(const char* text, std::uint32_t task) {
  const auto file = MultiProg::parse(text);
  EXPECT_TRUE(file) << file.error().story;
  const auto words = file ? file->command_of(task) : Result<Words>{Words{}};
  return words ? *words : Words{words.error().story};
}

TEST(MultiProg, Lines_name_their_tasks) {
  const char* text = "# who does what\n4-6 hostname\n1,7 echo task:%t\n\n0,2-3 echo  offset:%o  100%%\n";
  EXPECT_EQ(command(text, 5), Words{"hostname"});
  EXPECT_EQ(command(text, 7), (Words{"echo", "task:7"}));
  EXPECT_EQ(command(text, 0), (Words{"echo", "offset:0", "100%"}));
  EXPECT_EQ(command(text, 3), (Words{"echo", "offset:2", "100%"}));
  EXPECT_EQ(command(text, 8), Words{"no program for task 8"});
}

TEST(MultiProg, Star_is_everybody_else) {
  EXPECT_EQ(command("0 first\n* rest %o\n", 0), Words{"first"});
  EXPECT_EQ(command("0 first\n* rest %o\n", 3), (Words{"rest", "3"}));
}

TEST(MultiProg, Quotes_and_continuations_keep_words_together) {
  EXPECT_EQ(command("0 sh -c 'echo \"a b\"; exit 3' \\\n  more\\ words \"it's\" # not this\n", 0),
            (Words{"sh", "-c", "echo \"a b\"; exit 3", "more words", "it's"}));
  EXPECT_EQ(command("* a \"\" b", 1), (Words{"a", "", "b"}));
}

TEST(MultiProg, What_is_wrong_is_said_with_its_line) {
  EXPECT_EQ(MultiProg::parse("0 a\nx b\n").error().story, "line 2: 'x' names no tasks; 0-3,7 or * would");
  EXPECT_EQ(MultiProg::parse("0-3\n").error().story, "line 1: no program for the tasks 0-3");
  EXPECT_EQ(MultiProg::parse("0 a 'b\n").error().story, "line 1: a quote is not closed");
  EXPECT_EQ(MultiProg::parse("# nothing\n").error().story, "it names no program");
  EXPECT_EQ(MultiProg::parse("0-1 a\n3 b")->check(4).error().story, "no program for task 2");
}

TEST(MultiProg, A_task_is_named_once) {
  const auto twice = MultiProg::parse("0-1 a\n1,2 b\n");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().story, "line 2: Duplicate record for task 1");
  EXPECT_TRUE(MultiProg::parse("0-1 a\n* b\n"));
}

}  // namespace
}  // namespace millrace
