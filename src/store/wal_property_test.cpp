// src/store/wal_property_test.cpp - laws of the event log after any history of appends, snapshots, faults and crashes.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "base/prng.h"
#include "base/text.h"
#include "sim/sim_disk.h"
#include "store/log_fixture.h"

namespace millrace {
namespace {

std::string payload_text(std::uint64_t number) {
  return std::string(20 + number % 7 * 90, static_cast<char>('a' + number % 26));
}

// A history in miniature: "+7" names payload 7, "-7" stops needing it, "." is something else.
class History {
 public:
  std::vector<std::string> events;  // index i is at i - 1
  std::set<std::uint64_t> live_after(std::uint64_t index) const {
    std::set<std::uint64_t> live;
    for (std::uint64_t i = 0; i < index; ++i) {
      const std::string& event = events[i];
      if (event[0] == '+') live.insert(number_of(event));
      if (event[0] == '-') live.erase(number_of(event));
    }
    return live;
  }
  static std::uint64_t number_of(const std::string& event) { return std::stoull(event.substr(1)); }
};

struct Trial {
  explicit Trial(std::uint64_t seed) : random(seed), disk(seed * 31 + 1), log(disk) {}
  Prng random;
  SimDisk disk;
  LogOnDisk log;
  History history;
  std::uint64_t acknowledged = 0;
  bool failed_once = false;  // an answer was an error: nothing after it may be acknowledged
  std::map<std::uint64_t, std::string> snapshots;

  void append_some() {
    Batch batch;
    const std::uint64_t count = 1 + random.below(4);
    std::set<std::uint64_t> in_batch;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t number = random.below(12);
      switch (random.below(3)) {
        case 0: {
          const PayloadId id = payload_id(number);
          if (!log.wal->has_payload(id) && in_batch.insert(number).second)
            batch.payloads.emplace_back(id, payload_text(number));
          history.events.push_back("+" + std::to_string(number));
          break;
        }
        case 1:
          history.events.push_back("-" + std::to_string(number));
          break;
        default:
          history.events.push_back("." + std::string(random.below(700), 'e'));
      }
      batch.events.push_back(history.events.back());
    }
    const std::uint64_t last = history.events.size();
    log.wal->append(std::move(batch), [this, last](Result<std::uint64_t> index) {
      if (!index) {
        failed_once = true;
        return;
      }
      ASSERT_FALSE(failed_once);
      ASSERT_EQ(*index, last);
      ASSERT_GT(last, acknowledged);
      acknowledged = last;
    });
  }

  void snapshot() {
    if (acknowledged == 0 || failed_once) return;
    const std::uint64_t index = acknowledged - random.below(std::min<std::uint64_t>(acknowledged, 3));
    std::set<std::uint64_t> live = history.live_after(index);
    for (std::uint64_t i = index; i < history.events.size(); ++i)
      if (history.events[i][0] == '+') live.insert(History::number_of(history.events[i]));
    std::vector<PayloadId> ids;
    for (const std::uint64_t number : live) ids.push_back(payload_id(number));
    const std::string state = "state " + std::to_string(index) + std::string(random.below(3000), 's');
    // Several may be tried for one index; whichever is found must be one of them, and they differ only in length.
    snapshots[index] = "state " + std::to_string(index);
    log.wal->write_snapshot(index, state, std::move(ids), [](Result<void>) {});
  }

  void step() {
    switch (random.below(12)) {
      case 0:
        snapshot();
        break;
      case 1:
      case 2:
      case 3:
        append_some();
        break;
      case 4:
      case 5:
      case 6:
      case 7:
        log.worker->work_one();
        break;
      default:
        log.worker->answer_one();
    }
    if (random.chance(1, 150)) disk.fail_sync(random.below(5));
    if (random.chance(1, 150)) disk.fail_write(random.below(5));
    if (random.chance(1, 100)) disk.lose_power(random.below(15));
  }

  // The laws.
  void reopen() {
    const auto opened = log.open();
    ASSERT_TRUE(opened) << opened.error().story;
    const Recovered& found = log.recovered;
    const std::uint64_t count = found.snapshot_index + found.events.size();
    ASSERT_GE(count, acknowledged) << "an acknowledged event is lost";
    ASSERT_LE(count, history.events.size());
    for (std::uint64_t i = found.snapshot_index; i < count; ++i)
      ASSERT_EQ(found.events[i - found.snapshot_index], history.events[i]) << "event " << i + 1;
    if (found.snapshot_index > 0) {
      ASSERT_TRUE(snapshots.contains(found.snapshot_index));
      ASSERT_TRUE(found.snapshot.starts_with(snapshots[found.snapshot_index]));
    }
    history.events.resize(count);
    acknowledged = count;
    failed_once = false;
    for (const std::uint64_t number : history.live_after(count)) {
      ASSERT_TRUE(log.wal->has_payload(payload_id(number))) << "payload " << number;
      const auto bytes = log.payload(number);
      ASSERT_TRUE(bytes) << bytes.error().story;
      ASSERT_EQ(*bytes, payload_text(number));
    }
  }
};

void random_life(std::uint64_t seed) {
  Trial trial(seed);
  trial.reopen();
  for (int life = 0; life < 6 && !testing::Test::HasFatalFailure(); ++life) {
    const std::uint64_t steps = trial.random.below(250);
    for (std::uint64_t i = 0; i < steps && !trial.disk.powerless() && !testing::Test::HasFatalFailure(); ++i)
      trial.step();
    trial.log.end();
    trial.disk.powerless() || trial.random.chance(2, 3) ? trial.disk.crash() : trial.disk.kill();
    while (trial.random.chance(1, 3)) {  // another crash in the middle of a recovery, or right after it
      trial.disk.fail_sync(trial.random.below(10));
      trial.disk.lose_power(trial.random.below(10));
      (void)trial.log.open();
      trial.log.end();
      trial.disk.crash();
    }
    trial.disk.kill();
    trial.reopen();
  }
}

std::uint64_t seeds() {
  const char* wanted = std::getenv("MR_SEEDS");
  return wanted ? std::stoull(wanted) : 400;
}

TEST(WalProperty, Recovery_gives_a_prefix_with_everything_acknowledged) {
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
    random_life(seed);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

// Submissions ask for room first; ends do not, and must never fail as long as they fit into the reserve.
void fill_up(std::uint64_t capacity) {
  SimDisk disk(capacity);
  disk.set_capacity(capacity);
  LogOnDisk log(disk);
  if (!log.open()) return;  // not even a first segment fits; the daemon says so and does not start
  std::uint64_t accepted = 0;
  const auto room = [&] {
    if (log.wal->room(300) == Room::enough) return true;
    log.worker->run_all();  // the question starts another try, which may only have been late
    return log.wal->room(300) == Room::enough;
  };
  while (room() && accepted < 1000) {
    ASSERT_TRUE(log.append({std::string(300, 's')})) << "room was promised, capacity " << capacity;
    ++accepted;
  }
  ASSERT_LT(accepted, 1000u);
  for (int i = 0; i < 20; ++i) {
    const auto end = log.append({std::string(40, 'e')});
    ASSERT_TRUE(end) << end.error().story << ", capacity " << capacity;
  }
  disk.kill();
  ASSERT_TRUE(log.open()) << "a full disk must not keep the log from being opened";
  ASSERT_EQ(log.recovered.events.size(), accepted + 20);
  disk.set_capacity(1u << 20);
  ASSERT_TRUE(room()) << "there is room again";
  ASSERT_TRUE(log.append({std::string(300, 's')}));
}

TEST(WalProperty, Full_disk_at_any_place_keeps_ends_and_recovers_with_room) {
  for (std::uint64_t capacity = 0; capacity < 40'000; capacity += 97) {
    fill_up(capacity);
    ASSERT_FALSE(testing::Test::HasFailure()) << "capacity " << capacity;
  }
}

// Without asking for room: the disk is full at every single write in turn; what was acknowledged stays.
TEST(WalProperty, Failure_at_every_write_and_every_sync_loses_nothing_acknowledged) {
  for (const bool of_sync : {false, true})
    for (std::uint64_t fault = 0; fault < 160; ++fault) {
      Trial trial(fault + 1);
      trial.reopen();
      of_sync ? trial.disk.fail_sync(fault) : trial.disk.fail_write(fault);
      for (int i = 0; i < 60; ++i) {
        trial.append_some();
        trial.log.worker->run_all();
        if (i % 20 == 10) trial.snapshot();
      }
      trial.log.end();
      fault % 2 ? trial.disk.crash() : trial.disk.kill();
      trial.reopen();
      ASSERT_FALSE(testing::Test::HasFailure()) << (of_sync ? "sync " : "write ") << fault;
    }
}

}  // namespace
}  // namespace millrace
