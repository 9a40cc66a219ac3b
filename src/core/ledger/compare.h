// src/core/ledger/compare.h - whether two states are the same, and where they are not: what tests ask after a recovery.
#pragma once

#include <optional>
#include <string>

#include "core/ledger/state.h"

namespace millrace {

// The first field in which they differ, with both values where they are numbers or words:
// "jobs[3].placement.shares[0].cpus: 4, 8". Every field that the records list is compared, indexes too; only caches are
// not.
std::optional<std::string> first_difference(const State& a, const State& b);

}  // namespace millrace
