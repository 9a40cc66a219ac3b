// tests/golden/golden_log_test.cpp - logs that earlier releases wrote are read by this one, and mean what they meant.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "apps/log_dump.h"
#include "apps/log_repair.h"
#include "core/admission/put_records_aside.h"
#include "core/ledger/compare.h"
#include "core/ledger/invariants.h"
#include "golden_log.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

std::string read_whole(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Opening a log writes to it, so each test has a copy.
class GoldenLogs : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "golden-log-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    copy_ = pattern;
    fs::copy(golden(), copy_);
    for (const auto& entry : fs::directory_iterator(copy_))
      fs::permissions(entry, fs::perms::owner_read | fs::perms::owner_write);
  }
  void TearDown() override { fs::remove_all(copy_); }
  fs::path golden() const { return fs::path{GOLDEN_LOG_DIR} / GetParam(); }
  fs::path beside(const char* suffix) const { return golden().string() + suffix; }
  std::string copy_;
};

TEST_P(GoldenLogs, RecoveredState_is_what_it_was) {
  GoldenLog log;
  const auto opened = log.open(copy_, {});
  ASSERT_TRUE(opened) << opened.error().story;
  EXPECT_EQ(log.recovered.cut_bytes, 0u);
  const auto state = replay(log.recovered);
  ASSERT_TRUE(state) << state.error().story;
  EXPECT_EQ(broken_law(*state), std::nullopt);
  // The recorded state was encoded by the release that wrote the log. Both go through today's code, because a later
  // release may know fields that neither has.
  const auto recorded = decode_state(read_whole(beside(".state")));
  ASSERT_TRUE(recorded) << recorded.error().story;
  EXPECT_EQ(recorded->version, state->version);
  EXPECT_EQ(recorded->jobs.size(), state->jobs.size());
  EXPECT_EQ(first_difference(*recorded, *state), std::nullopt) << "a recovered log means something else than it did";
}

TEST_P(GoldenLogs, Dump_reads_as_it_did) {
  const auto files = RealFilesystem::open_directory(copy_, true);
  ASSERT_TRUE(files) << files.error().story;
  std::string text;
  const auto counts = dump_log(**files, {0, true}, [&](std::string_view line) { (text += line) += '\n'; });
  ASSERT_TRUE(counts) << counts.error().story;
  EXPECT_EQ(counts->damaged, 0u);
  EXPECT_EQ(text, read_whole(beside(".dump")));
}

TEST_P(GoldenLogs, Payloads_of_live_jobs_can_be_read) {
  GoldenLog log;
  ASSERT_TRUE(log.open(copy_, {}));
  const auto state = replay(log.recovered);
  ASSERT_TRUE(state);
  std::size_t found = 0;
  for (const auto& [key, job] : state->jobs)
    for (const Digest& digest : {job->spec->script, job->spec->environment}) {
      if (digest == Digest{}) continue;
      log.wal->read_payload({digest}, [&](Result<std::string> bytes) {
        EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().story);
        if (bytes) ++found;
      });
    }
  EXPECT_GT(found, 5u);
}

TEST_P(GoldenLogs, Log_can_be_written_on) {
  std::uint64_t before = 0;
  {
    GoldenLog log;
    ASSERT_TRUE(log.open(copy_, {}));
    const auto state = replay(log.recovered);
    ASSERT_TRUE(state);
    before = state->version;
    std::optional<Result<std::uint64_t>> outcome;
    log.wal->append({{}, {encode_event(ControllerStarted{Epoch{state->epoch.value + 1}, Time{1'800'000'000'000'000}})}},
                    [&](Result<std::uint64_t> done) { outcome = std::move(done); });
    ASSERT_TRUE(outcome && *outcome);
    EXPECT_EQ(**outcome, before + 1);
  }
  GoldenLog again;
  ASSERT_TRUE(again.open(copy_, {}));
  const auto state = replay(again.recovered);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->version, before + 1);
}

INSTANTIATE_TEST_SUITE_P(
    Format1, GoldenLogs,
    testing::Values("format1/plain", "format1/compacted", "format1/accounts", "format1/accounts_compacted",
                    "format1/planning", "format1/planning_compacted", "format1/het", "format1/het_compacted",
                    "format1/isolation", "format1/isolation_compacted", "format1/suspending",
                    "format1/suspending_compacted", "format1/steps", "format1/steps_compacted", "format1/devices",
                    "format1/devices_compacted", "format1/step_options", "format1/step_options_compacted",
                    "format1/step_facts", "format1/step_facts_compacted", "format1/step_resources",
                    "format1/step_resources_compacted", "format1/extras", "format1/extras_compacted", "format1/gpu_use",
                    "format1/gpu_use_compacted", "format1/node_life", "format1/node_life_compacted",
                    "format1/het_steps", "format1/het_steps_compacted", "format1/power", "format1/power_compacted",
                    "format1/kept", "format1/kept_compacted", "format1/partition_rules",
                    "format1/partition_rules_compacted", "format1/partition_changes",
                    "format1/partition_changes_compacted", "format1/standing", "format1/standing_compacted",
                    "format1/records", "format1/records_compacted", "format1/site_rules",
                    "format1/site_rules_compacted", "format1/shrinking", "format1/shrinking_compacted",
                    "format1/outliving", "format1/outliving_compacted", "format1/placing", "format1/placing_compacted",
                    "format1/ports", "format1/ports_compacted", "format1/sizes", "format1/sizes_compacted",
                    "format1/node_orders", "format1/node_orders_compacted", "format1/aside", "format1/aside_compacted",
                    "format1/sick_nodes", "format1/sick_nodes_compacted"),
    [](const auto& info) { return std::string{info.param}.substr(8); });

// Any user could once write such a log, and no controller started on it again.
class ImpossibleLogs : public GoldenLogs {};

TEST_P(ImpossibleLogs, Repair_leaves_a_state_that_can_be_served) {
  GoldenLog log;
  ASSERT_TRUE(log.open(copy_, {}));
  auto state = replay(log.recovered);
  ASSERT_TRUE(state) << state.error().story;
  EXPECT_NE(broken_law(*state), std::nullopt);
  const auto repair = decide_repair(*state, Time{1'800'000'000'000'000});
  ASSERT_TRUE(repair);
  EXPECT_EQ(repair->still_broken, std::nullopt);
  EXPECT_EQ(repair->event.jobs, std::vector{JobKey{10}})
      << "of two jobs with one port the younger goes, and nothing else";
  EXPECT_TRUE(repair->event.crontabs.empty());
  const std::size_t before = state->jobs.size();
  apply(*state, repair->event);
  EXPECT_EQ(broken_law(*state), std::nullopt);
  EXPECT_EQ(state->jobs.size(), before - 1);
  EXPECT_EQ(state->job(JobKey{9}).state, JobState::running);
  EXPECT_TRUE(state->job(JobKey{11}).spec->extra_request().cron.empty()) << "a job that no crontab lists runs once";
  const auto again = decode_state(encode_state(*state));
  ASSERT_TRUE(again) << again.error().story;
  EXPECT_EQ(first_difference(*again, *state), std::nullopt) << "what is derived is what a snapshot would derive";
}

TEST_P(ImpossibleLogs, Starts_that_come_to_nothing_keep_the_log_once) {
  std::string said;
  for (int starts = 0; starts < 3; ++starts) {
    GoldenLog log;
    ASSERT_TRUE(log.open(copy_, {}));
    const auto state = replay(log.recovered);
    ASSERT_TRUE(state);
    const auto fact = repair_at_start(copy_, *state, {}, Time{1'800'000'000'000'000},
                                      [&](const std::string& line) { said += line + "\n"; });
    ASSERT_TRUE(fact && *fact) << fact.error().story;
  }
  std::vector<fs::path> kept;
  for (const auto& entry : fs::directory_iterator(fs::path{copy_}.parent_path()))
    if (entry.path().string().starts_with(copy_ + ".kept-")) kept.push_back(entry.path());
  EXPECT_EQ(kept.size(), 1u);
  EXPECT_NE(said.find("the log as it was is kept in " + kept.at(0).string()), std::string::npos) << said;
  for (const fs::path& folder : kept) fs::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Format1, ImpossibleLogs, testing::Values("format1/impossible", "format1/impossible_compacted"),
                         [](const auto& info) { return std::string{info.param}.substr(8); });

TEST(GoldenLog, Format1_holds_every_kind_of_fact) {
  std::set<std::string> kinds;
  for (const char* folder :
       {"/format1/plain", "/format1/accounts", "/format1/planning", "/format1/het", "/format1/suspending",
        "/format1/devices", "/format1/step_facts", "/format1/node_life", "/format1/power", "/format1/partition_changes",
        "/format1/standing", "/format1/records", "/format1/outliving", "/format1/shrinking", "/format1/ports",
        "/format1/node_orders", "/format1/aside", "/format1/sick_nodes"}) {
    const auto files = RealFilesystem::open_directory(std::string{GOLDEN_LOG_DIR} + folder, true);
    ASSERT_TRUE(files);
    ASSERT_TRUE(dump_log(**files, {}, [&](std::string_view line) {
      const std::size_t event = line.find(" event ");
      if (event == std::string_view::npos) return;
      const std::string_view rest = line.substr(line.find(' ', event + 7) + 1);
      kinds.emplace(rest.substr(0, rest.find(' ')));
    }));
  }
  // A new kind needs a golden log of its own before it is released.
  EXPECT_EQ(kinds.size(), std::variant_size_v<EventKinds>);
}

TEST_P(GoldenLogs, Dump_of_a_damaged_log_says_where_and_goes_on) {
  fs::path first;
  for (const auto& entry : fs::directory_iterator(copy_))
    if (entry.path().filename().string().starts_with("segment-") && (first.empty() || entry.path() < first))
      first = entry.path();
  {
    std::fstream file{first, std::ios::binary | std::ios::in | std::ios::out};
    file.seekp(100);
    file.put('\x5a');
  }
  const auto files = RealFilesystem::open_directory(copy_, true);
  ASSERT_TRUE(files);
  std::uint64_t after = 0, damaged_at = 0;
  const auto counts = dump_log(**files, {}, [&](std::string_view line) {
    if (line.find(" damaged ") != std::string_view::npos)
      damaged_at = 1;
    else if (damaged_at != 0)
      ++after;
  });
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->damaged, 1u);
  EXPECT_GT(after, 5u);
}

}  // namespace
}  // namespace millrace
