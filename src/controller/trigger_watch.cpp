// src/controller/trigger_watch.cpp - see trigger_watch.h.
#include "controller/trigger_watch.h"

#include <algorithm>

#include "base/hostlist.h"
#include "core/ledger/apply.h"

namespace millrace {
namespace {

bool is_about(const Trigger& trigger, const std::string& node) {
  if (trigger.job.value != 0) return false;
  if (trigger.nodes.empty()) return true;
  const auto names = expand_hostlist(trigger.nodes);
  return names && std::ranges::find(*names, node) != names->end();
}

// A trigger about a job is also one about what happens to its nodes.
bool concerns(const State& state, const Trigger& trigger, const std::string& node) {
  if (trigger.job.value == 0) return is_about(trigger, node);
  const Job* job = state.find_job(trigger.job);
  if (!job || !job->placement) return false;
  return std::ranges::any_of(job->placement->shares, [&](const NodeShare& share) { return state.node(share.node).def->name == node; });
}

// Several nodes for one trigger at the same moment are one call.
void fire(std::vector<FiredTrigger>& out, TriggerId id, const std::string& about) {
  const auto known = std::ranges::find(out, id, &FiredTrigger::id);
  if (known == out.end()) out.push_back({id, about});
  else known->about += "," + about;
}

void tidy(std::vector<FiredTrigger>& fired) {
  for (FiredTrigger& each : fired)
    if (const auto names = expand_hostlist(each.about); names && names->size() > 1) each.about = compress_hostlist_sorted(*names);
}

}  // namespace

std::string_view trigger_word(TriggerEvent event) {
  switch (event) {
    case TriggerEvent::node_down: return "down";
    case TriggerEvent::node_up: return "up";
    case TriggerEvent::node_drained: return "drained";
    case TriggerEvent::node_draining: return "draining";
    case TriggerEvent::node_resumed: return "resume";
    case TriggerEvent::node_failing: return "fail";
    case TriggerEvent::node_idle: return "idle";
    case TriggerEvent::job_end: return "fini";
    case TriggerEvent::job_time: return "time";
    case TriggerEvent::reconfigured: return "reconfig";
  }
  return "unknown";
}

TriggerWatch::Seen TriggerWatch::look_at(const Node& node) {
  Seen seen;
  seen.down = node.condition == NodeCondition::down;
  seen.drain = node.drain;
  seen.drained = node.drain && node.jobs.empty();
  seen.draining = node.drain && !node.jobs.empty();
  seen.failing = node.fail;
  if (node.is_usable() && node.jobs.empty()) seen.idle_since = node.last_busy.is_set() ? node.last_busy : Time{1};
  return seen;
}

void TriggerWatch::remember(const State& state, Time now) {
  for (const auto& [index, node] : state.nodes) {
    Seen seen = look_at(*node);
    if (seen.idle_since.is_set()) seen.idle_since = now;
    nodes_[index] = seen;
  }
}

void TriggerWatch::happened(const State& state, TriggerEvent event, const std::string& node, Time now, std::vector<FiredTrigger>& out) {
  for (const auto& [id, trigger] : state.triggers) {
    if (trigger->event != event || !concerns(state, *trigger, node)) continue;
    if (trigger->offset_seconds > 0) due_.push_back({id, now + seconds(trigger->offset_seconds), node});
    else fire(out, id, node);
  }
}

std::vector<FiredTrigger> TriggerWatch::look(const State& state, const std::set<JobKey>& jobs, const std::set<NodeIndex>& nodes, Time now) {
  std::vector<FiredTrigger> out;
  for (const NodeIndex index : nodes) {
    const auto* node = state.nodes.find(index);
    if (!node) continue;
    const auto [it, fresh] = nodes_.try_emplace(index);
    const Seen before = it->second;
    Seen seen = look_at(**node);
    if (seen.idle_since.is_set()) seen.idle_since = before.idle_since.is_set() ? before.idle_since : now;
    it->second = seen;
    if (fresh || state.triggers.empty()) continue;
    const std::string& name = (*node)->def->name;
    if (seen.down && !before.down) happened(state, TriggerEvent::node_down, name, now, out);
    if (!seen.down && before.down) happened(state, TriggerEvent::node_up, name, now, out);
    if (seen.drained && !before.drained) happened(state, TriggerEvent::node_drained, name, now, out);
    if (seen.draining && !before.draining) happened(state, TriggerEvent::node_draining, name, now, out);
    if (!seen.drain && before.drain) happened(state, TriggerEvent::node_resumed, name, now, out);
    if (seen.failing && !before.failing) happened(state, TriggerEvent::node_failing, name, now, out);
  }
  if (!state.triggers.empty() && !jobs.empty())
    for (const auto& [id, trigger] : state.triggers) {
      if (trigger->event != TriggerEvent::job_end || !jobs.contains(trigger->job)) continue;
      const Job* job = state.find_job(trigger->job);
      if (job && job->state != JobState::ended) continue;
      if (trigger->offset_seconds > 0) due_.push_back({id, now + seconds(trigger->offset_seconds), std::to_string(trigger->job_id.value)});
      else fire(out, id, std::to_string(trigger->job_id.value));
    }
  tidy(out);
  return out;
}

std::vector<FiredTrigger> TriggerWatch::reconfigured(const State& state) const {
  std::vector<FiredTrigger> out;
  for (const auto& [id, trigger] : state.triggers)
    if (trigger->event == TriggerEvent::reconfigured) out.push_back({id, "reconfig"});
  return out;
}

std::vector<FiredTrigger> TriggerWatch::time_passed(const State& state, Time now) {
  std::vector<FiredTrigger> out;
  if (state.triggers.empty()) return out;
  std::erase_if(due_, [&](const Due& each) {
    if (each.at > now) return false;
    if (state.triggers.contains(each.id)) fire(out, each.id, each.about);
    return true;
  });
  for (const auto& [id, trigger] : state.triggers) {
    if (trigger->event == TriggerEvent::job_time) {
      const Job* job = state.find_job(trigger->job);
      const bool is_close = job && job->state == JobState::running && limit_end(*job) != never && limit_end(*job) - seconds(std::abs(trigger->offset_seconds)) <= now;
      if (is_close) fire(out, id, std::to_string(trigger->job_id.value));
    }
    if (trigger->event != TriggerEvent::node_idle) continue;
    for (auto& [index, seen] : nodes_) {
      if (!seen.idle_since.is_set() || seen.idle_since + seconds(trigger->offset_seconds) > now) continue;
      const auto* node = state.nodes.find(index);
      if (node && concerns(state, *trigger, (*node)->def->name)) fire(out, id, (*node)->def->name);
    }
  }
  tidy(out);
  return out;
}

}  // namespace millrace
