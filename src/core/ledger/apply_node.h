// src/core/ledger/apply_node.h - the part of apply that changes nodes and the configuration.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

void configure(State& state, const ClusterConfigured& e);
void register_node(State& state, const NodeRegistered& e);
void lose_node(State& state, const NodeLost& e);
void change_node(State& state, const NodeStateChanged& e);
void take_share(State& state, const NodeShare& share, JobKey job, Time at);
void give_back_share(State& state, const NodeShare& share, JobKey job, Time at);

}  // namespace millrace
