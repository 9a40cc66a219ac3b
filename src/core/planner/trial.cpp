// src/core/planner/trial.cpp - see trial.h.
#include "core/planner/trial.h"

#include "core/planner/pass.h"

namespace millrace {

Trial try_job(const State& state, PlannerSettings settings, JobKey key, Time now) {
  settings.watched = key;
  Pass pass(state, std::move(settings), now);
  while (!pass.advance(INT64_MAX / 2)) {
  }
  Plan plan = pass.take();
  for (Proposal& placed : plan.placements)
    if (placed.key == key) return {now, std::move(placed.shares), placed.partition, true};
  for (Finding& finding : plan.findings)
    if (finding.key == key) return {finding.planned_start, std::move(finding.planned_shares), finding.partition, false};
  return {};
}

}  // namespace millrace
