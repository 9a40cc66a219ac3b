// src/sim/compare.h - several policies over one trace, shaken several times: means, spreads, and how the longest waits
// stand to EASY's.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/metrics.h"
#include "sim/replay.h"

namespace millrace {

struct ComparedPolicy {
  std::string_view name;
  Backfill backfill;
  OrderPolicy order;
  Estimates estimates;
  std::string_view help;
};
std::span<const ComparedPolicy> compared_policies();  // the first is EASY, to which the others' tails are compared
// "easy,sjbf"; an unknown name is an error that lists the known ones.
Result<std::vector<ComparedPolicy>> find_policies(std::string_view names);

// As each of them is simulated on one machine.
ReplaySettings settings_of(const ComparedPolicy& policy);

struct Spread {
  double mean = 0, deviation = 0;  // standard deviation of the sample; 0 for one value
  double worst = 0;                // the highest
};
Spread spread_of(std::span<const double> values);

struct ComparedRow {
  ComparedPolicy policy;
  Spread slowdown, mean_wait, p99_wait, max_wait;
  Spread p99_to_easy, max_to_easy;  // of the same shake
};

struct Comparison {
  std::string trace;
  std::size_t jobs = 0;
  std::uint32_t shakes = 0;
  std::vector<ComparedRow> rows;
};

struct CompareSettings {
  std::int64_t processors = 0;
  Half half = Half::whole;
  std::uint32_t shakes = 0;  // seeds 1 and up; 0: once, as it is
  std::vector<ComparedPolicy> policies;
  std::function<void(std::size_t ended, std::size_t all)> progress;
};
Comparison compare(const Workload& workload, const CompareSettings& settings);

std::string comparison_table(const Comparison& comparison);
std::string comparison_json(const Comparison& comparison);  // one object, without an end of line

}  // namespace millrace
