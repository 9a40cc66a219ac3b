// src/core/planner/plan.cpp - see plan.h.
#include "core/planner/plan.h"

#include <algorithm>

namespace millrace {
namespace {

Backfill backfill_of(Schedule schedule) {
  switch (schedule) {
    case Schedule::conservative:
      return Backfill::conservative;
    case Schedule::easy:
      return Backfill::easy;
    case Schedule::sjbf:
      return Backfill::shortest_first;
    case Schedule::guarded:
      return Backfill::guarded;
  }
  return Backfill::conservative;
}

}  // namespace

void add_shares(std::vector<NodeShare>& to, const std::vector<NodeShare>& more) {
  for (const NodeShare& share : more) {
    const auto same = std::ranges::find(to, share.node, &NodeShare::node);
    if (same == to.end()) {
      to.push_back(share);
      continue;
    }
    if (share.detail) {
      Amounts both = same->amounts();
      both += share.amounts();
      ShareDetail detail = same->detail ? *same->detail : ShareDetail{};
      detail.gres = both.gres;
      same->detail = SharedValue(std::move(detail));
    }
    same->cpus += share.cpus;
    same->memory += share.memory;
    same->tasks += share.tasks;
  }
}

PlannerSettings planner_settings(const Policy& policy, std::uint32_t depth) {
  PlannerSettings settings;
  settings.backfill = policy.backfill ? backfill_of(policy.schedule) : Backfill::none;
  if (settings.backfill == Backfill::guarded) settings.order = OrderPolicy::guarded;
  settings.depth = depth;
  settings.use_expected = policy.predict_run_times;
  return settings;
}

}  // namespace millrace
