// src/isolation/private_folders_test.cpp - folders of jobs are removed whatever users have made of them.
#include "isolation/private_folders.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace millrace {
namespace {

namespace fs = std::filesystem;

class PrivateFoldersTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/mr-private-XXXXXX";
    root_ = mkdtemp(path);
    fs::create_directory(base());
    fs::permissions(base(), fs::perms::owner_all);
    fs::create_directory(base() + "/tmp");
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string base() const { return root_ + "/job_1"; }
  bool is_empty() const { return fs::is_empty(root_); }
  void remove_base() {
    remove_private_folders(base());
    while (waitpid(-1, nullptr, 0) > 0) continue;  // it goes on by itself where it takes long
  }
  std::string root_;
};

TEST_F(PrivateFoldersTest, Deep_trees_and_links_go_and_what_they_lead_to_stays) {
  fs::create_directory(root_ + "-elsewhere");
  std::ofstream{root_ + "-elsewhere/kept"} << "x";
  int at = open((base() + "/tmp").c_str(), O_RDONLY | O_DIRECTORY);
  for (int depth = 0; depth < 3000; ++depth) {
    ASSERT_EQ(mkdirat(at, "below", 0700), 0);
    ASSERT_EQ(symlinkat((root_ + "-elsewhere").c_str(), at, "link"), 0);
    const int below = openat(at, "below", O_RDONLY | O_DIRECTORY);
    close(at);
    at = below;
  }
  close(at);
  remove_base();
  EXPECT_TRUE(is_empty());
  EXPECT_TRUE(fs::exists(root_ + "-elsewhere/kept"));
  fs::remove_all(root_ + "-elsewhere");
}

TEST_F(PrivateFoldersTest, Folder_that_becomes_a_link_leads_nowhere) {
  const std::string elsewhere = root_ + "-elsewhere";
  fs::create_directory(elsewhere);
  for (int i = 0; i < 100; ++i) std::ofstream{elsewhere + "/" + std::to_string(i)} << "x";
  fs::create_directory(base() + "/tmp/turned");
  for (int i = 0; i < 100; ++i) std::ofstream{base() + "/tmp/turned/" + std::to_string(i)} << "x";
  // A process that does not belong to the job holds its folder open.
  const int held = open((base() + "/tmp").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(symlinkat(elsewhere.c_str(), held, "link"), 0);
  std::atomic<bool> done = false;
  std::thread turning([&] {
    while (!done) renameat2(held, "turned", held, "link", RENAME_EXCHANGE);
  });
  remove_base();
  done = true;
  turning.join();
  close(held);
  EXPECT_EQ(std::distance(fs::directory_iterator{elsewhere}, {}), 100);
  fs::remove_all(elsewhere);
}

TEST_F(PrivateFoldersTest, Only_our_own_leftovers_are_taken_for_leftovers) {
  fs::create_directory(root_ + "/somebodys.gone-1");  // which others may read
  fs::create_directory(root_ + "/job_2.gone-7");
  fs::permissions(root_ + "/job_2.gone-7", fs::perms::owner_all);
  remove_base();
  EXPECT_TRUE(fs::exists(root_ + "/somebodys.gone-1"));
  EXPECT_FALSE(fs::exists(root_ + "/job_2.gone-7"));
}

TEST_F(PrivateFoldersTest, Folder_that_somebody_else_has_made_is_refused) {
  PrivateFolders folders;
  folders.base = root_ + "/job_3";
  fs::create_directory_symlink(base(), folders.base);
  const auto entered = enter_private_folders(folders);
  ASSERT_FALSE(entered);
  EXPECT_NE(entered.error().story.find("somebody else has made it"), std::string::npos) << entered.error().story;
}

}  // namespace
}  // namespace millrace
