// src/agent/spool_directory_test.cpp - forgetting an attempt takes a bounded time, whatever its user left in its
// folders.
#include "agent/spool_directory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace millrace {
namespace {

namespace fs = std::filesystem;

class SpoolTest : public testing::Test {
 protected:
  SpoolTest() {
    char name[] = "/tmp/mr-spool-XXXXXX";
    root_ = mkdtemp(name);
    fs::permissions(root_, fs::perms::owner_all);
  }
  ~SpoolTest() override { fs::remove_all(root_); }
  void make(const SpoolDirectory& spool, AttemptName name, int files) {
    ASSERT_TRUE(spool.create(name));
    fs::create_directory(spool.path_of(name) + "/x11");
    for (int i = 0; i < files; ++i) std::ofstream(spool.path_of(name) + "/x11/" + std::to_string(i));
  }
  std::size_t entries() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::recursive_directory_iterator(root_)) ++count;
    return count;
  }
  std::string root_;
};

TEST_F(SpoolTest, A_small_one_is_gone_at_once) {
  const auto spool = SpoolDirectory::open(root_);
  ASSERT_TRUE(spool);
  make(*spool, {1, 0}, 10);
  spool->forget({1, 0});
  EXPECT_EQ(entries(), 0u);
}

TEST_F(SpoolTest, A_large_one_is_no_attempt_at_once_and_gone_bit_by_bit) {
  const auto spool = SpoolDirectory::open(root_);
  ASSERT_TRUE(spool);
  make(*spool, {1, 0}, 2'500);
  spool->forget({1, 0});
  EXPECT_GT(entries(), 1'000u);
  EXPECT_TRUE(spool->list().empty());
  EXPECT_EQ(entries(), 0u);
  make(*spool, {2, 0}, 2'500);
  spool->forget({2, 0});
  for (std::uint64_t key = 3; key < 6; ++key) {
    make(*spool, {key, 0}, 0);
    spool->forget({key, 0});
  }
  EXPECT_EQ(entries(), 0u);
}

}  // namespace
}  // namespace millrace
