// src/platform/completion_file_test.cpp - records of ended jobs reach their file once, also when they are told twice.
#include "platform/completion_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

namespace millrace {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

class Completions : public testing::Test {
 protected:
  Completions() {
    char name[] = "/tmp/completions.XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/jobs";
  }
  ~Completions() override {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }
  static std::string line(int job, const char* end) {
    return "JobId=" + std::to_string(job) + " Name=x SubmitTime=2026-01-01T00:00:00 EndTime=" + end +
           " ExitCode=0:0 \n";
  }
  std::string folder_, path_;
};

TEST_F(Completions, A_record_that_is_in_the_file_is_not_written_again) {
  std::unique_ptr<std::set<std::string>> known;
  ASSERT_TRUE(append_completions(path_, line(1, "T1") + line(2, "T1"), known));
  known.reset();  // another controller
  ASSERT_TRUE(append_completions(path_, line(2, "T1") + line(2, "T2") + line(3, "T1"), known));
  EXPECT_EQ(text_of(path_), line(1, "T1") + line(2, "T1") + line(2, "T2") + line(3, "T1"));
}

TEST_F(Completions, One_that_is_told_twice_at_once_is_written_once) {
  std::unique_ptr<std::set<std::string>> known;
  ASSERT_TRUE(append_completions(path_, line(1, "T1") + line(1, "T1"), known));
  EXPECT_EQ(text_of(path_), line(1, "T1"));
}

TEST_F(Completions, A_file_that_was_moved_away_is_made_again) {
  std::unique_ptr<std::set<std::string>> known;
  ASSERT_TRUE(append_completions(path_, line(1, "T1"), known));
  unlink(path_.c_str());
  ASSERT_TRUE(append_completions(path_, line(2, "T1"), known));
  EXPECT_EQ(text_of(path_), line(2, "T1"));
}

TEST_F(Completions, A_place_that_is_not_there_is_named) {
  std::unique_ptr<std::set<std::string>> known;
  const auto done = append_completions(folder_ + "/no/such", line(1, "T1"), known);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().story, folder_ + "/no/such: No such file or directory");
}

}  // namespace
}  // namespace millrace
