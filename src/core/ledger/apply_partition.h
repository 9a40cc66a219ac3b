// src/core/ledger/apply_partition.h - the part of apply that changes partitions: by the configuration, and by scontrol.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

// What the configuration says of partitions, with what stays of changes that were made since (docs/adr/0010).
// fill_partitions is left to do.
void configure_partitions(State& state, const ClusterConfigured& e);
void change_partition(State& state, const PartitionChanged& e);
void delete_partition(State& state, const PartitionDeleted& e);
// OverTimeLimit holds for jobs that run already, too.
void renew_over_times(State& state);
// The order of the queue, after tiers may have changed.
void sort_queue(State& state);

}  // namespace millrace
