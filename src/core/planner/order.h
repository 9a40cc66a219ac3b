// src/core/planner/order.h - who comes first: the scores of OrderPolicy, in numbers that are the same on every machine.
#pragma once

#include <compare>

#include "base/fixed_point.h"
#include "core/planner/plan.h"

namespace millrace {

// Lowest first; of equals the older one, then the one with the lower key, so that an order is total.
struct Score {
  Fixed value;
  Time submitted_at;
  JobKey key;
  auto operator<=>(const Score&) const = default;
};

// How long the job is thought to run, in seconds: what is expected of it if that is to be used and known, else its limit (a year where
// it has none). At least 1.
std::int64_t estimated_seconds(const Job& job, const PlannerSettings& settings);

// With r the estimate, n the CPUs asked for, s the submit time in seconds since settings.score_origin (at least 1), w the wait so far:
//   fcfs    s                                   f1  log10(r) n + 870 log10(s)
//   sjf     r                                   f2  sqrt(r) n + 25600 log10(s)
//   wfp3    -(w / r)^3 n                        f3  r n + 6860000 log10(s)
//   unicep  -w / (log2(n) r)                    f4  r sqrt(n) + 530000 log10(s)
// Waits count to settings.waits_until where that is set, else to now. The logarithm of one CPU counts as 1.6e-15, as in the published
// comparisons, so that unicep takes such jobs first.
// OrderPolicy::priority is the ledger's order and not a score; here it counts as the job's priority, highest first.
Score score_of(const Job& job, const PlannerSettings& settings, Time now);

}  // namespace millrace
