// src/sim/metrics.h - what a schedule was worth, in the numbers of the literature.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/replay.h"

namespace millrace {

struct Metrics {
  std::size_t jobs = 0;                                   // that started
  double bounded_slowdown = 1;                            // mean of max(1, (wait + run) / max(run, 10 s))
  double mean_wait = 0;                                   // seconds
  std::int64_t p95_wait = 0, p99_wait = 0, max_wait = 0;  // nearest rank: of 100 waits the 95th from below
  double utilisation = 0;     // processor seconds used, of those there were from the first submit to the end
  std::int64_t makespan = 0;  // seconds from the first submit to the last end
};

enum class Until : std::uint8_t {
  last_end,
  last_start
};  // where utilisation stops counting; published comparisons use the second

Metrics measure(std::span<const ReplayedJob> jobs, std::int64_t processors, Until until = Until::last_end);
// Of several runs: every number is the mean, jobs are those of all.
Metrics mean_of(std::span<const Metrics> runs);

std::string metrics_json(const Metrics& metrics);   // one object, with an end of line
std::string metrics_table(const Metrics& metrics);  // for people

}  // namespace millrace
