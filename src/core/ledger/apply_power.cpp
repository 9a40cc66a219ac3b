// src/core/ledger/apply_power.cpp - see apply_power.h.
#include "core/ledger/apply_power.h"

#include <algorithm>

#include "core/ledger/apply_end.h"
#include "core/ledger/apply_job.h"
#include "core/ledger/apply_node.h"

namespace millrace {
namespace {

NodePower changed(const NodePower& from, const NodesPowered& e) {
  NodePower to = from;
  switch (e.change) {
    case PowerChange::down_wanted:
      to.down_wanted = true;
      break;
    case PowerChange::down_asap:
      to.down_wanted = to.closed = true;
      break;
    case PowerChange::down_forced:
    case PowerChange::going_down:
      to = {.state = Power::going_down, .due = e.due};
      break;
    case PowerChange::off:
      to = {.state = Power::off, .up_wanted = from.up_wanted};
      break;
    case PowerChange::up_wanted:
      to.up_wanted = true;
      to.down_wanted = to.closed = false;
      break;
    case PowerChange::coming_up:
      to = {.state = Power::coming_up, .due = e.due};
      break;
    case PowerChange::told:
      to.told = true;
      break;
    case PowerChange::failed:
      to = {.state = Power::off};
      break;
    case PowerChange::called_off:
      to.down_wanted = to.closed = to.up_wanted = false;
      break;
  }
  return to;
}

// No process of it has been seen before.
bool is_new_agent(const Node& node, const NodeRegistered& e) {
  return !node.inventory || node.boot_id != e.boot_id ||
         node.inventory->agent_started_at != e.inventory.agent_started_at;
}

}  // namespace

void change_power(State& state, const NodesPowered& e) {
  bool moved = false;
  for (const NodeIndex index : e.nodes) {
    Node& node = state.edit_node(index);
    const NodePower before = node.power;
    node.power = changed(before, e);
    moved = moved || before.state != node.power.state;
    if (e.change == PowerChange::down_forced) {
      node.condition = NodeCondition::up;
      node.drain = node.fail = node.down_for_silence = node.drained_for_reboot = false;
      node.reboot = Reboot::none;
      node.after_reboot = AfterReboot::as_before;
      node.reboot_due = Time{};
      node.reason.clear();
    }
    if (e.change == PowerChange::failed) {
      node.condition = NodeCondition::down;
      node.down_for_silence = false;
      node.reason = "ResumeTimeout reached";
      node.reason_by = UserId{0};
      node.reason_at = e.at;
    }
    if (node.power.state == Power::off && before.state != Power::off)
      node.instance_id.clear(), node.instance_type.clear();  // that machine is gone
    forget_resume(state, index);
  }
  // Those that are on come first; also where the order stays, that is how a plan hears of it.
  if (moved) sort_partitions(state);
}

bool register_without_power(State& state, const NodeRegistered& e) {
  Node& node = state.edit_node(e.node);
  if (node.is_on()) return false;
  const bool fresh = is_new_agent(node, e);
  node.boot_id = e.boot_id;
  node.inventory = SharedValue(e.inventory);
  // One that is being shut down may well say something before it is gone, and one that should be gone may not know.
  if (node.power.state == Power::going_down || !fresh) return true;
  node.power = {};
  const std::uint32_t rule = state.policy->return_to_service;
  if (node.condition != NodeCondition::down || rule == 2 || (rule == 1 && node.down_for_silence)) {
    const bool was_down = node.condition == NodeCondition::down;
    node.condition = NodeCondition::up;
    node.down_for_silence = false;
    if (was_down && !node.drain && !node.fail) node.reason.clear();
  }
  node.last_busy = e.at;
  sort_partitions(state);
  const std::vector<JobKey> jobs = state.node(e.node).jobs;
  for (const JobKey key : jobs) note_boot(state, key, e.at);
  return true;
}

void note_boot(State& state, JobKey key, Time at) {
  const std::vector<JobKey> whole = whole_of(state.job(key));
  const auto may_wait = [](const Job& job) {
    return job.state == JobState::running || job.state == JobState::suspended;
  };
  const bool wait = std::ranges::any_of(whole, [&](JobKey each) {
    const Job& job = state.job(each);
    return may_wait(job) && std::ranges::any_of(job.placement->shares, [&](const NodeShare& share) {
             return !share.released && !state.node(share.node).is_ready();
           });
  });
  bool ready = false;
  for (const JobKey each : whole) {
    const bool boots = wait && may_wait(state.job(each));
    if (state.job(each).boots == boots) continue;
    ready = ready || !boots;
    // Its time does not count until it can begin.
    clear_deadline(state, kill_time(state.job(each)), each, DeadlineKind::time_limit);
    Job& job = state.edit_job(each);
    job.boots = boots;
    if (job.state == JobState::running && kill_time(job) != never)
      state.deadlines.set({kill_time(job), each, DeadlineKind::time_limit}, {});
  }
  if (ready && !wait) begin_anew(state, leader_of(state.job(key)), at);
}

void reboot_for(State& state, JobKey key, Time at) {
  const std::vector<NodeShare> shares = state.job(key).placement->shares;
  for (const NodeShare& share : shares) {
    Node& node = state.edit_node(share.node);
    if (!node.is_on() || node.jobs.size() > 1)
      continue;  // it boots anyway; or somebody is there who takes no CPUs (suspended, srun -Z)
    node.reboot = Reboot::issued;
    node.reboot_due = at + seconds(state.policy->resume_timeout_seconds);
  }
}

void note_idle(State& state, NodeIndex index, const Job& job) {
  if (!state.policy->power.saving || !state.partition(job.spec->partition).def.power_down_on_idle) return;
  Node& node = state.edit_node(index);
  if (node.jobs.empty() && node.is_on()) node.power.down_wanted = true;
}

}  // namespace millrace
