// tests/fuzz/small_state.h - a small cluster with a few jobs, for targets that need something to talk about.
#pragma once

#include "core/ledger/state.h"

namespace millrace::fuzz {

// Four nodes, two partitions; jobs 1 (plain), 2 (an array of 1-6), 3 (heterogeneous, of two) and 5, all waiting.
State small_state();
ClusterConfigured small_cluster();

}  // namespace millrace::fuzz
