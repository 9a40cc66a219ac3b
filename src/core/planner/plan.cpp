// src/core/planner/plan.cpp - see plan.h.
#include "core/planner/plan.h"

namespace millrace {

PlannerSettings planner_settings(const Policy& policy, std::uint32_t depth) {
  PlannerSettings settings;
  settings.backfill = policy.backfill ? Backfill::conservative : Backfill::none;
  settings.depth = depth;
  return settings;
}

}  // namespace millrace
