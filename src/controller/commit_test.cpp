// src/controller/commit_test.cpp - a decision that breaks a law is taken back, and those around it are not.
#include "controller/commit.h"

#include <gtest/gtest.h>

#include "core/ledger/apply.h"
#include "core/ledger/compare.h"
#include "sim/sim_world.h"
#include "wire/event_codec.h"

namespace millrace {
namespace {

class MemoryLog final : public EventLog {
 public:
  void append(Batch batch, Durable done) override {
    for (std::string& event : batch.events) events.push_back(std::move(event));
    done(events.size());
  }
  Room room(std::uint64_t) const override { return Room::enough; }
  bool has_payload(const PayloadId&) const override { return false; }
  void read_payload(const PayloadId&, std::move_only_function<void(Result<std::string>)> done) override {
    done(fail(Errc::not_found, "none"));
  }
  void write_snapshot(std::uint64_t, std::string, std::vector<PayloadId>,
                      std::move_only_function<void(Result<void>)> done) override {
    done({});
  }
  std::uint64_t bytes_since_snapshot() const override { return 0; }
  std::vector<std::string> events;
};

class CommitTest : public testing::Test {
 protected:
  CommitTest() : loop_(world_), commit_(loop_, log_, State{}, hooks()) {
    ClusterConfigured facts;
    facts.partitions.emplace_back().name = "main";
    facts.nodes.emplace_back().name = "n0";
    facts.nodes.back().cpus = Cpus{4};
    facts.partitions.back().nodes.push_back("n0");
    facts.at = Time{1};
    EXPECT_TRUE(commit_.happen(std::vector<Event>{ControllerStarted{Epoch{1}, Time{1}}, facts}));
    run();
  }
  ~CommitTest() override { loop_.kill(); }
  Commit::Hooks hooks() {
    return {[](const Error&) {}, [](const Changes&) {},
            [this](const std::string& law, const std::vector<Event>&) { laws_.push_back(law); }};
  }
  void run() {
    while (world_.next_at() <= world_.now()) world_.step();
  }
  static JobSubmitted job(std::uint64_t key, std::string cron = {}) {
    JobSubmitted out;
    out.key = JobKey{key};
    out.id = JobId{static_cast<std::uint32_t>(key)};
    out.spec.owner = SharedValue(Owner{UserId{7}, GroupId{7}, "u", "g", {}, "h", {}});
    JobExtras extras;
    extras.cron = std::move(cron);
    out.spec.extras = SharedValue(std::move(extras));
    out.at = Time{2};
    return out;
  }

  SimWorld world_{1};
  SimProcess loop_;
  MemoryLog log_;
  std::vector<std::string> laws_;
  Commit commit_;
};

TEST_F(CommitTest, A_decision_that_breaks_a_law_never_reaches_the_log) {
  bool first = false, second = false, broken = false;
  EXPECT_TRUE(commit_.happen(std::vector<Event>{job(1)}, [&] { first = true; }));
  const State before = commit_.decided();
  EXPECT_FALSE(commit_.happen(
      std::vector<Event>{CrontabSet{.uid = UserId{7}, .crontab = {}, .at = Time{3}, .submitted = {job(2, "@daily")}}},
      [&] { broken = true; }));
  EXPECT_EQ(first_difference(commit_.decided(), before), std::nullopt);
  ASSERT_EQ(laws_.size(), 1u);
  EXPECT_EQ(laws_[0], "job 2: it recurs, and no crontab lists it");
  EXPECT_TRUE(commit_.happen(std::vector<Event>{job(2)}, [&] { second = true; })) << "the key is free again";
  run();
  EXPECT_TRUE(first && second && !broken);
  EXPECT_EQ(log_.events.size(), 4u);
  State replayed;
  for (const std::string& bytes : log_.events) millrace::apply(replayed, *decode_event(bytes));
  EXPECT_EQ(first_difference(replayed, commit_.durable()), std::nullopt);
}

TEST_F(CommitTest, A_decision_of_several_facts_is_taken_back_as_a_whole) {
  JobSubmitted unlisted = job(2, "@daily");
  EXPECT_FALSE(commit_.happen(std::vector<Event>{job(1), unlisted}));
  EXPECT_EQ(commit_.decided().jobs.size(), 0u);
  EXPECT_TRUE(commit_.has_refused());
}

}  // namespace
}  // namespace millrace
