// src/core/ledger/sharing.cpp - see sharing.h.
#include "core/ledger/sharing.h"

#include <algorithm>

namespace millrace {

bool admits_owner(const State& state, const Node& node, const JobSpec& spec) {
  const bool alone = spec.resources && spec.resources->exclusive_user;
  return std::ranges::all_of(node.jobs, [&](JobKey key) {
    const JobSpec& other = *state.job(key).spec;
    return other.owner->uid == spec.owner->uid || (!alone && !(other.resources && other.resources->exclusive_user));
  });
}

}  // namespace millrace
