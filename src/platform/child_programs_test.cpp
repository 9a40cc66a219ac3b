// src/platform/child_programs_test.cpp - programs beside the loop: their ends, words, limits.
#include "platform/child_programs.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>

namespace millrace {
namespace {

class ChildProgramsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "programs-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string script(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream{path} << "#!/bin/sh\n" << text << "\n";
    chmod(path.c_str(), 0755);
    return path;
  }
  ProgramEnd run(ProgramRun what) {
    std::optional<ProgramEnd> out;
    programs_.run(std::move(what), [&](const ProgramEnd& end) {
      out = end;
      loop_.stop();
    });
    loop_.run();
    return *out;
  }

  std::string folder_;
  EventLoop loop_;
  ChildPrograms programs_{loop_};
};

TEST_F(ChildProgramsTest, tells_how_a_program_ended_and_what_it_said) {
  EXPECT_TRUE(run({script("good", "exit 0"), {}, {}, {}}).went_well());
  const ProgramEnd end =
      run({script("bad", "echo $1 $NAME; [ -z \"$HOME\" ] && exit 3"), {"said"}, {"NAME=value"}, {}});
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(end.words, "said value");
  EXPECT_EQ(describe("/x", end), "/x exited with 3: said value");
  EXPECT_EQ(run({script("dead", "kill -9 $$"), {}, {}, {}}).signal, SIGKILL);
}

TEST_F(ChildProgramsTest, what_is_not_there_fails_later_and_not_in_run) {
  const ProgramEnd end = run({folder_ + "/missing", {}, {}, {}});
  EXPECT_EQ(end.exit_code, could_not_start);
  EXPECT_EQ(end.words, "No such file or directory");
}

TEST_F(ChildProgramsTest, one_that_takes_too_long_is_killed_with_its_children) {
  const ProgramEnd end = run({script("slow", "sleep 1000 & wait"), {}, {}, milliseconds(50)});
  EXPECT_TRUE(end.timed_out);
  EXPECT_FALSE(end.went_well());
}

TEST_F(ChildProgramsTest, is_over_with_its_own_process_whatever_it_left_behind) {
  EXPECT_TRUE(run({script("daemon", "sleep 2 & exit 0"), {}, {}, {}}).went_well());
}

TEST_F(ChildProgramsTest, a_pattern_stands_for_files_in_order) {
  const std::string second = script("20-b", ""), first = script("10-a", "");
  EXPECT_EQ(programs_.find(folder_ + "/*-*"), (std::vector<std::string>{first, second}));
  EXPECT_TRUE(programs_.find(folder_ + "/none-*").empty());
  EXPECT_EQ(programs_.find("/not/there"), std::vector<std::string>{"/not/there"});
}

}  // namespace
}  // namespace millrace
