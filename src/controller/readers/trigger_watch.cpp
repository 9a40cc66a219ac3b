// src/controller/readers/trigger_watch.cpp - see trigger_watch.h.
#include "controller/readers/trigger_watch.h"

#include <algorithm>
#include <cstdlib>

#include "base/hostlist.h"
#include "core/ledger/apply.h"

namespace millrace {
namespace {

// A trigger about a job is also one about what happens to its nodes.
bool concerns(const State& state, const Trigger& trigger, const std::set<std::string>& named, const std::string& node) {
  if (trigger.job.value == 0) return trigger.nodes.empty() || named.contains(node);
  const Job* job = state.find_job(trigger.job);
  if (!job || !job->placement) return false;
  return std::ranges::any_of(job->placement->shares,
                             [&](const NodeShare& share) { return state.node(share.node).def->name == node; });
}

// Several nodes for one trigger at the same moment are one call.
void fire(std::vector<FiredTrigger>& out, TriggerId id, const std::string& about) {
  const auto known = std::ranges::find(out, id, &FiredTrigger::id);
  if (known == out.end())
    out.push_back({id, about});
  else
    known->about += "," + about;
}

std::string tidy(const std::string& about) {
  const auto names = expand_hostlist(about);
  return names && names->size() > 1 ? compress_hostlist_sorted(*names) : about;
}

std::string number_of(const Trigger& trigger) { return std::to_string(trigger.job_id.value); }

bool is_near_its_limit(const State& state, const Trigger& trigger, Time now) {
  const Job* job = state.find_job(trigger.job);
  return job && job->state == JobState::running && limit_end(*job) != never &&
         limit_end(*job) - seconds(std::abs(trigger.offset_seconds)) <= now;
}

// Of these two the offset is part of what happens.
bool has_own_offset(TriggerEvent event) { return event == TriggerEvent::job_time || event == TriggerEvent::node_idle; }

}  // namespace

// A list may be long, and is asked about for each node and second: it is taken apart once.
const std::set<std::string>& TriggerWatch::named_by(const Trigger& trigger) {
  const auto [it, fresh] = named_.try_emplace(trigger.id);
  if (fresh && !trigger.nodes.empty())
    if (auto names = expand_hostlist(trigger.nodes)) it->second.insert(names->begin(), names->end());
  return it->second;
}

void TriggerWatch::happened(const State& state, TriggerEvent event, const std::string& node,
                            std::vector<FiredTrigger>& out) {
  for (const auto& [id, trigger] : state.triggers)
    if (trigger->event == event && concerns(state, *trigger, named_by(*trigger), node)) fire(out, id, node);
}

TriggerWatch::Seen TriggerWatch::look_at(const Node& node) {
  Seen seen;
  seen.down = node.condition == NodeCondition::down;
  seen.drain = node.drain;
  seen.drained = node.drain && node.jobs.empty();
  seen.draining = node.drain && !node.jobs.empty();
  seen.failing = node.fail;
  return seen;
}

std::vector<FiredTrigger> TriggerWatch::remember(const State& state, Time now) {
  std::vector<FiredTrigger> out;
  for (const auto& [index, node] : state.nodes) {
    Seen seen = look_at(*node);
    if (node->is_usable() && node->jobs.empty()) seen.idle_since = now;
    nodes_[index] = seen;
  }
  for (const auto& [id, trigger] : state.triggers) {
    const Job* job = state.find_job(trigger->job);
    const bool is_over = trigger->event == TriggerEvent::job_end && (!job || job->state == JobState::ended);
    if (!trigger->due.empty() || (trigger->permanent && (is_over || (trigger->event == TriggerEvent::job_time &&
                                                                     is_near_its_limit(state, *trigger, now)))))
      told_.insert(id);
    if (trigger->job.value != 0) look_at_job(state, *trigger, out);
  }
  return out;
}

void TriggerWatch::look_at_job(const State& state, const Trigger& trigger, std::vector<FiredTrigger>& out) {
  const Job* job = state.find_job(trigger.job);
  const bool is_of_end = trigger.event == TriggerEvent::job_end;
  if (is_of_end && (!job || job->state == JobState::ended)) {
    if (told_.insert(trigger.id).second) return fire(out, trigger.id, number_of(trigger));
  } else if (is_of_end || (job && job->state != JobState::running)) {
    told_.erase(trigger.id);  // it may end again, or run again
  }
  if (!job && trigger.due.empty()) out.push_back({trigger.id, ""});
}

std::vector<FiredTrigger> TriggerWatch::look(const State& state, const std::set<JobKey>& jobs,
                                             const std::set<NodeIndex>& nodes, Time now) {
  std::vector<FiredTrigger> out;
  for (const NodeIndex index : nodes) {
    const auto* node = state.nodes.find(index);
    if (!node) {
      nodes_.erase(index);
      continue;
    }
    const auto [it, fresh] = nodes_.try_emplace(index);
    const Seen before = std::move(it->second);
    it->second = look_at(**node);
    const Seen& seen = it->second;
    if ((*node)->is_usable() && (*node)->jobs.empty()) {
      it->second.idle_since = before.idle_since.is_set() ? before.idle_since : now;
      it->second.idle_told = before.idle_told;
    }
    if (fresh || state.triggers.empty()) continue;
    const std::string& name = (*node)->def->name;
    if (seen.down && !before.down) happened(state, TriggerEvent::node_down, name, out);
    if (!seen.down && before.down) happened(state, TriggerEvent::node_up, name, out);
    if (seen.drained && !before.drained) happened(state, TriggerEvent::node_drained, name, out);
    if (seen.draining && !before.draining) happened(state, TriggerEvent::node_draining, name, out);
    if (!seen.drain && before.drain) happened(state, TriggerEvent::node_resumed, name, out);
    if (seen.failing && !before.failing) happened(state, TriggerEvent::node_failing, name, out);
  }
  if (!jobs.empty())
    for (const auto& [id, trigger] : state.triggers)
      if (trigger->job.value != 0 && jobs.contains(trigger->job)) look_at_job(state, *trigger, out);
  return out;
}

std::vector<FiredTrigger> TriggerWatch::time_passed(const State& state, Time now) {
  std::vector<FiredTrigger> out;
  const auto is_gone = [&](TriggerId id) { return !state.triggers.contains(id); };
  std::erase_if(told_, is_gone);
  std::erase_if(named_, [&](const auto& one) { return is_gone(one.first); });
  for (const auto& [id, trigger] : state.triggers) {
    if (trigger->event == TriggerEvent::job_time && is_near_its_limit(state, *trigger, now) && told_.insert(id).second)
      fire(out, id, number_of(*trigger));
    if (trigger->event != TriggerEvent::node_idle) continue;
    for (auto& [index, seen] : nodes_) {
      if (!seen.idle_since.is_set() || seen.idle_since + seconds(trigger->offset_seconds) > now ||
          seen.idle_told.contains(id))
        continue;
      const auto* node = state.nodes.find(index);
      if (!node || !concerns(state, *trigger, named_by(*trigger), (*node)->def->name)) continue;
      std::erase_if(seen.idle_told, is_gone);
      seen.idle_told.insert(id);
      fire(out, id, (*node)->def->name);
    }
  }
  return out;
}

std::vector<FiredTrigger> fired_by(const State& state, TriggerEvent event) {
  std::vector<FiredTrigger> out;
  for (const auto& [id, trigger] : state.triggers)
    if (trigger->event == event)
      out.push_back({id, event == TriggerEvent::reconfigured ? "reconfig" : "primary_slurmctld_resumed_operation"});
  return out;
}

TriggerDecision decide_fired(const State& state, const std::vector<FiredTrigger>& fired, Time now) {
  TriggerDecision out;
  for (const FiredTrigger& each : fired) {
    const auto* found = state.triggers.find(each.id);
    if (!found) continue;
    const Trigger& trigger = **found;
    const std::string about = tidy(each.about);
    if (!about.empty() && trigger.offset_seconds > 0 && !has_own_offset(trigger.event)) {
      TriggerSet waits{trigger, now};
      if (std::ranges::find(trigger.due, about, &TriggerDue::about) != trigger.due.end()) continue;
      waits.trigger.due.push_back({now + seconds(trigger.offset_seconds), about});
      out.events.emplace_back(std::move(waits));
      continue;
    }
    if (!trigger.permanent || about.empty()) out.events.emplace_back(TriggerRemoved{each.id, now});
    if (!about.empty()) out.calls.push_back({trigger.program, about, trigger.uid});
  }
  return out;
}

TriggerDecision decide_due(const State& state, Time now) {
  TriggerDecision out;
  for (const auto& [id, trigger] : state.triggers) {
    std::string about;
    TriggerSet rest{*trigger, now};
    std::erase_if(rest.trigger.due, [&](const TriggerDue& due) {
      if (due.at > now) return false;
      about += (about.empty() ? "" : ",") + due.about;
      return true;
    });
    if (about.empty()) continue;
    const bool stays = trigger->permanent && (trigger->job.value == 0 || state.find_job(trigger->job) != nullptr);
    if (stays)
      out.events.emplace_back(std::move(rest));
    else
      out.events.emplace_back(TriggerRemoved{id, now});
    out.calls.push_back({trigger->program, tidy(about), trigger->uid});
  }
  return out;
}

}  // namespace millrace
