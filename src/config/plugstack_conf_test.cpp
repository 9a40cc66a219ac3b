// src/config/plugstack_conf_test.cpp - lines of plugstack.conf, includes, and what is wrong in them.
#include "config/plugstack_conf.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace millrace {
namespace {

TEST(PlugStackConf, Reads_plugins_and_their_arguments) {
  const PlugStack stack = parse_plugstack(
      "# plugins\nrequired /usr/lib/pyxis.so  runtime_path=/run/pyxis x=1 # why\n\n  optional renice.so\n",
      "/etc/plugstack.conf");
  EXPECT_TRUE(stack.problems.empty());
  ASSERT_EQ(stack.lines.size(), 2u);
  EXPECT_TRUE(stack.lines[0].required);
  EXPECT_EQ(stack.lines[0].plugin, "/usr/lib/pyxis.so");
  EXPECT_EQ(stack.lines[0].arguments, (std::vector<std::string>{"runtime_path=/run/pyxis", "x=1"}));
  EXPECT_FALSE(stack.lines[1].required);
  EXPECT_EQ(stack.lines[1].line, 4);
}

TEST(PlugStackConf, Says_what_is_wrong_and_where) {
  const PlugStack stack = parse_plugstack("needed a.so\nrequired\ninclude\n", "p");
  ASSERT_EQ(stack.problems.size(), 3u);
  EXPECT_EQ(stack.problems[0].text, "'needed' is wrong, required, optional or include would be right");
  EXPECT_EQ(stack.problems[1].text, "required takes the path of a plugin and its arguments");
  EXPECT_EQ(stack.problems[2].text, "include takes one name, which may have * and ?");
  EXPECT_EQ(stack.problems[2].line, 3);
}

class PlugStackFiles : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mr_plugstack_XXXXXX";
    folder_ = std::string{mkdtemp(name)} + "/";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + name).parent_path());
    std::ofstream(folder_ + name) << text;
  }
  std::string folder_;
};

TEST_F(PlugStackFiles, Includes_what_a_pattern_finds) {
  write("plugstack.conf", "include plugstack.conf.d/*.conf\ninclude none/*.conf\n");
  write("plugstack.conf.d/b.conf", "optional b.so\n");
  write("plugstack.conf.d/a.conf", "required a.so\n");
  const PlugStack stack = read_plugstack({}, folder_ + "slurm.conf");
  EXPECT_TRUE(stack.problems.empty());
  ASSERT_EQ(stack.lines.size(), 2u);
  EXPECT_EQ(stack.lines[0].plugin, "a.so");
  EXPECT_EQ(stack.lines[1].plugin, "b.so");
  Configuration configuration;
  take_plugstack(stack, configuration);
  ASSERT_EQ(configuration.not_built.size(), 2u);
  EXPECT_EQ(configuration.not_built[0].key, "required plugin a.so");
}

TEST_F(PlugStackFiles, A_file_that_is_named_must_be_there) {
  EXPECT_TRUE(read_plugstack({}, folder_ + "slurm.conf").problems.empty());
  const auto lines = split_conf_text("PlugStackConfig=mine.conf\n", folder_ + "slurm.conf");
  EXPECT_EQ(read_plugstack(lines, folder_ + "slurm.conf").problems.size(), 1u);
  write("mine.conf", "include mine.conf\n");
  EXPECT_NE(read_plugstack(lines, folder_ + "slurm.conf").problems.at(0).text.find("without end"), std::string::npos);
}

}  // namespace
}  // namespace millrace
