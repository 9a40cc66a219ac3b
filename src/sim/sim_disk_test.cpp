// src/sim/sim_disk_test.cpp - the simulated disk keeps what was synced, and only that for sure.
#include "sim/sim_disk.h"

#include <gtest/gtest.h>

#include <set>

namespace millrace {
namespace {

TEST(SimDisk, Synced_content_under_a_synced_name_survives_every_crash) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimDisk disk(seed);
    auto file = *disk.create("a");
    ASSERT_TRUE(file->write_at(0, "synced"));
    ASSERT_TRUE(file->sync_data());
    ASSERT_TRUE(disk.sync_directory());
    ASSERT_TRUE(file->write_at(0, "SYNCED and more"));
    disk.crash();
    EXPECT_FALSE(file->write_at(0, "x"));  // its process is gone
    const std::string& left = disk.content("a");
    EXPECT_TRUE(left == "synced" || left == "SYNCED and more") << left;
  }
}

TEST(SimDisk, Unsynced_bytes_are_torn_at_sectors_in_many_ways) {
  std::set<std::string> outcomes;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SimDisk disk(seed);
    auto file = *disk.create("a");
    ASSERT_TRUE(disk.sync_directory());
    ASSERT_TRUE(file->write_at(0, std::string(4 * 512, 'x')));
    disk.crash();
    std::string shape;
    for (std::size_t at = 0; at < disk.content("a").size(); at += 512) {
      const std::string part = disk.content("a").substr(at, 512);
      ASSERT_TRUE(part == std::string(512, 'x') || part == std::string(512, '\0'));
      shape += part[0] ? 'x' : '.';
    }
    outcomes.insert(shape);
  }
  EXPECT_GE(outcomes.size(), 12u);  // of 16
}

TEST(SimDisk, Unsynced_names_may_go_either_way_and_a_rename_is_never_half_done) {
  bool saw_old = false, saw_new = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimDisk disk(seed);
    ASSERT_TRUE(disk.create("old"));
    ASSERT_TRUE(disk.sync_directory());
    ASSERT_TRUE(disk.rename("old", "new"));
    disk.crash();
    ASSERT_EQ(disk.list()->size(), 1u);
    (disk.list()->front() == "old" ? saw_old : saw_new) = true;
  }
  EXPECT_TRUE(saw_old && saw_new);
}

TEST(SimDisk, Failed_sync_may_lose_what_a_later_sync_pretends_to_have_saved) {
  bool lost = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimDisk disk(seed);
    auto file = *disk.create("a");
    ASSERT_TRUE(disk.sync_directory());
    ASSERT_TRUE(file->write_at(0, "x"));
    disk.fail_sync(0);
    ASSERT_FALSE(file->sync_data());
    EXPECT_EQ(*file->read_at(0, 1), "x");
    ASSERT_TRUE(file->sync_data());
    disk.crash();
    lost = lost || disk.content("a").empty();
  }
  EXPECT_TRUE(lost);
}

TEST(SimDisk, Reserved_room_is_kept_and_the_rest_runs_out) {
  SimDisk disk(1);
  disk.set_capacity(1000);
  auto first = *disk.create("a");
  auto second = *disk.create("b");
  ASSERT_TRUE(first->reserve(600));
  EXPECT_EQ(*first->size(), 0u);
  const auto full = second->reserve(500);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Errc::unavailable);
  EXPECT_FALSE(second->write_at(0, std::string(500, 'x')));
  EXPECT_TRUE(first->write_at(0, std::string(600, 'x')));
  ASSERT_TRUE(disk.remove("b"));
  EXPECT_EQ(*disk.free_bytes(), 400u);
}

TEST(SimDisk, Without_power_nothing_changes_until_the_crash) {
  SimDisk disk(1);
  disk.lose_power(1);
  auto file = *disk.create("a");
  EXPECT_FALSE(file->write_at(0, "x"));
  EXPECT_FALSE(disk.sync_directory());
  EXPECT_TRUE(disk.powerless());
  disk.crash();
  EXPECT_TRUE(disk.create("b"));
}

TEST(SimDisk, Kill_keeps_what_is_seen_and_closes_files) {
  SimDisk disk(1);
  auto file = *disk.create("a");
  ASSERT_TRUE(file->write_at(0, "x"));
  disk.kill();
  EXPECT_FALSE(file->sync_data());
  EXPECT_EQ(disk.content("a"), "x");
}

}  // namespace
}  // namespace millrace
