// src/core/ledger/limit_check.h - compares one job with the limits of all it counts for, in Slurm's order of
// precedence.
#pragma once

#include <functional>

#include "core/ledger/limits.h"

namespace millrace {

// Where rows and uses come from: a LimitUse has them ready, a single question looks them up.
struct LimitSource {
  std::function<const std::vector<LimitRow>&(LimitScope, std::uint32_t)> rows;
  std::function<const Use&(const UseKey&)> use;
};

std::vector<LimitRow> rows_of(const State& state, const Association& association);
std::vector<LimitRow> rows_of(const State& state, const Qos& qos);

enum class LimitMoment : std::uint8_t { start, submit, submit_and_size };

// The first limit the job would pass. A limit of its partition's QOS goes before one of its own QOS (unless that says
// OverPartQOS), and either before one of the same kind of an association. Max limits of an association are inherited
// from above; Grp limits hold on every level.
std::optional<LimitHit> check_limits(const State& state, const LimitSource& source, const Job& job, const JobSize& size,
                                     std::uint32_t tasks, LimitMoment asked, Time now);

}  // namespace millrace
