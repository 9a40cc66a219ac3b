// src/core/planner/plan.h - what a pass proposes about one version of the state, and what it found out on the way.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/ledger/state.h"

namespace millrace {

struct Proposal {
  JobKey key;  // of a job, or of an array's rest: then its first waiting task is meant
  Attempt attempt;
  std::vector<NodeShare> shares;
  bool by_backfill = false;
  PartitionIndex partition;                      // which of those it asked for
  std::uint32_t priority = 0;                    // with which it came first; 0: as the ledger has it
  std::optional<std::uint32_t> limit_minutes{};  // shortened to what is free before others come (--time-min)
  std::vector<Proposal>
      with{};  // of a heterogeneous job's leader: its other components, in their order; all start or none
};

// Why a job does not start now, and when it is expected to.
struct Finding {
  JobKey key;
  Reason reason{};
  Time planned_start;  // not set: unknown
  std::vector<NodeShare> planned_shares;
  PartitionIndex partition;
  bool promised = false;  // nobody behind it may delay the planned start
};

// A running job that should make room for a waiting one.
struct Preemption {
  JobKey key;
  Attempt attempt;
  JobKey by;
  PartitionIndex where;
  bool suspend = false;       // the other starts in the same plan: to be carried out right before it
  std::size_t placement = 0;  // ... as this one of Plan::placements
};

struct Plan {
  std::uint64_t based_on = 0;  // State::version
  Time made_at;
  JobKey next_key;                   // of the state: jobs from here on were not there yet
  std::vector<Proposal> placements;  // in the order decided; each assumes the ones before it
  std::vector<Preemption> preemptions;
  std::vector<Finding> findings;  // of the jobs looked at; all others wait behind them (Reason::priority)
  // Of the heterogeneous job that is watched: when each component could start without the others; not set: never.
  std::vector<std::pair<JobKey, Time>> alone;
  std::vector<Cpus> largest_nodes;  // by partition: CPUs of the largest node
  std::int64_t steps = 0;           // work done, for budgets
};

// What may overtake a blocked job. `strict` is the rule of published comparisons: first come first served among those
// that are gone strictly before the head's start, whatever it leaves free. `guarded` is easy, and the first few who
// have waited long have promised starts of their own.
enum class Backfill : std::uint8_t { none, easy, shortest_first, conservative, strict, guarded };

// Who comes first. `priority` is the ledger's order (tier, priority, age); the others are scores of the literature over
// estimate, width and submit time, lowest first; `guarded` is ours.
enum class OrderPolicy : std::uint8_t { priority, fcfs, sjf, f1, f2, f3, f4, wfp3, unicep, guarded };

// A head chosen earlier that stays the head until it starts, and the start found for it then.
struct PinnedHead {
  JobKey key;
  Time start;
};

// A start that an earlier pass found (its Finding), for conservative backfill: nobody loses what was promised.
struct Promise {
  JobKey key;
  PartitionIndex partition;
  Time start;
  std::vector<NodeShare> shares;
};

struct PlannerSettings {
  Backfill backfill = Backfill::easy;
  OrderPolicy order = OrderPolicy::priority;
  std::uint32_t depth =
      100;  // blocked jobs that get a planned start, which those behind must not delay (easy: one per partition)
  bool use_expected =
      false;  // plan with Job::expected_seconds instead of limits; `guarded` orders with them and plans with limits
  Time score_origin;  // scores take submit times from here
  Time waits_until;   // scores count waits to here; not set: to now
  std::optional<PinnedHead> pinned;
  // Conservative backfill begins with these. Each job in turn gives up its own for the earliest start that all others
  // leave it; or, where nothing came free before its time, keeps it until that start. Null: everything is planned anew.
  SharedValue<std::vector<Promise>> promises;
  bool better_promises = true;
  JobKey watched;                      // planned whatever the depth; the pass ends with it (core/planner/trial)
  std::vector<NodeIndex> unreachable;  // nodes that do not answer at the moment: nothing new is placed there
};

// One share for each node, as much as both need there: components of one job may share nodes.
void add_shares(std::vector<NodeShare>& to, const std::vector<NodeShare>& more);

// As the cluster's policy asks.
PlannerSettings planner_settings(const Policy& policy, std::uint32_t depth);

}  // namespace millrace
