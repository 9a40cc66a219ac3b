// src/core/ledger/preempt_rule.h - must this running job make room for that waiting one, and what becomes of it?
#pragma once

#include "core/ledger/state.h"

namespace millrace {

struct Yield {
  PreemptMode mode{};  // cancel, requeue or suspend
  std::uint32_t grace_seconds = 0;
};

// By partition or QOS alone, whatever it does now.
std::optional<Yield> yields_to(const State& state, const Job& held, const Job& waiting, PartitionIndex where);

// A suspended job that wants its CPUs back must wait longer for this one, as it would be suspended for it.
bool gives_way(const State& state, const Job& suspended, const Job& waiting, PartitionIndex where);

// Nothing: it stays. Asked for a waiting job in one of its partitions. Of one that is suspended anyway only its end
// makes room.
std::optional<Yield> must_yield(const State& state, const Job& running, const Job& waiting, PartitionIndex where,
                                Time now);
// The same of a component, which goes with all others of its job or not at all.
std::optional<Yield> must_yield_whole(const State& state, const Job& running, const Job& waiting, PartitionIndex where,
                                      Time now);

// It has been told to go and will be gone soon.
inline bool is_yielding(const Job& job) { return job.state == JobState::completing || job.preempt_due.is_set(); }

}  // namespace millrace
