// src/core/planner/plan.h - what a pass proposes about one version of the state, and what it found out on the way.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ledger/state.h"

namespace millrace {

struct Proposal {
  JobKey key;  // of a job, or of an array's rest: then its first waiting task is meant
  Attempt attempt;
  std::vector<NodeShare> shares;
  bool by_backfill = false;
};

// Why a job does not start now, and when it is expected to.
struct Finding {
  JobKey key;
  Reason reason{};
  Time planned_start;  // not set: unknown
  std::vector<NodeIndex> planned_nodes;
};

struct Plan {
  std::uint64_t based_on = 0;  // State::version
  Time made_at;
  JobKey next_key;                   // of the state: jobs from here on were not there yet
  std::vector<Proposal> placements;  // in the order decided; each assumes the ones before it
  std::vector<Finding> findings;     // of the jobs looked at; all others wait behind them (Reason::priority)
  std::int64_t steps = 0;            // work done, for budgets
};

struct PlannerSettings {
  bool backfill = true;
  std::uint32_t depth = 500;  // jobs tried behind the first blocked one
  std::vector<NodeIndex> unreachable;  // nodes that do not answer at the moment: nothing new is placed there
};

}  // namespace millrace
