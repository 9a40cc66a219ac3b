// src/platform/real_filesystem_test.cpp - the file operations of the event log on the host's own disk.
#include "platform/real_filesystem.h"

#include <sys/stat.h>

#include "platform/loop_fixture.h"

namespace millrace {
namespace {

struct RealFilesystemTest : testing::Test {
  TemporaryDirectory directory;
  std::unique_ptr<RealFilesystem> files = *RealFilesystem::open_directory(directory.path);
};

TEST_F(RealFilesystemTest, Writes_and_reads_back_short_at_the_end) {
  auto file = files->create("a");
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->write_at(3, "hello"));
  ASSERT_TRUE((*file)->sync_data());
  ASSERT_TRUE(files->sync_directory());
  EXPECT_EQ(*(*file)->size(), 8u);
  EXPECT_EQ(*(*file)->read_at(3, 100), "hello");
  EXPECT_EQ(*(*file)->read_at(0, 3), std::string(3, '\0'));
  EXPECT_EQ(*(*file)->read_at(100, UINT64_MAX), "");
  ASSERT_TRUE((*file)->truncate(5));
  EXPECT_EQ(*(*file)->read_at(3, 100), "he");
  struct stat status{};
  ASSERT_EQ(::stat((directory.path + "/a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(RealFilesystemTest, Reserve_changes_neither_size_nor_content) {
  auto file = files->create("a");
  ASSERT_TRUE((*file)->write_at(0, "x"));
  ASSERT_TRUE((*file)->reserve(1u << 20));
  EXPECT_EQ(*(*file)->size(), 1u);
}

TEST_F(RealFilesystemTest, Reserve_without_room_is_unavailable) {
  auto file = files->create("a");
  const auto outcome = (*file)->reserve(*files->free_bytes() + (1ull << 40));
  ASSERT_FALSE(outcome);
  if (outcome.error().code != Errc::unavailable) GTEST_SKIP() << outcome.error().story;  // a limit of the file system
}

TEST_F(RealFilesystemTest, Names_are_created_once_listed_sorted_renamed_and_removed) {
  ASSERT_TRUE(files->create("b"));
  ASSERT_TRUE(files->create("a"));
  EXPECT_FALSE(files->create("a"));
  EXPECT_EQ(*files->list(), (std::vector<std::string>{"a", "b"}));
  ASSERT_TRUE(files->rename("a", "c"));
  ASSERT_TRUE(files->remove("b"));
  EXPECT_EQ(*files->list(), (std::vector<std::string>{"c"}));
  const auto missing = files->open("a");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  EXPECT_NE(missing.error().story.find(directory.path + "/a"), std::string::npos);
}

TEST_F(RealFilesystemTest, Link_is_not_followed) {
  ASSERT_EQ(::symlink("/etc/passwd", (directory.path + "/link").c_str()), 0);
  EXPECT_FALSE(files->open("link"));
}

TEST_F(RealFilesystemTest, Second_lock_is_refused_as_long_as_the_first_lives) {
  ASSERT_TRUE(files->lock());
  auto second = *RealFilesystem::open_directory(directory.path);
  const auto locked = second->lock();
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().code, Errc::refused);
  files.reset();
  EXPECT_TRUE(second->lock());
}

TEST_F(RealFilesystemTest, Missing_directory_is_not_found) {
  const auto missing = RealFilesystem::open_directory(directory.path + "/none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
}

}  // namespace
}  // namespace millrace
