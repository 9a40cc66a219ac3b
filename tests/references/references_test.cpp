// tests/references/references_test.cpp - published and agreed numbers of scheduling on real traces: ours must be the
// same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "sim/compare.h"
#include "sim/metrics.h"
#include "sim/published.h"
#include "sim/replay.h"
#include "sim/swf.h"

namespace millrace {
namespace {

// Traces are data of their owners and not part of the project: MR_TRACES, or ../shared/traces beside the repository.
std::filesystem::path trace_folder() {
  if (const char* given = std::getenv("MR_TRACES")) return given;
  return std::filesystem::path{REPOSITORY} / ".." / "shared" / "traces";
}

// Under AddressSanitizer a part of the table is enough; ./mill test --extended runs all of it in the release build.
bool everything() {
  const char* wanted = std::getenv("MR_REFERENCES");
  return wanted != nullptr && std::string_view{wanted} == "all";
}

const SwfTrace* find_trace(const std::string& file) {
  static std::map<std::string, SwfTrace> read;
  const auto known = read.find(file);
  if (known != read.end()) return &known->second;
  if (!std::filesystem::exists(trace_folder() / file)) return nullptr;
  auto trace = read_swf(trace_folder() / file);
  EXPECT_TRUE(trace) << trace.error().story;
  return trace ? &read.emplace(file, *std::move(trace)).first->second : nullptr;
}

std::string file_of(const std::string& trace) {
  if (trace == "lublin_256") return "lublin_256.swf";
  if (trace == "SDSC-SP2") return "SDSC-SP2-1998-4.2-cln.swf.gz";
  return trace == "KTH-SP2" ? "KTH-SP2-1996-2.1-cln.swf.gz" : "CTC-SP2-1996-3.1-cln.swf.gz";
}

#define NEED_TRACE(name, file)                                \
  const SwfTrace* name = find_trace(file);                    \
  if (name == nullptr)                                        \
  GTEST_SKIP() << "no " << (trace_folder() / (file)).string() \
               << ": this number was not checked (MR_TRACES names another folder)"

// --- RLScheduler (SC'20): mean bounded slowdown to the printed digit, utilisation to its third
// -------------------------------------

struct PublishedCell {
  const char* trace;
  std::int64_t processors;
  bool backfill;
  OrderPolicy order;
  const char* name;
  double slowdown, utilisation;
};

// clang-format off
constexpr PublishedCell published_cells[] = {
    {"lublin_256", 256, false, OrderPolicy::fcfs, "fcfs", 7273.77, .657},
    {"lublin_256", 256, false, OrderPolicy::sjf,  "sjf",   277.35, .762},
    {"lublin_256", 256, false, OrderPolicy::f1,   "f1",    258.37, .816},
    {"lublin_256", 256, true,  OrderPolicy::fcfs, "fcfs",  235.82, .868},
    {"lublin_256", 256, true,  OrderPolicy::sjf,  "sjf",    73.31, .778},
    {"lublin_256", 256, true,  OrderPolicy::f1,   "f1",     75.07, .840},
    {"SDSC-SP2",   128, false, OrderPolicy::fcfs, "fcfs", 1727.54, .670},
    {"SDSC-SP2",   128, false, OrderPolicy::sjf,  "sjf",  2680.55, .645},
    {"SDSC-SP2",   128, false, OrderPolicy::f1,   "f1",   1232.06, .674},
    {"SDSC-SP2",   128, true,  OrderPolicy::fcfs, "fcfs", 1595.12, .682},
    {"SDSC-SP2",   128, true,  OrderPolicy::sjf,  "sjf",  2167.84, .661},
    {"SDSC-SP2",   128, true,  OrderPolicy::f1,   "f1",   1098.22, .677},
    // From a second program that follows the same recipe in floating point, with the published code's way to count waits.
    {"lublin_256", 256, false, OrderPolicy::wfp3,   "wfp3",   19753.53, .747},
    {"lublin_256", 256, true,  OrderPolicy::wfp3,   "wfp3",     133.87, .864},
    {"lublin_256", 256, false, OrderPolicy::unicep, "unicep", 22274.74, .691},
    {"lublin_256", 256, true,  OrderPolicy::unicep, "unicep",   307.23, .883},
    {"lublin_256", 256, true,  OrderPolicy::f2,     "f2",        58.24, .835},
    {"lublin_256", 256, true,  OrderPolicy::f3,     "f3",        58.49, .822},
    {"lublin_256", 256, true,  OrderPolicy::f4,     "f4",        53.64, .793},
    {"SDSC-SP2",   128, true,  OrderPolicy::wfp3,   "wfp3",    1083.12, .681},
    {"SDSC-SP2",   128, true,  OrderPolicy::unicep, "unicep",   548.01, .706},
};
// clang-format on

class Published : public testing::TestWithParam<PublishedCell> {};

TEST_P(Published, bounded_slowdown_is_hit_to_the_printed_digit) {
  const PublishedCell& cell = GetParam();
  const bool printed =
      cell.order == OrderPolicy::fcfs || cell.order == OrderPolicy::sjf || cell.order == OrderPolicy::f1;
  if (!printed && !everything()) GTEST_SKIP() << "part of ./mill test --extended (MR_REFERENCES=all)";
  NEED_TRACE(trace, file_of(cell.trace));
  const Workload workload = published_workload(*trace, cell.processors);
  const auto metrics = replay_published(workload, {cell.processors, cell.order, cell.backfill});
  ASSERT_TRUE(metrics) << metrics.error().story;
  EXPECT_NEAR(metrics->bounded_slowdown, cell.slowdown, 0.005);
  EXPECT_NEAR(metrics->utilisation, cell.utilisation, 0.0006);  // one cell was printed with its last digit rounded up
}

std::string published_name(const testing::TestParamInfo<PublishedCell>& info) {
  std::string name = std::string{info.param.trace} + "_" + info.param.name + (info.param.backfill ? "_backfill" : "");
  std::ranges::replace(name, '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(SC20, Published, testing::ValuesIn(published_cells), published_name);

// --- whole traces: bounded slowdown and mean wait
// ------------------------------------------------------------------------------------

struct WholeCell {
  const char* trace;
  std::size_t jobs;
  std::int64_t processors;
  Backfill backfill;
  Estimates estimates;
  const char* name;
  double slowdown, wait, allowed;  // allowed: as a part of the number, 0: to the printed digit
  bool always;                     // also in the short tests
};

// clang-format off
constexpr WholeCell whole_cells[] = {
    {"KTH-SP2", 28475, 100, Backfill::easy,           Estimates::requested, "easy",         92.87,  6837.2, 0,    true},
    {"KTH-SP2", 28475, 100, Backfill::easy,           Estimates::exact,     "easy_exact",   72.06,  6331.8, 0,    true},
    {"KTH-SP2", 28475, 100, Backfill::shortest_first, Estimates::requested, "sjbf",         69.56,  5906.0, 0,    true},
    {"KTH-SP2", 28475, 100, Backfill::shortest_first, Estimates::exact,     "sjbf_exact",   50.10,  5438.9, 0,    true},
    {"KTH-SP2", 28475, 100, Backfill::conservative,   Estimates::requested, "conservative", 89.21,  7319.8, 0.02, true},
    {"CTC-SP2", 77222, 338, Backfill::easy,           Estimates::requested, "easy",         49.25, 13943.1, 0,    false},
    {"CTC-SP2", 77222, 338, Backfill::easy,           Estimates::exact,     "easy_exact",   37.29, 13579.2, 0,    false},
    {"CTC-SP2", 77222, 338, Backfill::shortest_first, Estimates::requested, "sjbf",         30.16, 11814.9, 0,    false},
    {"CTC-SP2", 77222, 338, Backfill::shortest_first, Estimates::exact,     "sjbf_exact",   17.58, 10002.0, 0,    false},
    {"CTC-SP2", 77222, 338, Backfill::conservative,   Estimates::requested, "conservative", 54.36, 17675.8, 0.02, false},
};
// clang-format on

class Whole : public testing::TestWithParam<WholeCell> {};

TEST_P(Whole, slowdown_and_wait_are_the_reference) {
  const WholeCell& cell = GetParam();
  if (!cell.always && !everything()) GTEST_SKIP() << "part of ./mill test --extended (MR_REFERENCES=all)";
  NEED_TRACE(trace, file_of(cell.trace));
  const Workload workload = whole_trace(*trace, cell.processors);
  ReplaySettings settings;
  settings.planner.backfill = cell.backfill;
  settings.planner.depth = UINT32_MAX;
  settings.planner.use_expected = true;
  settings.estimates = cell.estimates;
  const ReplayResult result = replay(workload, one_machine(cell.processors), settings);
  const Metrics metrics = measure(result.jobs, cell.processors);
  EXPECT_EQ(metrics.jobs, cell.jobs);
  EXPECT_NEAR(metrics.bounded_slowdown, cell.slowdown, std::max(cell.slowdown * cell.allowed, 0.005));
  EXPECT_NEAR(metrics.mean_wait, cell.wait, std::max(cell.wait * cell.allowed, 0.05));
}

std::string whole_name(const testing::TestParamInfo<WholeCell>& info) {
  std::string name = std::string{info.param.trace} + "_" + info.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Traces, Whole, testing::ValuesIn(whole_cells), whole_name);

// --- our own policy: better than SJBF, with waits bounded by EASY's, on the halves it was not tuned on
// --------------------------------

struct GuardedCell {
  const char* trace;
  std::int64_t processors;
  std::uint32_t shakes;
  bool always;  // also in the short tests
};
constexpr GuardedCell guarded_cells[] = {
    {"KTH-SP2", 100, 2, true}, {"CTC-SP2", 338, 2, false}, {"SDSC-SP2", 128, 2, false}, {"lublin_256", 256, 5, false}};

class Guarded : public testing::TestWithParam<GuardedCell> {};

TEST_P(Guarded, beats_sjbf_and_keeps_the_longest_waits_within_a_fifth_of_easys) {
  const GuardedCell& cell = GetParam();
  if (!cell.always && !everything()) GTEST_SKIP() << "part of ./mill test --extended (MR_REFERENCES=all)";
  NEED_TRACE(trace, file_of(cell.trace));
  CompareSettings settings;
  settings.processors = cell.processors;
  settings.half = Half::second;
  settings.shakes = cell.shakes;
  settings.policies = *find_policies("sjbf,guarded");
  const Comparison compared = compare(whole_trace(*trace, cell.processors), settings);
  const ComparedRow &sjbf = compared.rows[0], &guarded = compared.rows[1];
  EXPECT_LT(guarded.slowdown.mean, sjbf.slowdown.mean) << comparison_table(compared);
  EXPECT_LE(guarded.p99_to_easy.worst, 1.2) << comparison_table(compared);
  EXPECT_LE(guarded.max_to_easy.worst, 1.2) << comparison_table(compared);
}

std::string guarded_name(const testing::TestParamInfo<GuardedCell>& info) {
  std::string name = info.param.trace;
  std::ranges::replace(name, '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(SecondHalves, Guarded, testing::ValuesIn(guarded_cells), guarded_name);

}  // namespace
}  // namespace millrace
