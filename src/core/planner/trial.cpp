// src/core/planner/trial.cpp - see trial.h.
#include "core/planner/trial.h"

#include "core/planner/pass.h"

namespace millrace {

Trial try_job(const State& state, PlannerSettings settings, JobKey key, Time now, Memo* memo) {
  key = leader_of(state.job(key));
  settings.watched = key;
  Pass pass(state, std::move(settings), now, memo);
  while (!pass.advance(INT64_MAX / 2)) {
  }
  Plan plan = pass.take();
  for (Proposal& placed : plan.placements)
    if (placed.key == key) {
      for (const Proposal& component : placed.with) add_shares(placed.shares, component.shares);
      return {now, std::move(placed.shares), placed.partition, true, Reason::none, true};
    }
  std::vector<JobKey> whole = whole_of(state.job(key));
  Trial trial;
  for (const Finding& finding : plan.findings) {
    if (std::erase(whole, finding.key) == 0) continue;  // the first counts, of several partitions
    if (finding.key == key)
      trial = {finding.planned_start, {}, finding.partition, false, finding.reason, finding.promised};
    add_shares(trial.shares, finding.planned_shares);
  }
  return trial;
}

}  // namespace millrace
