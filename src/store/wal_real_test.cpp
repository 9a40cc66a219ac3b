// src/store/wal_real_test.cpp - the event log on a real disk, a real worker and a real loop.
#include <chrono>
#include <cstdio>
#include <functional>

#include "platform/event_loop.h"
#include "platform/loop_fixture.h"
#include "platform/real_filesystem.h"
#include "platform/worker.h"
#include "store/wal.h"

namespace millrace {
namespace {

struct WalOnRealDisk : LoopTest {
  TemporaryDirectory directory;
  std::unique_ptr<RealFilesystem> files = *RealFilesystem::open_directory(directory.path);
  std::unique_ptr<ThreadWorker> worker;
  std::unique_ptr<Wal> wal;
  Recovered recovered;

  void open(WalSettings settings = {1u << 20, 1u << 20, 1u << 20, 42}) {
    close();
    worker = std::make_unique<ThreadWorker>(loop, "log");
    auto opened = Wal::open(*files, *worker, settings);
    ASSERT_TRUE(opened) << opened.error().story;
    wal = std::move(opened->first);
    recovered = std::move(opened->second);
  }
  void close() {
    worker.reset();
    wal.reset();
  }
  void TearDown() override { close(); }
};

TEST_F(WalOnRealDisk, Many_batches_in_flight_with_snapshots_beside_them_come_back) {
  open();
  constexpr std::uint64_t batches = 300, each = 20;
  std::uint64_t durable = 0, snapshots = 0;
  for (std::uint64_t i = 0; i < batches; ++i) {
    Batch batch;
    PayloadId id;
    id.digest[0] = static_cast<std::uint8_t>(i % 8);
    if (!wal->has_payload(id)) batch.payloads.emplace_back(id, std::string(1000, 'p'));
    for (std::uint64_t k = 0; k < each; ++k)
      batch.events.push_back(std::to_string(i * each + k + 1) + std::string(400, 'e'));
    wal->append(std::move(batch), [&](Result<std::uint64_t> index) {
      ASSERT_TRUE(index) << index.error().story;
      ASSERT_GT(*index, durable);
      durable = *index;
      loop.stop();
    });
    if (i % 50 != 49) continue;
    run_until([&] { return durable > i * each / 2; });
    std::vector<PayloadId> live(8);
    for (std::size_t k = 0; k < live.size(); ++k) live[k].digest[0] = static_cast<std::uint8_t>(k);
    wal->write_snapshot(durable, "state " + std::to_string(durable), live, [&](Result<void> done) {
      snapshots += done.has_value();
      loop.stop();
    });
  }
  run_until([&] { return durable == batches * each && snapshots > 0; });
  open();
  ASSERT_GT(recovered.snapshot_index, 0u);
  EXPECT_EQ(recovered.snapshot, "state " + std::to_string(recovered.snapshot_index));
  ASSERT_EQ(recovered.snapshot_index + recovered.events.size(), batches * each);
  EXPECT_EQ(recovered.events.back(), std::to_string(batches * each) + std::string(400, 'e'));
  std::string payload;
  wal->read_payload(PayloadId{}, [&](Result<std::string> bytes) {
    payload = *bytes;
    loop.stop();
  });
  run_until([&] { return !payload.empty(); });
  EXPECT_EQ(payload, std::string(1000, 'p'));
}

// Payloads of more than one piece are carried along in several steps, and their memory is given back.
TEST_F(WalOnRealDisk, Compaction_copies_many_payloads) {
  open({1u << 20, 1u << 20, 8u << 20, 42});
  std::vector<PayloadId> live;
  std::uint64_t durable = 0;
  for (std::uint8_t i = 0; i < 30; ++i) {
    PayloadId id;
    id.digest[0] = i;
    live.push_back(id);
    wal->append({{{id, std::string(400'000, static_cast<char>('a' + i % 26))}}, {"job"}},
                [&](Result<std::uint64_t> index) {
                  durable = *index;
                  loop.stop();
                });
  }
  run_until([&] { return durable == 30; });
  bool written = false;
  wal->write_snapshot(30, "state", live, [&](Result<void> done) {
    ASSERT_TRUE(done) << done.error().story;
    written = true;
    loop.stop();
  });
  run_until([&] { return written; });
  open();
  EXPECT_EQ(recovered.snapshot_index, 30u);
  EXPECT_TRUE(recovered.events.empty());
  std::size_t read = 0;
  for (std::uint8_t i = 0; i < 30; ++i)
    wal->read_payload(live[i], [&, i](Result<std::string> bytes) {
      ASSERT_TRUE(bytes) << bytes.error().story;
      EXPECT_EQ(*bytes, std::string(400'000, static_cast<char>('a' + i % 26)));
      ++read;
      loop.stop();
    });
  run_until([&] { return read == 30; });
}

// Not a test: --gtest_also_run_disabled_tests --gtest_filter='*Throughput*' prints durable records per second.
TEST_F(WalOnRealDisk, DISABLED_Throughput_at_batches_of_128) {
  open({});
  constexpr std::uint64_t total = 2'000'000, batch_size = 128, in_flight_max = 8;
  std::uint64_t sent = 0, durable = 0, in_flight = 0;
  std::function<void()> feed = [&] {
    while (in_flight < in_flight_max && sent < total) {
      Batch batch;
      for (std::uint64_t k = 0; k < batch_size; ++k) batch.events.emplace_back(100, 'e');
      sent += batch_size;
      ++in_flight;
      wal->append(std::move(batch), [&](Result<std::uint64_t> index) {
        --in_flight;
        durable = *index;
        if (durable >= total) return loop.stop();
        feed();
      });
    }
  };
  const auto begin = std::chrono::steady_clock::now();
  feed();
  run_until([&] { return durable >= total; });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.0f durable records/s\n", static_cast<double>(durable) / took.count());
}

}  // namespace
}  // namespace millrace
