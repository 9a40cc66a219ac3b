// src/wire/replay_test.cpp - a log that says what cannot have happened is read without it.
#include "wire/replay.h"

#include <gtest/gtest.h>

#include "core/ledger/apply.h"
#include "core/ledger/compare.h"
#include "wire/event_codec.h"

namespace millrace {
namespace {

constexpr Time now{1'000'000'000};

class ReplayTest : public testing::Test {
 protected:
  ReplayTest() {
    ClusterConfigured facts;
    facts.partitions.emplace_back().name = "main";
    facts.nodes.emplace_back().name = "n0";
    facts.nodes.back().cpus = Cpus{4};
    facts.partitions.back().nodes.push_back("n0");
    facts.at = now;
    add(ControllerStarted{Epoch{1}, now});
    add(facts);
    add(NodeRegistered{NodeIndex{0}, "boot", {Cpus{4}, Mebibytes{1}, {}, {}, {}, {}, {}, {}, {}}, "", now});
    add(job(1));
  }
  void add(const Event& event) { log_.events.push_back(encode_event(event)); }
  static JobSubmitted job(std::uint64_t key) {
    JobSubmitted out;
    out.key = JobKey{key};
    out.id = JobId{static_cast<std::uint32_t>(key)};
    out.spec.owner = SharedValue(Owner{UserId{7}, GroupId{7}, "u", "g", {}, "h", {}});
    out.at = now;
    return out;
  }
  static JobPlaced placed(std::uint64_t key, std::uint32_t node, std::int64_t cpus = 1) {
    return {JobKey{key}, Attempt{0}, {{NodeIndex{node}, Cpus{cpus}, {}, 1, false}}, false, now};
  }

  Recovered log_;
  std::vector<SkippedEvent> skipped_;
};

TEST_F(ReplayTest, An_event_that_names_what_is_not_there_is_passed_over_with_its_index_and_kind) {
  add(placed(1, 9));
  add(job(2));
  const auto strict = replay(log_);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().code, Errc::corrupt);
  EXPECT_EQ(strict.error().story, "event 5 (JobPlaced) cannot have happened: node 9 is not there");
  const auto state = replay(log_, &skipped_);
  ASSERT_TRUE(state) << state.error().story;
  ASSERT_EQ(skipped_.size(), 1u);
  EXPECT_EQ(skipped_[0].index, 5u);
  EXPECT_EQ(state->version, 6u) << "numbers of events stay what they are";
  EXPECT_EQ(state->jobs.size(), 2u);
  EXPECT_EQ(state->job(JobKey{1}).state, JobState::pending);
}

// More CPUs than the node has: nothing that is named is missing, and the ledger takes it for granted.
TEST_F(ReplayTest, What_only_an_assertion_knows_is_passed_over_without_a_trace) {
  const auto before = replay(log_);
  add(placed(1, 0, 9));
  const auto after = replay(log_, &skipped_);
  ASSERT_TRUE(before && after);
  ASSERT_EQ(skipped_.size(), 1u);
  EXPECT_NE(skipped_[0].words.find("node.used_cpus <= node.def->cpus"), std::string::npos) << skipped_[0].words;
  State expected = *before;
  ++expected.version;
  EXPECT_EQ(first_difference(*after, expected), std::nullopt);
}

TEST_F(ReplayTest, What_a_start_has_put_on_record_is_not_named_again) {
  add(JobForgotten{JobKey{1}, now});
  RecordsPutAside known;
  known.skipped = {5};
  known.at = now;
  add(known);
  add(JobForgotten{JobKey{1}, now});
  ASSERT_TRUE(replay(log_, &skipped_));
  ASSERT_EQ(skipped_.size(), 1u);
  EXPECT_EQ(skipped_[0].index, 7u);
  EXPECT_EQ(skipped_[0].words, "event 7 (JobForgotten) cannot have happened: job key 1 has not ended");
}

TEST_F(ReplayTest, What_follows_from_it_is_passed_over_too) {
  add(placed(1, 9));
  add(AttemptEnded{JobKey{1}, Attempt{0}, NodeIndex{9}, AttemptEnd::exited, 0, 0, now});
  add(JobCancelled{JobKey{1}, UserId{7}, now});
  const auto state = replay(log_, &skipped_);
  ASSERT_TRUE(state);
  EXPECT_EQ(skipped_.size(), 2u);
  EXPECT_EQ(state->job(JobKey{1}).state, JobState::ended);
}

}  // namespace
}  // namespace millrace
