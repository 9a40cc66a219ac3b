// src/store/wal_test.cpp - group commit, payloads, snapshots and poison of the event log.
#include "store/wal.h"

#include <algorithm>

#include "sim/sim_disk.h"
#include "store/log_fixture.h"
#include "store/recover.h"

namespace millrace {
namespace {

struct WalTest : testing::Test {
  SimDisk disk{1};
  LogOnDisk log{disk};
  void SetUp() override { ASSERT_TRUE(log.open()); }
  void reopen() {
    const auto opened = log.open();
    ASSERT_TRUE(opened) << opened.error().story;
  }
  static std::vector<PayloadId> ids(std::initializer_list<std::uint64_t> numbers) {
    std::vector<PayloadId> made;
    for (const std::uint64_t number : numbers) made.push_back(payload_id(number));
    return made;
  }
};

TEST_F(WalTest, Gives_indexes_in_order_and_events_back) {
  EXPECT_EQ(*log.append({"a", "b"}), 2u);
  EXPECT_EQ(*log.append({"", "d"}), 4u);
  reopen();
  EXPECT_EQ(log.recovered.events, (std::vector<std::string>{"a", "b", "", "d"}));
  EXPECT_EQ(log.recovered.cut_bytes, 0u);
  EXPECT_EQ(*log.append({"e"}), 5u);
}

TEST_F(WalTest, What_waits_goes_into_one_write_and_one_sync_and_is_answered_in_order) {
  std::vector<std::uint64_t> answers;
  const auto done = [&](Result<std::uint64_t> index) { answers.push_back(*index); };
  log.wal->append({{}, {"first"}}, done);
  for (int i = 0; i < 50; ++i) log.wal->append({{}, {"more", "and more"}}, done);
  const std::uint64_t syncs = disk.syncs();
  EXPECT_TRUE(log.worker->work_one());
  EXPECT_EQ(disk.syncs(), syncs + 1);
  EXPECT_TRUE(answers.empty());  // not before the loop's turn
  EXPECT_TRUE(log.worker->answer_one());
  EXPECT_EQ(answers, (std::vector<std::uint64_t>{1}));
  log.worker->run_all();
  EXPECT_EQ(disk.syncs(), syncs + 2);
  ASSERT_EQ(answers.size(), 51u);
  EXPECT_EQ(answers.back(), 101u);
  EXPECT_TRUE(std::ranges::is_sorted(answers));
}

TEST_F(WalTest, Payload_is_read_from_memory_while_in_flight_and_from_disk_after) {
  log.wal->append({{{payload_id(1), "#!/bin/sh"}}, {"job"}}, [](Result<std::uint64_t>) {});
  EXPECT_TRUE(log.wal->has_payload(payload_id(1)));
  EXPECT_FALSE(log.wal->has_payload(payload_id(2)));
  std::string read;
  log.wal->read_payload(payload_id(1), [&](Result<std::string> bytes) { read = *bytes; });
  EXPECT_EQ(read, "#!/bin/sh");
  log.worker->run_all();
  EXPECT_EQ(*log.payload(1), "#!/bin/sh");
  const auto missing = log.payload(2);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::not_found);
  reopen();
  EXPECT_EQ(*log.payload(1), "#!/bin/sh");
}

TEST_F(WalTest, Segments_follow_each_other) {
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(log.append({std::string(200, 'x')}));
  EXPECT_GT(disk.list()->size(), 3u);
  reopen();
  EXPECT_EQ(log.recovered.events.size(), 100u);
  EXPECT_EQ(*log.append({"on"}), 101u);
}

TEST_F(WalTest, Snapshot_replaces_old_segments_and_carries_live_payloads_along) {
  ASSERT_TRUE(log.append({"1"}, {{payload_id(1), "kept"}, {payload_id(2), "dead"}}));
  for (int i = 2; i <= 60; ++i) ASSERT_TRUE(log.append({std::string(200, 'x')}));
  const std::uint64_t before = log.wal->bytes_since_snapshot();
  const auto written = log.snapshot(60, "state at 60", ids({1}));
  ASSERT_TRUE(written) << written.error().story;
  EXPECT_LT(log.wal->bytes_since_snapshot(), before);
  EXPECT_EQ(disk.list()->size(), 3u);  // the snapshot, one segment and the mark
  EXPECT_EQ(*log.payload(1), "kept");
  EXPECT_FALSE(log.wal->has_payload(payload_id(2)));
  ASSERT_TRUE(log.append({"61"}));
  reopen();
  EXPECT_EQ(log.recovered.snapshot_index, 60u);
  EXPECT_EQ(log.recovered.snapshot, "state at 60");
  EXPECT_EQ(log.recovered.events, (std::vector<std::string>{"61"}));
  EXPECT_EQ(*log.payload(1), "kept");
  ASSERT_TRUE(log.snapshot(61, "state at 61", ids({1})));
  reopen();
  EXPECT_EQ(log.recovered.snapshot_index, 61u);
  EXPECT_EQ(*log.payload(1), "kept");
}

TEST_F(WalTest, Snapshot_of_an_earlier_event_keeps_the_later_ones) {
  for (int i = 1; i <= 60; ++i) ASSERT_TRUE(log.append({std::to_string(i) + std::string(200, 'x')}));
  ASSERT_TRUE(log.snapshot(30, "state at 30"));
  reopen();
  EXPECT_EQ(log.recovered.snapshot_index, 30u);
  ASSERT_EQ(log.recovered.events.size(), 30u);
  EXPECT_EQ(log.recovered.events[0].substr(0, 2), "31");
}

TEST_F(WalTest, Appends_go_on_while_a_snapshot_is_written) {
  for (int i = 1; i <= 20; ++i) ASSERT_TRUE(log.append({std::string(200, 'x')}));
  bool written = false;
  log.wal->write_snapshot(20, std::string(10u << 20, 's'), {}, [&](Result<void> done) { written = done.has_value(); });
  int answered = 0;
  while (!written) {
    log.wal->append({{}, {"beside"}}, [&](Result<std::uint64_t> index) { answered += index.has_value(); });
    if (log.worker->work_one()) log.worker->answer_one();
  }
  EXPECT_GT(answered, 2);
  bool second = true;
  log.wal->write_snapshot(20, "x", {}, [](Result<void>) {});
  log.wal->write_snapshot(20, "x", {}, [&](Result<void> done) { second = done.has_value(); });
  EXPECT_FALSE(second);  // one at a time
  log.worker->run_all();
}

TEST_F(WalTest, Failed_sync_poisons_for_ever) {
  ASSERT_TRUE(log.append({"good"}));
  disk.fail_sync(0);
  std::vector<bool> answers;
  const auto done = [&](Result<std::uint64_t> index) { answers.push_back(index.has_value()); };
  log.wal->append({{}, {"lost"}}, done);
  log.wal->append({{}, {"never tried"}}, done);
  log.worker->run_all();
  log.wal->append({{}, {"too late"}}, done);
  log.worker->run_all();
  EXPECT_EQ(answers, (std::vector<bool>{false, false, false}));
  EXPECT_EQ(log.wal->room(1), Room::reserve_only);
  EXPECT_FALSE(log.snapshot(1, "state"));
}

// A busy moment was once called a full disk.
TEST_F(WalTest, More_than_was_made_ready_is_tried_before_the_disk_is_called_full) {
  constexpr std::uint64_t much = 1u << 20;
  ASSERT_TRUE(log.append({"good"}));
  EXPECT_EQ(log.wal->room(much), Room::asked);
  log.worker->run_all();
  EXPECT_EQ(log.wal->room(much), Room::enough);
  disk.set_capacity(1000);
  log.wal->room(16 * much);
  log.worker->run_all();
  EXPECT_EQ(log.wal->room(16 * much), Room::reserve_only);
}

TEST_F(WalTest, Failed_snapshot_leaves_everything_as_it_was_and_is_not_fatal) {
  ASSERT_TRUE(log.append({"1"}, {{payload_id(1), "kept"}}));
  for (std::uint64_t fault = 0; fault < 12; ++fault) {
    // Faults in the log's own files poison it, rightly; the first ones of a snapshot are those of its new segment.
    disk.fail_sync(fault);
    const auto outcome = log.snapshot(1, "state", ids({1}));
    disk.kill();
    reopen();
    EXPECT_EQ(*log.payload(1), "kept");
    if (!outcome) continue;
    EXPECT_EQ(log.recovered.snapshot_index, 1u);
  }
}

TEST_F(WalTest, Scan_lists_every_record) {
  ASSERT_TRUE(log.append({"event"}, {{payload_id(1), "payload"}}));
  ASSERT_TRUE(log.snapshot(1, "state", ids({1})));
  ASSERT_TRUE(log.append({"two"}));
  std::vector<std::string> seen;
  ASSERT_TRUE(scan_log(disk, [&](const ScannedRecord& record) {
    EXPECT_TRUE(record.crc_ok);
    seen.push_back(record.type + " " + std::to_string(record.index));
  }));
  EXPECT_EQ(seen, (std::vector<std::string>{"snapshot 1", "segment 2", "payload 2", "event 2", "synced 3"}));
  disk.flip(segment_name(2), segment_header_size + 30, 1);
  seen.clear();
  ASSERT_TRUE(scan_log(disk, [&](const ScannedRecord& record) { seen.push_back(record.type); }));
  EXPECT_EQ(seen, (std::vector<std::string>{"snapshot", "segment", "damaged", "event", "synced"}));
}

TEST_F(WalTest, Same_salt_gives_the_same_bytes_again) {
  SimDisk other_disk{2};
  LogOnDisk other{other_disk};
  ASSERT_TRUE(other.open());
  for (LogOnDisk* each : {&log, &other}) ASSERT_TRUE(each->append({"a", "b"}, {{payload_id(1), "p"}}));
  EXPECT_EQ(disk.content(segment_name(1)), other_disk.content(segment_name(1)));
}

}  // namespace
}  // namespace millrace
