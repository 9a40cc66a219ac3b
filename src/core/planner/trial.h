// src/core/planner/trial.h - when and where would this job start, as things stand? Asked on a copy; nothing comes of
// it.
#pragma once

#include "core/planner/memo.h"
#include "core/planner/plan.h"

namespace millrace {

struct Trial {
  Time start;                     // not set: not as long as the nodes, limits and reservations are what they are
  std::vector<NodeShare> shares;  // of a heterogeneous job those of all components
  PartitionIndex partition;
  bool now = false;
  Reason reason{};        // where it does not start now: as squeue shows it
  bool promised = false;  // the start: nobody behind it may delay it
};

// The job must be in the state and in its queue (else: nothing is found). Everyone ahead of it is planned before it.
// With a memo, trials of states that differ little cost what they differ.
Trial try_job(const State& state, PlannerSettings settings, JobKey key, Time now, Memo* memo = nullptr);

}  // namespace millrace
