// src/core/ledger/apply_power.h - nodes that are powered down and up, and the jobs that wait for them.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

void change_power(State& state, const NodesPowered& e);
// A registration of a node that is not on. False: it is on, and the registration is an ordinary one.
bool register_without_power(State& state, const NodeRegistered& e);
// Whether the job, with all its components, still waits for nodes to be powered up or to have rebooted.
void note_boot(State& state, JobKey key, Time at);
// --reboot: the nodes that it has just got, and that are on, boot before it begins.
void reboot_for(State& state, JobKey key, Time at);
// A node was left idle: some partitions have it powered down at once.
void note_idle(State& state, NodeIndex index, const Job& job);

}  // namespace millrace
