// src/core/ledger/failed_launches.h - what a node's failed launches tell of the node, whatever they said themselves.
#pragma once

#include <vector>

#include "core/ledger/event.h"
#include "core/ledger/state.h"

namespace millrace {

// Jobs of so many users in a row could not be launched there: it is the node, when other nodes run jobs meanwhile. One
// user's broken jobs count once, however many they are.
constexpr std::size_t users_failed_max = 3;
// So many jobs of one user and name in a row, where others like them begin well elsewhere: fewer may be the hiccup of a
// file server, more are a part of an array that is lost for nothing.
constexpr std::uint32_t of_user_failed_max = 5;
// One user's jobs drain no more nodes than this before somebody has looked at those: what is wrong may be the user's.
constexpr std::size_t drained_for_user_max = 2;
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
std::vector<FailedLaunch> with_failed_launch(std::vector<FailedLaunch> before, const JobSpec& job, Time at);
// With one that was launched and has ended.
std::vector<WellRun> with_well_run(std::vector<WellRun> before, const JobSpec& job, Time at);

// With this one more it has failed for too many, and another node has run a job well since the first of them.
bool fails_for_all(const State& state, NodeIndex node, UserId user, Time at);
// With this one more too many like it failed there, and others like it began well on another node since. Jobs that ask
// for nodes by name are not judged: where they go says nothing.
bool fails_only_here(const State& state, NodeIndex node, const Job& job, Time at);

}  // namespace millrace
