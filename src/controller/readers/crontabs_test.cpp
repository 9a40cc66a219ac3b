// src/controller/readers/crontabs_test.cpp - what a new crontab comes to, and what becomes of its jobs when they end,
// are cancelled or are in it no more.
#include "controller/readers/crontabs.h"

#include <gtest/gtest.h>

#include "core/ledger/apply.h"
#include "core/ledger/invariants.h"

namespace millrace {
namespace {

constexpr Time start{1'700'000'000'000'000};  // 20 seconds after a full minute
constexpr UserId user{1000};

class CrontabTest : public testing::Test {
 protected:
  CrontabTest() {
    ClusterConfigured facts;
    facts.partitions.emplace_back().name = "main";
    facts.partitions.back().is_default = true;
    facts.nodes.emplace_back().name = "n0";
    facts.nodes.back().cpus = Cpus{4};
    facts.partitions.back().nodes.push_back("n0");
    facts.at = start;
    Inventory inventory;
    inventory.cpus = Cpus{4};
    inventory.memory = Mebibytes{1000};
    happen({ControllerStarted{Epoch{1}, start}, facts, NodeRegistered{NodeIndex{0}, "boot", inventory, "", start}});
  }
  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) {
      apply(state_, event);
      EXPECT_EQ(broken_law(state_), std::nullopt);
    }
  }
  static CrontabLine line(std::uint32_t number, const char* times) {
    CrontabLine out{number, times, {}};
    out.job.spec.owner = SharedValue<Owner>(Owner{user, GroupId{1000}, "u", "g", {1000}, "host", {}});
    out.job.spec.name = "cron";
    out.job.spec.work_dir = "/";
    out.job.script_bytes = 1;
    return out;
  }
  std::expected<CrontabSet, Refusal> decide_text(const char* text, std::vector<CrontabLine> lines) const {
    return decide_crontab(state_, user, text, std::move(lines), Actor{user, false}, now_);
  }
  std::vector<JobKey> set(const char* text, std::vector<CrontabLine> lines) {
    const auto decision = decide_text(text, std::move(lines));
    EXPECT_TRUE(decision);
    if (!decision) return {};
    happen({*decision});
    std::vector<JobKey> out;
    for (const CrontabJob& entry : decision->crontab.jobs) out.push_back(entry.key);
    return out;
  }
  void run(JobKey key) {
    const Job& job = state_.job(key);
    now_ = job.begin_at;
    if (!job.eligible_at.is_set()) happen({JobBecameEligible{key, now_}});
    happen({JobPlaced{
        key, state_.job(key).attempt, {NodeShare{NodeIndex{0}, Cpus{1}, Mebibytes{0}, 1, false, {}}}, false, now_}});
  }
  void end(JobKey key, std::uint32_t exit_code) {
    now_ = now_ + seconds(5);
    happen({AttemptEnded{key, state_.job(key).attempt, NodeIndex{0}, AttemptEnd::exited, exit_code, 0, now_}});
  }
  std::string text() const {
    const auto* crontab = state_.crontabs.find(user);
    return crontab ? (*crontab)->text : "none";
  }

  State state_;
  Time now_ = start;
};

TEST_F(CrontabTest, A_job_comes_again_under_its_number_however_it_ended) {
  const JobKey key = set("* * * * * true\n", {line(1, "* * * * *")}).at(0);
  const JobId id = state_.job(key).id;
  EXPECT_EQ(state_.job(key).begin_at, start + seconds(40));
  EXPECT_TRUE(decide_next_run(state_, key, now_).empty()) << "it waits already";
  for (std::uint32_t code = 0; code < 3; ++code) {
    run(key);
    EXPECT_TRUE(decide_next_run(state_, key, now_).empty()) << "it runs";
    end(key, code);
    const auto events = decide_next_run(state_, key, now_);
    ASSERT_EQ(events.size(), 1u) << "one event: a log that is torn has it or not";
    happen(events);
    EXPECT_EQ(state_.job(key).state, JobState::pending);
    EXPECT_EQ(state_.job(key).id, id);
    EXPECT_EQ(state_.job(key).begin_at, start + seconds(40 + 60 * (code + 1)));
    EXPECT_FALSE(state_.job(key).eligible_at.is_set());
  }
  EXPECT_EQ(state_.job(key).attempt.value, 3u);
}

TEST_F(CrontabTest, A_line_whose_job_was_cancelled_is_switched_off_with_its_options) {
  const auto keys = set("#SCRON -t 1\n@daily a\n\n#SCRON -t 2\n# words\n#SCRON --mem=5\n@daily b\nX=1\n@daily c",
                        {line(2, "@daily"), line(7, "@daily"), line(9, "@daily")});
  happen({JobCancelled{keys.at(1), user, now_}});
  happen(decide_next_run(state_, keys[1], now_));
  EXPECT_EQ(text(),
            "#SCRON -t 1\n@daily a\n\n#DISABLED: #SCRON -t 2\n# words\n#DISABLED: #SCRON --mem=5\n#DISABLED: @daily "
            "b\nX=1\n@daily c");
  EXPECT_TRUE(decide_next_run(state_, keys[1], now_).empty());
  EXPECT_EQ(state_.job(keys[0]).state, JobState::pending) << "the others stay";
  happen({JobCancelled{keys[2], user, now_}});
  happen(decide_next_run(state_, keys[2], now_));
  EXPECT_TRUE(text().ends_with("X=1\n#DISABLED: @daily c"));
  happen({JobForgotten{keys[1], now_ + seconds(1'000'000)}});
}

// Each fact has the whole text: with one for each line a long crontab filled the log.
TEST_F(CrontabTest, Lines_of_many_that_were_cancelled_are_switched_off_by_one_fact) {
  const auto keys = set("@daily a\n#SCRON -t 2\n@daily b\n@daily c\n@daily d",
                        {line(1, "@daily"), line(3, "@daily"), line(4, "@daily"), line(5, "@daily")});
  for (const std::size_t i : {0, 1, 3}) happen({JobCancelled{keys.at(i), user, now_}});
  run(keys.at(2));
  end(keys[2], 0);
  const auto events = decide_next_runs(state_, user, {keys.begin(), keys.end()}, now_);
  ASSERT_EQ(events.size(), 2u);
  happen(events);
  EXPECT_EQ(text(), "#DISABLED: @daily a\n#DISABLED: #SCRON -t 2\n#DISABLED: @daily b\n@daily c\n#DISABLED: @daily d");
  EXPECT_EQ(state_.job(keys[2]).state, JobState::pending);
  EXPECT_EQ((*state_.crontabs.find(user))->jobs.size(), 1u);
}

// Three commands of any user once kept the controller from starting again.
TEST_F(CrontabTest, A_job_that_is_requeued_after_its_crontab_is_gone_runs_once) {
  const JobKey key = set("* * * * * true\n", {line(1, "* * * * *")}).at(0);
  set("", {});
  ASSERT_EQ(state_.job(key).state, JobState::ended);
  happen({JobRequeued{.key = key, .hold = false, .by = user, .at = now_}});
  EXPECT_EQ(state_.job(key).state, JobState::pending);
  EXPECT_TRUE(state_.job(key).spec->extra_request().cron.empty());
}

TEST_F(CrontabTest, Entries_without_a_text_are_refused) {
  const auto decision = decide_text("", {line(1, "* * * * *")});
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().code, RefusalCode::not_supported);
}

TEST_F(CrontabTest, A_new_crontab_takes_the_place_of_the_old_one_and_what_runs_may_end) {
  const auto keys = set("old", {line(1, "* * * * *"), line(2, "@yearly")});
  run(keys.at(0));
  const auto fresh = set("new", {line(1, "@hourly")});
  EXPECT_EQ(state_.job(keys[0]).state, JobState::running);
  EXPECT_EQ(state_.job(keys.at(1)).outcome, Outcome::cancelled);
  EXPECT_EQ(state_.job(fresh.at(0)).state, JobState::pending);
  end(keys[0], 0);
  EXPECT_EQ(state_.job(keys[0]).outcome, Outcome::completed);
  EXPECT_TRUE(decide_next_run(state_, keys[0], now_).empty()) << "it is in no crontab any more";
  EXPECT_TRUE(set("", {}).empty());
  EXPECT_EQ(text(), "none");
  EXPECT_EQ(state_.job(fresh[0]).state, JobState::ended);
}

TEST_F(CrontabTest, What_is_wrong_is_said_with_its_line_and_changes_nothing) {
  set("good", {line(1, "@daily")});
  const auto refused = [&](CrontabLine wrong) {
    const auto decision = decide_text("bad", {line(1, "@daily"), std::move(wrong)});
    EXPECT_FALSE(decision);
    return decision || decision.error().notes.empty() ? "" : decision.error().notes.front();
  };
  EXPECT_NE(refused(line(4, "61 * * * *")).find("line 4: '61' is no minute"), std::string::npos);
  EXPECT_NE(refused(line(4, "0 0 30 2 *")).find("line 4: '0 0 30 2 *' never comes"), std::string::npos);
  CrontabLine array = line(5, "@daily"), begin = line(6, "@daily"), large = line(7, "@daily");
  array.job.array = "1-3";
  begin.job.begin_at = start + seconds(100);
  large.job.spec.cpus_per_task = 100;
  EXPECT_NE(refused(array).find("line 5: an entry of a crontab is one job"), std::string::npos);
  EXPECT_NE(refused(begin).find("line 6: the times of the entry"), std::string::npos);
  EXPECT_NE(refused(large).find("line 7"), std::string::npos);
  EXPECT_EQ(text(), "good");
}

}  // namespace
}  // namespace millrace
