// src/core/admission/accept_placement.h - a proposal of the planner, checked against the present before it becomes a
// fact.
#pragma once

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

struct PlaceJob {
  JobKey key;  // of the job, or of an array's rest
  Attempt attempt;
  std::vector<NodeShare> shares;
  bool by_backfill = false;
  std::optional<PartitionIndex> partition{};     // not set: the first it asked for
  std::uint32_t priority = 0;                    // as computed when it was planned; 0: as it is
  std::optional<std::uint32_t> limit_minutes{};  // shortened, as the job allows with --time-min
  std::vector<PlaceJob> with{};  // the other components of a heterogeneous job, in their order: all start or none
};

// Fills in which CPUs and devices of each node, and which licences, the job gets. No events: the proposal is dropped,
// because it is stale (`why` is none) or because what is free cannot be had in the way it asks (`why` is what it waits
// for).
std::vector<Event> decide_place(const State& state, const PlaceJob& proposal, Time now, Reason* why = nullptr);

}  // namespace millrace
