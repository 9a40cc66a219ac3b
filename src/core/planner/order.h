// src/core/planner/order.h - who comes first: the scores of OrderPolicy, in numbers that are the same on every machine.
#pragma once

#include <compare>

#include "base/fixed_point.h"
#include "core/planner/plan.h"

namespace millrace {

// The numbers of OrderPolicy::guarded and Backfill::guarded, chosen on the first halves of four traces
// (docs/admin/policies.md). What they do together: nobody is overtaken for ever, and of those who have waited for two
// days the first have promised starts.
struct GuardedRules {
  static constexpr std::int64_t lateness_per_estimate = 5;  // a job is put back by so many times its estimate ...
  static constexpr std::int64_t lateness_max_seconds = 8 * 3'600;  // ... and by this at most
  static constexpr std::uint32_t express_limit_minutes = 30;       // jobs with limits up to this ...
  static constexpr std::int64_t express_part = 4;  // ... and up to this part of their partition (a quarter) ...
  static constexpr std::int64_t express_lead_seconds =
      7 * 86'400;                                          // ... go before whoever came less than this before them
  static constexpr std::int64_t old_seconds = 48 * 3'600;  // who has waited so long ...
  static constexpr std::uint32_t promised_starts = 4;  // ... is promised a start, so many per partition with the head
};

// Lowest first; of equals the older one, then the one with the lower key, so that an order is total.
struct Score {
  Fixed value;
  Time submitted_at;
  JobKey key;
  auto operator<=>(const Score&) const = default;
};

// How long the job is thought to run, in seconds: what is expected of it if that is to be used and known, else its
// limit (a year where it has none). At least 1.
std::int64_t estimated_seconds(const Job& job, const PlannerSettings& settings);

// With r the estimate, n the CPUs asked for, s the submit time in seconds since settings.score_origin (at least 1), w
// the wait so far:
//   fcfs    s                                   f1  log10(r) n + 870 log10(s)
//   sjf     r                                   f2  sqrt(r) n + 25600 log10(s)
//   wfp3    -(w / r)^3 n                        f3  r n + 6860000 log10(s)
//   unicep  -w / (log2(n) r)                    f4  r sqrt(n) + 530000 log10(s)
//   guarded s' + min(5 r, 8 h), less 7 days where the limit is 30 minutes at most and n at most a quarter of the
//   partition; s' is when
//           the job became eligible
// Waits count to settings.waits_until where that is set, else to now. The logarithm of one CPU counts as 1.6e-15, as in
// the published comparisons, so that unicep takes such jobs first. OrderPolicy::priority is the ledger's order and not
// a score; here it counts as the job's priority, highest first. `partition_cpus`: of all nodes of the partition it is
// tried in; 0: not known.
Score score_of(const Job& job, const PlannerSettings& settings, Time now, std::int64_t partition_cpus = 0);

// Since when it could have run.
Time waits_since(const Job& job);

}  // namespace millrace
