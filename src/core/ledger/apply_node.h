// src/core/ledger/apply_node.h - the part of apply that changes nodes and the configuration.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

void configure(State& state, const ClusterConfigured& e);
void register_node(State& state, const NodeRegistered& e);
void lose_node(State& state, const NodeLost& e);
void judge_devices(State& state, const DevicesJudged& e);
void change_node(State& state, const NodeStateChanged& e);
void modify_node(State& state, const NodeModified& e);
void create_node(State& state, const NodeCreated& e);
void delete_node(State& state, const NodeDeleted& e);
// Down, drained or failing: somebody has to put it back to service, or Node::resume_at does.
bool is_out_of_service(const Node& node);
// One that is in service again has no time at which it comes back.
void forget_resume(State& state, NodeIndex index);
// Which nodes each partition has: those it names, and those that were made since and that it takes.
void fill_partitions(State& state);
// The order in which the nodes of partitions are filled, after something it depends on has changed.
void sort_partitions(State& state);
void take_share(State& state, const NodeShare& share, JobKey job, Time at);
// What take_share adds to the node, without asking whether there is room.
void add_share(Node& node, const Job& job, const NodeShare& share);
// The CPUs alone, of a job that is suspended or resumed.
void take_cpus(State& state, const Job& job, const NodeShare& share);
void give_back_cpus(State& state, const Job& job, const NodeShare& share);
void give_back_share(State& state, const NodeShare& share, JobKey job, Time at);

}  // namespace millrace
