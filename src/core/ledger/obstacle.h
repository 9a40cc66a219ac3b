// src/core/ledger/obstacle.h - what keeps a pending job from starting whatever is free; `none` when only resources
// decide.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

// `started_now`: tasks of its array that a plan under way has placed already. `where`: which of its partitions, the
// first if not said.
Reason standing_obstacle(const State& state, const Job& job, Time now, std::uint32_t started_now = 0,
                         std::optional<PartitionIndex> where = std::nullopt);

}  // namespace millrace
