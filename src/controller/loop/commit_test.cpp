// src/controller/loop/commit_test.cpp - a decision that breaks a law is taken back, and those around it are not.
#include "controller/loop/commit.h"

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
    for (const auto& [id, bytes] : batch.payloads) payloads.push_back(bytes);
    for (std::string& event : batch.events) events.push_back(std::move(event));
    done(events.size());
  }
  Room room(std::uint64_t bytes) const override {
    asked = bytes;
    return Room::enough;
  }
  bool has_payload(const PayloadId&) const override { return false; }
  void read_payload(const PayloadId&, std::move_only_function<void(Result<std::string>)> done) override {
    done(fail(Errc::not_found, "none"));
  }
  void write_snapshot(std::uint64_t, std::string, std::vector<PayloadId>,
                      std::move_only_function<void(Result<void>)> done) override {
    done({});
  }
  std::uint64_t bytes_since_snapshot() const override { return 0; }
  std::vector<std::string> events, payloads;
  mutable std::uint64_t asked = 0;
};

class AnyWords final : public Log {
 public:
  std::string text;

 private:
  void write(LogLevel, std::string_view, std::string_view line) override { (text += line) += '\n'; }
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
    return {[](const Error&) {}, [this](const Advance& step) { advanced(step); },
            [this](const std::string& law, const std::vector<Event>&) { laws_.push_back(law); }};
  }
  // The facts of a step lead from the state before it to the one after, whatever was taken back in between.
  void advanced(const Advance& step) {
    changes_ = step.changes;
    EXPECT_EQ(first_difference(step.before, told_), std::nullopt);
    for (const Event& event : step.facts) apply(told_, event);
    EXPECT_EQ(first_difference(step.now, told_), std::nullopt);
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
  Changes changes_;
  State told_;  // by the facts of each step
  Commit commit_;
};

// An entry that its crontab does not list.
Event unlisted(JobSubmitted job) {
  return CrontabSet{.uid = UserId{7}, .crontab = {}, .at = Time{3}, .submitted = {std::move(job)}};
}

TEST_F(CommitTest, A_decision_that_breaks_a_law_never_reaches_the_log) {
  bool first = false, second = false, broken = false;
  EXPECT_TRUE(commit_.happen(std::vector<Event>{job(1)}, [&] { first = true; }));
  const State before = commit_.decided();
  EXPECT_FALSE(commit_.happen(std::vector<Event>{unlisted(job(2, "@daily"))}, [&] { broken = true; }));
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

TEST_F(CommitTest, Nothing_is_said_counted_or_stored_of_a_decision_that_is_taken_back) {
  Diagnostics diagnostics;
  AnyWords log, schedule;
  log.set_level(LogLevel::debug2);
  FactLog facts(log, schedule);
  commit_.count_in(diagnostics);
  commit_.tell(facts);
  const PayloadId kept = commit_.add_payload("kept");
  EXPECT_TRUE(commit_.happen(std::vector<Event>{job(1)}));
  const std::string told = log.text;
  EXPECT_NE(told.find("submitted JobId=1"), std::string::npos);
  commit_.has_room({});
  const std::uint64_t room = log_.asked;
  EXPECT_EQ(commit_.add_payload("kept"), kept);
  commit_.add_payload("of the refused one");
  EXPECT_FALSE(commit_.happen(std::vector<Event>{unlisted(job(2, "@daily"))}));
  EXPECT_EQ(log.text, told);
  EXPECT_EQ(diagnostics.counts().submitted, 1u);
  commit_.has_room({});
  EXPECT_EQ(log_.asked, room) << "what it would have written is not written";
  run();
  EXPECT_EQ(log_.payloads, std::vector<std::string>{"kept"});
}

TEST_F(CommitTest, What_is_taken_back_changes_nothing_for_those_who_plan) {
  EXPECT_TRUE(commit_.happen(std::vector<Event>{job(1)}));
  NodeStateChanged drain;
  drain.order = NodeOrder::drain;
  EXPECT_FALSE(commit_.happen(std::vector<Event>{drain, unlisted(job(2, "@daily"))}));
  run();
  EXPECT_TRUE(changes_.jobs_added);
  EXPECT_FALSE(changes_.room_made || changes_.ground_shifted);
  EXPECT_TRUE(changes_.nodes.empty());
  EXPECT_EQ(changes_.jobs, std::set{JobKey{1}});
}

TEST_F(CommitTest, However_often_somebody_is_refused_no_fact_is_done_again_twice) {
  for (std::uint64_t key = 1; key <= 50; ++key) {
    EXPECT_TRUE(commit_.happen(std::vector<Event>{job(key)}));
    EXPECT_FALSE(commit_.happen(std::vector<Event>{unlisted(job(key + 1, "@daily"))}));
  }
  EXPECT_EQ(commit_.applied_again(), 50u);
  run();
  State replayed;
  for (const std::string& bytes : log_.events) millrace::apply(replayed, *decode_event(bytes));
  EXPECT_EQ(first_difference(replayed, commit_.durable()), std::nullopt);
  EXPECT_EQ(replayed.jobs.size(), 50u);
}

}  // namespace
}  // namespace millrace
