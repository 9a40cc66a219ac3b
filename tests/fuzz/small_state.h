// tests/fuzz/small_state.h - a small cluster with a few jobs, for targets that need something to talk about.
#pragma once

#include "core/ledger/state.h"

namespace millrace::fuzz {

// Four nodes, two partitions; jobs 1 (plain), 2 (an array of 1-6), 3 (heterogeneous, of two) and 5, all waiting.
State small_state();

// The same with accounts, a QOS and people who may more than others: u1001 coordinates the account `lab`, u1004 the
// account `other`, u1002 is an operator and u1003 an administrator. u4711 works in `lab`, alice (1000) in `other`.
State state_with_roles();
ClusterConfigured small_cluster();

}  // namespace millrace::fuzz
