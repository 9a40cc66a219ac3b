// src/controller/loop/to_place.h - a proposal of the planner as admission takes it, with all components of a
// heterogeneous job.
#pragma once

#include "core/admission/accept_placement.h"
#include "core/planner/plan.h"

namespace millrace {

inline PlaceJob to_place(const Proposal& proposal) {
  PlaceJob out{proposal.key,       proposal.attempt,  proposal.shares,       proposal.by_backfill,
               proposal.partition, proposal.priority, proposal.limit_minutes};
  for (const Proposal& component : proposal.with) out.with.push_back(to_place(component));
  return out;
}

}  // namespace millrace
