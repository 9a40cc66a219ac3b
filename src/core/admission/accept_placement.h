// src/core/admission/accept_placement.h - a proposal of the planner, checked against the present before it becomes a fact.
#pragma once

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

struct PlaceJob {
  JobKey key;                 // of the job, or of an array's rest
  Attempt attempt;
  std::vector<NodeShare> shares;
  bool by_backfill = false;
  std::optional<PartitionIndex> partition{};  // not set: the first it asked for
  std::uint32_t priority = 0;  // as computed when it was planned; 0: as it is
};

// No events: the proposal is stale and dropped.
std::vector<Event> decide_place(const State& state, const PlaceJob& proposal, Time now);

}  // namespace millrace
