// src/core/admission/change_partition.h - partitions that are made, changed and deleted while the controller runs
// (scontrol).
#pragma once

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

// `def` is the whole of it as it shall be. Jobs that run in it stay as they are; those that wait are planned by the new
// rules.
Decision decide_set_partition(const State& state, const PartitionDef& def, bool create, const Actor& actor, Time now);
Decision decide_delete_partition(const State& state, const std::string& name, const Actor& actor, Time now);
Decision decide_damping(std::uint32_t factor, const Actor& actor, Time now);

}  // namespace millrace
