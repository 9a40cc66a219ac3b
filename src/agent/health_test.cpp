// src/agent/health_test.cpp - when the health check runs.
#include "agent/health.h"

#include <gtest/gtest.h>

#include "sim/sim_world.h"

namespace millrace {
namespace {

class HealthTest : public testing::Test, protected Programs {
 protected:
  std::vector<std::string> find(const std::string& pattern) override { return {pattern}; }
  Id run(ProgramRun what, std::move_only_function<void(const ProgramEnd&)> ended) override {
    EXPECT_EQ(what.limit, seconds(60));
    began_.push_back((process_.now() - start_).value / 1'000'000);
    process_.after(seconds(2), [ended = std::move(ended)]() mutable { ended(ProgramEnd{0, 0, false, {}}); });
    return 1;
  }
  void kill(Id) override {}

  void check_for(std::int64_t span, HealthSettings settings) {
    settings.program = "check";
    settings.is_busy = [this] { return busy_; };
    start_ = process_.now();
    HealthChecks checks(process_, *this, settings);
    checks.start();
    while (world_.next_at() <= start_ + seconds(span)) world_.step();
  }

  SimWorld world_{1};
  SimProcess process_{world_};
  Time start_;
  bool busy_ = false;
  std::vector<std::int64_t> began_;
};

TEST_F(HealthTest, runs_at_the_start_and_so_long_after_each_end) {
  HealthSettings settings;
  settings.interval = seconds(10);
  check_for(30, settings);
  EXPECT_EQ(began_, (std::vector<std::int64_t>{0, 12, 24}));
}

TEST_F(HealthTest, leaves_alone_what_is_not_to_be_checked) {
  HealthSettings settings;
  settings.interval = seconds(10);
  settings.when_busy = false;
  busy_ = true;
  check_for(30, settings);
  EXPECT_EQ(began_, std::vector<std::int64_t>{0});
}

TEST_F(HealthTest, only_at_the_start_if_that_is_asked_for_and_never_without_an_interval) {
  HealthSettings settings;
  check_for(30, settings);
  EXPECT_TRUE(began_.empty());
  settings.interval = seconds(10);
  settings.only_at_start = true;
  check_for(30, settings);
  EXPECT_EQ(began_, std::vector<std::int64_t>{0});
}

}  // namespace
}  // namespace millrace
