// src/store/recover_test.cpp - damage is reported with its place, a torn tail is cut, and the two are never mixed up.
#include "store/recover.h"

#include "sim/sim_disk.h"
#include "store/crc32c.h"
#include "store/high_mark.h"
#include "store/log_fixture.h"

namespace millrace {
namespace {

std::vector<std::string> segments_and_snapshots(SimDisk& disk) {
  std::vector<std::string> names = *disk.list();
  std::erase(names, high_mark_name);
  return names;
}

struct RecoverTest : testing::Test {
  SimDisk disk{1};
  LogOnDisk log{disk};

  // Three segments, each of several groups; the last group is acknowledged like the others.
  void SetUp() override {
    ASSERT_TRUE(log.open());
    for (int i = 1; i <= 50; ++i)
      ASSERT_TRUE(log.append({"event " + std::to_string(i), std::string(100, 'x')},
                             {{payload_id(static_cast<std::uint64_t>(i)), "payload " + std::to_string(i)}}));
    log.end();
    ASSERT_GE(segments_and_snapshots(disk).size(), 3u);
  }
  std::string last_name() { return segments_and_snapshots(disk).back(); }
  static std::string story_of(SimDisk& on) {
    const auto outcome = recover_log(on);
    if (outcome) return "accepted " + std::to_string(outcome->recovered.events.size());
    EXPECT_EQ(outcome.error().code, Errc::corrupt) << outcome.error().story;
    return outcome.error().story;
  }
};

TEST_F(RecoverTest, Any_flipped_byte_of_an_older_segment_is_damage_and_its_file_is_named) {
  const std::string name = segments_and_snapshots(disk).front();
  for (std::uint64_t at = 0; at < disk.content(name).size(); ++at) {
    SimDisk damaged = disk;
    damaged.flip(name, at, static_cast<std::uint8_t>(1 + at % 255));
    const std::string story = story_of(damaged);
    ASSERT_NE(story.find(name), std::string::npos) << "byte " << at << ": " << story;
    ASSERT_NE(story.find("at byte"), std::string::npos) << story;
  }
}

TEST_F(RecoverTest, Any_flipped_byte_of_the_last_segment_before_its_mark_is_damage) {
  const std::string name = last_name();
  const std::uint64_t end = disk.content(name).size() - record_size(0);
  for (std::uint64_t at = 0; at < disk.content(name).size(); ++at) {
    SimDisk damaged = disk;
    damaged.flip(name, at, 0x10);
    const std::string story = story_of(damaged);
    if (at < end)
      ASSERT_NE(story.find(name), std::string::npos) << "byte " << at << ": " << story;
    else
      ASSERT_EQ(story, "accepted 100");  // only the mark is lost
  }
}

TEST_F(RecoverTest, Last_segment_cut_anywhere_gives_a_prefix_and_then_takes_appends) {
  const std::string name = last_name();
  const std::uint64_t size = disk.content(name).size();
  std::size_t before = 0;
  for (std::uint64_t length = 0; length <= size; length += 3) {
    SimDisk cut = disk;
    cut.cut(name, length);
    ASSERT_TRUE(cut.remove(high_mark_name));  // as if nothing of it had been acknowledged
    LogOnDisk again{cut};
    const auto opened = again.open();
    ASSERT_TRUE(opened) << length << ": " << opened.error().story;
    ASSERT_GE(again.recovered.events.size(), before);
    before = again.recovered.events.size();
    const std::uint64_t next = before + 1;
    ASSERT_EQ(*again.append({"new"}), next);
    ASSERT_TRUE(again.open());
    ASSERT_EQ(again.recovered.events.size(), next);
    ASSERT_EQ(again.recovered.events.back(), "new");
    ASSERT_EQ(again.recovered.cut_bytes, 0u);  // what was torn is really gone
  }
  EXPECT_EQ(before, 100u);
}

TEST_F(RecoverTest, Last_segment_cut_short_of_what_was_acknowledged_is_refused_and_left_alone) {
  const std::string name = last_name();
  const std::uint64_t size = disk.content(name).size();
  for (std::uint64_t length = 0; length < size - record_size(0); length += 3) {
    SimDisk cut = disk;
    cut.cut(name, length);
    const std::string before = cut.content(name);
    const std::string story = story_of(cut);
    ASSERT_NE(story.find("were acknowledged"), std::string::npos) << length << ": " << story;
    ASSERT_NE(story.find("events up to 100 "), std::string::npos) << story;
    ASSERT_EQ(cut.content(name), before);
  }
  SimDisk all_gone = disk;
  for (const std::string& each : segments_and_snapshots(all_gone)) ASSERT_TRUE(all_gone.remove(each));
  EXPECT_NE(story_of(all_gone).find("100 are missing"), std::string::npos);
  ASSERT_TRUE(forget_high_mark(all_gone));
  EXPECT_EQ(story_of(all_gone), "accepted 0");
}

TEST_F(RecoverTest, A_mark_that_survives_a_power_cut_is_never_ahead_of_the_log_and_not_behind_its_last_sync) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SimDisk other{seed};
    LogOnDisk of{other};
    ASSERT_TRUE(of.open());
    std::uint64_t synced = 0, last = 0;
    for (std::uint64_t i = 1; i <= 3 + seed % 7; ++i) {
      last = *of.append({"event " + std::to_string(i)});
      if (i % 3 != seed % 3) continue;
      std::optional<Result<void>> outcome;
      of.wal->sync_high_mark([&](Result<void> done) { outcome = std::move(done); });
      of.worker->run_all();
      ASSERT_TRUE(outcome && *outcome);
      synced = last;
    }
    of.end();
    other.crash();
    const auto mark = read_high_mark(other);
    ASSERT_TRUE(mark);
    ASSERT_GE(*mark, synced) << "seed " << seed;
    ASSERT_LE(*mark, last) << "seed " << seed;
    ASSERT_TRUE(of.open()) << "seed " << seed;
    ASSERT_EQ(*read_high_mark(other), last);
  }
}

TEST_F(RecoverTest, A_full_disk_has_no_mark_and_gets_one_when_there_is_room) {
  ASSERT_TRUE(forget_high_mark(disk));
  disk.set_capacity(0);
  ASSERT_TRUE(log.open());
  std::optional<Result<void>> outcome;
  log.wal->sync_high_mark([&](Result<void> done) { outcome = std::move(done); });
  log.worker->run_all();
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(*outcome);
  disk.set_capacity(1u << 20);
  log.wal->sync_high_mark([&](Result<void> done) { outcome = std::move(done); });
  log.worker->run_all();
  EXPECT_TRUE(*outcome);
  EXPECT_EQ(*read_high_mark(disk), 100u);
}

TEST_F(RecoverTest, Older_segment_cut_or_missing_is_damage) {
  const std::vector<std::string> names = segments_and_snapshots(disk);
  SimDisk cut = disk;
  cut.cut(names[0], disk.content(names[0]).size() - record_size(0));
  EXPECT_NE(story_of(cut).find("ends too early"), std::string::npos);
  for (std::size_t i = 0; i + 1 < names.size(); ++i) {
    SimDisk missing = disk;
    ASSERT_TRUE(missing.remove(names[i]));
    EXPECT_NE(story_of(missing).find(names[i] + ": at byte 0: the segment is missing"), std::string::npos);
  }
}

TEST_F(RecoverTest, Segment_under_another_name_is_damage) {
  const std::vector<std::string> names = segments_and_snapshots(disk);
  ASSERT_TRUE(disk.remove(names[1]));
  ASSERT_TRUE(disk.rename(names[2], names[1]));
  EXPECT_NE(story_of(disk).find("it is segment 3"), std::string::npos);
}

TEST_F(RecoverTest, Any_flipped_byte_of_the_snapshot_is_damage_and_never_ignored) {
  ASSERT_TRUE(log.open());
  ASSERT_TRUE(log.snapshot(100, "a state of some length", {payload_id(3)}));
  log.end();
  const std::string name = segments_and_snapshots(disk).back();
  ASSERT_EQ(name.substr(0, 8), "snapshot");
  for (std::uint64_t at = 0; at < disk.content(name).size(); ++at) {
    SimDisk damaged = disk;
    damaged.flip(name, at, 0x01);
    ASSERT_NE(story_of(damaged).find(name), std::string::npos) << at;
  }
  SimDisk cut = disk;
  cut.cut(name, 70);
  EXPECT_NE(story_of(cut).find(name), std::string::npos);
  SimDisk segment_gone = disk;
  ASSERT_TRUE(segment_gone.remove(segments_and_snapshots(disk).front()));
  EXPECT_NE(story_of(segment_gone).find("missing"), std::string::npos);
}

TEST_F(RecoverTest, Log_that_ends_before_its_snapshot_is_damage_and_is_left_alone) {
  ASSERT_TRUE(log.open());
  ASSERT_TRUE(log.snapshot(99, "state"));
  log.end();
  const std::string name = segments_and_snapshots(disk).front();  // holds event 100, and events before 99
  disk.cut(name, segment_header_size);
  const std::vector<std::string> names = segments_and_snapshots(disk);
  for (const std::string& other : names) {
    if (segment_number(other) > segment_number(name)) {
      ASSERT_TRUE(disk.remove(other));
    }
  }
  const std::string before = disk.content(name);
  EXPECT_NE(story_of(disk).find("the log ends at event"), std::string::npos);
  EXPECT_EQ(disk.content(name), before);
}

TEST_F(RecoverTest, Log_of_a_later_format_is_refused_as_such) {
  std::string header = encode_segment_header({1, 1, 7});
  header[8] = 2;
  const std::uint32_t crc = crc32c(std::string_view{header}.substr(0, 60));
  header.replace(60, 4, reinterpret_cast<const char*>(&crc), 4);
  SimDisk fresh{3};
  ASSERT_TRUE((*fresh.create(segment_name(1)))->write_at(0, header));
  const auto outcome = recover_log(fresh);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().story.find("log format 2"), std::string::npos) << outcome.error().story;
  EXPECT_TRUE(fresh.open(segment_name(1)));
}

TEST_F(RecoverTest, Foreign_bytes_under_our_name_are_damage) {
  SimDisk fresh{3};
  ASSERT_TRUE((*fresh.create(segment_name(1)))->write_at(0, std::string(100, 'z')));
  EXPECT_NE(story_of(fresh).find("not a segment"), std::string::npos);
}

TEST_F(RecoverTest, Unfinished_creation_of_a_segment_is_cut) {
  const std::uint64_t next = segments_and_snapshots(disk).size() + 1;
  // The last one complete, its successor without a whole header.
  LogOnDisk again{disk};
  ASSERT_TRUE(again.open());
  ASSERT_TRUE(again.snapshot(0, "nothing"));
  again.end();
  ASSERT_EQ(disk.content(segment_name(next)).size(), segment_header_size);
  for (const std::uint64_t length : {0u, 10u, 63u}) {
    SimDisk torn = disk;
    torn.cut(segment_name(next), length);
    LogOnDisk third{torn};
    const auto opened = third.open();
    ASSERT_TRUE(opened) << opened.error().story;
    EXPECT_EQ(third.recovered.events.size(), 100u);
    EXPECT_EQ(*third.append({"on"}), 101u);
  }
}

}  // namespace
}  // namespace millrace
