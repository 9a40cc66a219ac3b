// src/cli/crontab_file_test.cpp - the file of scrontab.
#include "cli/crontab_file.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(CrontabFile, Options_belong_to_the_next_entry_and_variables_to_all_below) {
  const auto entries = parse_crontab(
      "# mine\nMAILTO=\"me\"\n#SCRON -t 5\n#SCRON --mem=50\n*/5 * * * * echo a = b\n\nCOLOUR = red\n@daily  "
      "/bin/report --all\n");
  ASSERT_TRUE(entries) << entries.error().story;
  ASSERT_EQ(entries->size(), 2u);
  const CrontabEntry& first = entries->front();
  EXPECT_EQ(first.line, 5u);
  EXPECT_EQ(first.times, "*/5 * * * *");
  EXPECT_EQ(first.command, "echo a = b");
  EXPECT_EQ(first.variables, std::vector<std::string>{"MAILTO=me"});
  EXPECT_EQ(script_of(first), "#!/bin/sh\n#SBATCH -t 5\n#SBATCH --mem=50\necho a = b\n");
  EXPECT_EQ(entries->back().times, "@daily");
  EXPECT_EQ(entries->back().command, "/bin/report --all");
  EXPECT_TRUE(entries->back().options.empty());
  EXPECT_EQ(entries->back().variables, (std::vector<std::string>{"MAILTO=me", "COLOUR=red"}));
}

TEST(CrontabFile, Mistakes_are_named_by_line) {
  for (const auto& [text, words] : {std::pair{"* * * *\n", "line 1"},
                                    {"\n61 * * * * true\n", "line 2"},
                                    {"@daily\n", "a command is missing"},
                                    {"#SCRON -t 1\n", "belong to no entry"}}) {
    const auto entries = parse_crontab(text);
    ASSERT_FALSE(entries) << text;
    EXPECT_NE(entries.error().story.find(words), std::string::npos) << entries.error().story;
  }
}

}  // namespace
}  // namespace millrace
