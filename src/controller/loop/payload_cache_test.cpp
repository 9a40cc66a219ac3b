// src/controller/loop/payload_cache_test.cpp - how often the log is read for scripts that many want.
#include "controller/loop/payload_cache.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace {
namespace {

// Answers when the test says so.
class SlowLog final : public EventLog {
 public:
  void append(Batch, Durable) override {}
  Room room(std::uint64_t) const override { return Room::enough; }
  bool has_payload(const PayloadId&) const override { return true; }
  void read_payload(const PayloadId&, std::move_only_function<void(Result<std::string>)> done) override {
    reads.push_back(std::move(done));
  }
  void write_snapshot(std::uint64_t, std::string, std::vector<PayloadId>,
                      std::move_only_function<void(Result<void>)>) override {}
  std::uint64_t bytes_since_snapshot() const override { return 0; }
  std::vector<std::move_only_function<void(Result<std::string>)>> reads;
};

TEST(PayloadCache, What_many_want_at_a_time_is_read_once) {
  SlowLog log;
  PayloadCache cache(log, 1000);
  std::vector<std::string> found;
  const auto ask = [&](std::uint8_t name) {
    PayloadId id;
    id.digest.fill(name);
    cache.find(id, [&](Result<std::string> bytes) { found.push_back(bytes ? *bytes : "?"); });
  };
  for (int i = 0; i < 5; ++i) ask(1);
  ask(2);
  ASSERT_EQ(log.reads.size(), 2u);
  const std::string large(900, 'x');  // too large to be kept
  log.reads[0](large);
  EXPECT_EQ(found, std::vector<std::string>(5, large));
  log.reads[1](fail(Errc::io, "gone"));
  EXPECT_EQ(found.back(), "?");
  ask(1);
  EXPECT_EQ(log.reads.size(), 3u);
}

}  // namespace
}  // namespace millrace
