// src/core/admission/reserve_ports.h - ports that a job's steps have for themselves on its nodes (MpiParams=ports=).
#pragma once

#include "base/index_set.h"
#include "core/ledger/state.h"

namespace millrace {

// So that the job has at least so many of the pool, and no port that another job has on one of its nodes. Nothing:
// there are not enough. What it has once it keeps until its attempt is over: its step manager gives them to one step
// after the other.
std::optional<std::vector<Event>> decide_ports(const State& state, const Job& job, std::uint32_t count,
                                               const IndexSet& pool, Time now);
// As many as its steps that run have together, by what is known of them.
std::uint32_t ports_of_steps(const State& state, const Job& job);

}  // namespace millrace
