// src/core/ledger/preempt_rule.h - must this running job make room for that waiting one, and what becomes of it?
#pragma once

#include "core/ledger/state.h"

namespace millrace {

struct Yield {
  bool requeue = false;
  std::uint32_t grace_seconds = 0;
};

// Nothing: it stays. Asked for a waiting job in one of its partitions.
std::optional<Yield> must_yield(const State& state, const Job& running, const Job& waiting, PartitionIndex where, Time now);
// The same of a component, which goes with all others of its job or not at all.
std::optional<Yield> must_yield_whole(const State& state, const Job& running, const Job& waiting, PartitionIndex where, Time now);

// It has been told to go and will be gone soon.
inline bool is_yielding(const Job& job) { return job.state == JobState::completing || job.preempt_due.is_set(); }

}  // namespace millrace
