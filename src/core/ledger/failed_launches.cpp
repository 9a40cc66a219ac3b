// src/core/ledger/failed_launches.cpp - see failed_launches.h.
#include "core/ledger/failed_launches.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr Duration remembered = seconds(3600);

}  // namespace

std::vector<FailedLaunch> with_failed_launch(std::vector<FailedLaunch> before, UserId user, Time at) {
  std::erase_if(before, [&](const FailedLaunch& each) { return each.at + remembered < at; });
  if (std::ranges::find(before, user, &FailedLaunch::user) == before.end() && before.size() < users_failed_max)
    before.push_back({user, at});
  return before;
}

bool fails_for_all(const State& state, NodeIndex node, UserId user, Time at) {
  const std::vector<FailedLaunch> failed = with_failed_launch(state.node(node).failed_launches, user, at);
  if (failed.size() < users_failed_max) return false;
  for (const auto& [index, other] : state.nodes)
    if (index != node && other->ran_well_at.is_set() && other->ran_well_at >= failed.front().at) return true;
  return false;
}

}  // namespace millrace
