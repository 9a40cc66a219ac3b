// src/core/planner/plan.cpp - see plan.h.
#include "core/planner/plan.h"

namespace millrace {
namespace {

Backfill backfill_of(Schedule schedule) {
  switch (schedule) {
    case Schedule::conservative: return Backfill::conservative;
    case Schedule::easy: return Backfill::easy;
    case Schedule::sjbf: return Backfill::shortest_first;
    case Schedule::guarded: return Backfill::guarded;
  }
  return Backfill::conservative;
}

}  // namespace

PlannerSettings planner_settings(const Policy& policy, std::uint32_t depth) {
  PlannerSettings settings;
  settings.backfill = policy.backfill ? backfill_of(policy.schedule) : Backfill::none;
  if (settings.backfill == Backfill::guarded) settings.order = OrderPolicy::guarded;
  settings.depth = depth;
  settings.use_expected = policy.predict_run_times;
  return settings;
}

}  // namespace millrace
