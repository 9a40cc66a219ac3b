// src/core/ledger/failed_launches.h - what a node's failed launches tell of the node, whatever they said themselves.
#pragma once

#include <vector>

#include "core/ledger/event.h"
#include "core/ledger/state.h"

namespace millrace {

// Jobs of so many users in a row could not be launched there: it is the node, when other nodes run jobs meanwhile. One
// user's broken jobs count once, however many they are.
constexpr std::size_t users_failed_max = 3;
// A job is held once so many of its starts in a row have failed for reasons of nodes.
constexpr std::uint32_t launch_tries_max = 4;

constexpr bool is_failed_launch(AttemptEnd end) {
  return end == AttemptEnd::launch_failed || end == AttemptEnd::node_unfit || end == AttemptEnd::not_begun;
}
// Not the job's fault.
constexpr bool is_fault_of_node(AttemptEnd end) {
  return end == AttemptEnd::node_unfit || end == AttemptEnd::not_begun;
}

// With one more; those of long ago are forgotten.
std::vector<FailedLaunch> with_failed_launch(std::vector<FailedLaunch> before, UserId user, Time at);
// With this one more it has failed for too many, and another node has run a job well since the first of them.
bool fails_for_all(const State& state, NodeIndex node, UserId user, Time at);

}  // namespace millrace
