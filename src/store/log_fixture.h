// src/store/log_fixture.h - for tests: a log on some disk, with a worker that works when it is told to.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ports/filesystem.h"
#include "ports/loop.h"
#include "store/wal.h"

namespace millrace {

// The worker's thread and the loop it answers to are two queues; a test decides which of them goes on.
class ManualWorker final : public Worker {
 public:
  void run(Task work, Task then) override { work_.emplace_back(std::move(work), std::move(then)); }
  bool work_one() {
    if (work_.empty()) return false;
    auto [work, then] = std::move(work_.front());
    work_.pop_front();
    work();
    then_.push_back(std::move(then));
    return true;
  }
  bool answer_one() {
    if (then_.empty()) return false;
    Task then = std::move(then_.front());
    then_.pop_front();
    then();
    return true;
  }
  void run_all() {
    while (answer_one() || work_one()) {
    }
  }

 private:
  std::deque<std::pair<Task, Task>> work_;
  std::deque<Task> then_;
};

inline WalSettings small_log() { return {4096, 2048, 4096, 7}; }

inline PayloadId payload_id(std::uint64_t number) {
  PayloadId id;
  for (std::size_t i = 0; i < 8; ++i) id.digest[i] = static_cast<std::uint8_t>(number >> (8 * i));
  return id;
}

// A log and everything it stands on; end() ends it as a dying process does.
struct LogOnDisk {
  explicit LogOnDisk(Filesystem& d, WalSettings s = small_log()) : disk(d), settings(s) {}
  Filesystem& disk;
  WalSettings settings;
  std::unique_ptr<ManualWorker> worker;
  std::unique_ptr<Wal> wal;
  Recovered recovered;

  Result<void> open() {
    end();
    worker = std::make_unique<ManualWorker>();
    auto opened = Wal::open(disk, *worker, settings);
    if (!opened) return std::unexpected(opened.error());
    wal = std::move(opened->first);
    recovered = std::move(opened->second);
    return {};
  }
  void end() {
    worker.reset();  // with everything queued
    wal.reset();
  }
  // Appends one batch and waits for it.
  Result<std::uint64_t> append(std::vector<std::string> events,
                               std::vector<std::pair<PayloadId, std::string>> payloads = {}) {
    std::optional<Result<std::uint64_t>> outcome;
    wal->append({std::move(payloads), std::move(events)},
                [&](Result<std::uint64_t> done) { outcome = std::move(done); });
    worker->run_all();
    EXPECT_TRUE(outcome.has_value());
    return outcome.value_or(fail(Errc::io, "no answer"));
  }
  Result<std::string> payload(std::uint64_t number) {
    std::optional<Result<std::string>> outcome;
    wal->read_payload(payload_id(number), [&](Result<std::string> bytes) { outcome = std::move(bytes); });
    worker->run_all();
    return outcome.value_or(fail(Errc::io, "no answer"));
  }
  Result<void> snapshot(std::uint64_t index, std::string state, std::vector<PayloadId> live = {}) {
    std::optional<Result<void>> outcome;
    wal->write_snapshot(index, std::move(state), std::move(live),
                        [&](Result<void> done) { outcome = std::move(done); });
    worker->run_all();
    return outcome.value_or(fail(Errc::io, "no answer"));
  }
};

}  // namespace millrace
