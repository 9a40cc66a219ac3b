// src/core/ledger/apply_clock.cpp - see apply_clock.h.
#include "core/ledger/apply_clock.h"

#include <algorithm>

#include "core/ledger/apply_account.h"
#include "core/ledger/apply_node.h"

namespace millrace {
namespace {

void move_time(Time& at, Duration by) {
  if (at.is_set() && at != never) at = at + by;
}

// A time that was read from the clock since the machine started. An older one is left alone: a machine that boots with
// a wrong clock sets it right soon after, and what was read before it went down is right as it is.
void move_read(Time& at, const ClockStepped& e) {
  if (at >= e.since) move_time(at, e.by);
}

// What it has run, and what is left to it, stay as they are.
void shift_active(State& state, JobKey key, const ClockStepped& e) {
  const auto deadlines = [&] {
    const Job& job = state.job(key);
    return std::pair{DeadlineKey{kill_time(job), key, DeadlineKind::time_limit},
                     DeadlineKey{job.preempt_due, key, DeadlineKind::preemption}};
  };
  const auto before = deadlines();
  const bool limited = state.deadlines.contains(before.first), preempted = state.deadlines.contains(before.second);
  if (limited) state.deadlines.erase(before.first);
  if (preempted) state.deadlines.erase(before.second);
  count_job(state, state.job(key), Count::take_away, e.at);
  Job& job = state.edit_job(key);
  move_read(job.started_at, e);
  move_read(job.stopped_at, e);
  move_time(job.preempt_due, e.by);
  if (job.suspension) move_read(job.suspension.edit().changed_at, e);
  count_job(state, state.job(key), Count::add, e.at);
  const auto after = deadlines();
  if (limited) state.deadlines.set(after.first, {});
  if (preempted) state.deadlines.set(after.second, {});
}

// Back in the queue, and kept from starting for a moment only. A time that its user gave is a time of the clock.
bool waits_a_while(const State& state, const Job& job, const ClockStepped& e) {
  if (job.attempt.value == 0 || !job.spec->extra_request().cron.empty()) return false;
  return job.begin_at <= e.at - e.by + seconds(state.policy->requeue_delay_seconds + 1);
}

void shift_begin(State& state, JobKey key, const ClockStepped& e) {
  const DeadlineKey before{state.job(key).begin_at, key, DeadlineKind::begin};
  if (!state.deadlines.contains(before) || !waits_a_while(state, state.job(key), e)) return;
  state.deadlines.erase(before);
  move_time(state.edit_job(key).begin_at, e.by);
  state.deadlines.set({state.job(key).begin_at, key, DeadlineKind::begin}, {});
}

// after:JOB+minutes
void shift_delays(State& state, JobKey key, const ClockStepped& e) {
  for (Dependency& dependency : state.edit_job(key).dependencies.edit().list) {
    const DeadlineKey before{dependency.due_at, key, DeadlineKind::dependency_delay};
    if (!dependency.due_at.is_set() || !state.deadlines.contains(before)) continue;
    state.deadlines.erase(before);
    move_time(dependency.due_at, e.by);
  }
  for (const Dependency& dependency : state.job(key).dependencies->list)
    if (dependency.due_at.is_set() && dependency.state == DependencyState::unfulfilled)
      state.deadlines.set({dependency.due_at, key, DeadlineKind::dependency_delay}, {});
}

void shift_nodes(State& state, const ClockStepped& e) {
  std::vector<NodeIndex> all;
  for (const auto& [index, node] : state.nodes) all.push_back(index);
  for (const NodeIndex index : all) {
    Node& node = state.edit_node(index);
    move_read(node.last_busy, e);
    move_time(node.power.due, e.by);
    move_time(node.reboot_due, e.by);
  }
}

}  // namespace

void step_clock(State& state, const ClockStepped& e) {
  std::vector<JobKey> active;
  for (const auto& [key, nothing] : state.active) active.push_back(key);
  for (const JobKey key : active) shift_active(state, key, e);
  std::vector<JobKey> begin, delayed;
  for (const auto& [due, nothing] : state.deadlines) {
    if (due.kind == DeadlineKind::begin) begin.push_back(due.key);
    if (due.kind == DeadlineKind::dependency_delay) delayed.push_back(due.key);
  }
  for (const JobKey key : begin) shift_begin(state, key, e);
  std::ranges::sort(delayed);
  delayed.erase(std::ranges::unique(delayed).begin(), delayed.end());
  for (const JobKey key : delayed) shift_delays(state, key, e);
  std::vector<StepKey> steps;
  for (const auto& [key, nothing] : state.running_steps) steps.push_back(key);
  for (const StepKey& key : steps) move_read(state.steps.edit(key)->edit().start.at, e);
  shift_nodes(state, e);
  move_time(state.slice_due, e.by);
}

void begin_boot(Node& node, const std::string& id) {
  if (node.boot_id != id) node.failed_launches.clear();
  node.boot_id = id;
}

void take_over(Node& node, NodeOrder order) {
  using enum NodeOrder;
  const bool about_drain = order == drain || order == undrain || order == resume || order == down ||
                           order == NodeOrder::fail || order == future;
  if (about_drain) node.drained_for_clock = false;
  if (order == undrain || order == resume || order == future) node.failed_launches.clear();
}

// Its drain goes as it came, unless somebody had a hand in it meanwhile.
void judge_clock(State& state, const NodeClockJudged& e) {
  Node& node = state.edit_node(e.node);
  if (e.words.empty()) {
    if (node.drained_for_clock && node.drain) {
      node.drain = false;
      if (!node.fail && node.condition != NodeCondition::down) node.reason.clear();
    }
    node.drained_for_clock = false;
    return forget_resume(state, e.node);
  }
  if (node.drain) return;
  node.drain = node.drained_for_clock = true;
  node.reason = e.words;
  node.reason_at = e.at;
  node.reason_by = UserId{0};
}

}  // namespace millrace
