// src/core/admission/power_nodes.cpp - see power_nodes.h.
#include "core/admission/power_nodes.h"

#include <algorithm>
#include <map>

namespace millrace {
namespace {

// What the partitions of a node say of its power; the largest of each counts.
struct Wishes {
  std::optional<std::uint32_t> suspend, suspend_timeout, resume_timeout;
  bool never = false;
};

void raise(std::optional<std::uint32_t>& to, const std::optional<std::uint32_t>& by) {
  if (by) to = std::max(to.value_or(0), *by);
}

void add_wishes(Wishes& to, const PartitionDef& def) {
  raise(to.suspend, def.suspend_seconds);
  raise(to.suspend_timeout, def.suspend_timeout_seconds);
  raise(to.resume_timeout, def.resume_timeout_seconds);
  to.never = to.never || def.never_suspend;
}

bool has_wishes(const PartitionDef& def) {
  return def.suspend_seconds || def.suspend_timeout_seconds || def.resume_timeout_seconds || def.never_suspend;
}

std::map<NodeIndex, Wishes> wishes_of(const State& state) {
  std::map<NodeIndex, Wishes> out;
  for (const Partition& partition : *state.partitions)
    if (partition.configured && has_wishes(partition.def))
      for (const NodeIndex index : partition.nodes) add_wishes(out[index], partition.def);
  return out;
}

Wishes wishes_of(const State& state, NodeIndex node) {
  Wishes out;
  for (const Partition& partition : *state.partitions)
    if (partition.configured && has_wishes(partition.def) &&
        std::ranges::find(partition.nodes, node) != partition.nodes.end())
      add_wishes(out, partition.def);
  return out;
}

bool is_reserved(const State& state, NodeIndex node, Time now, bool for_maintenance) {
  for (const auto& [id, reservation] : state.reservations)
    if (reservation->starts(now) <= now && now < reservation->ends(now) &&
        std::ranges::binary_search(reservation->nodes, node.value) &&
        reservation->has(reserve_maint) == for_maintenance)
      return true;
  return false;
}

bool is_excepted(const State& state, NodeIndex index, const Node& node, Time now) {
  const std::uint32_t states = state.policy->power.suspend_except;
  if (states == 0) return false;
  const bool down = node.condition == NodeCondition::down;
  return ((states & except_cloud) != 0 && node.def->kind == NodeKind::cloud) || ((states & except_down) != 0 && down) ||
         ((states & except_silent) != 0 && down && node.down_for_silence) ||
         ((states & except_drain) != 0 && node.drain) || ((states & except_fail) != 0 && node.fail) ||
         ((states & except_dynamic) != 0 && node.def->kind == NodeKind::dynamic) ||
         ((states & except_reserved) != 0 && is_reserved(state, index, now, false)) ||
         ((states & except_maintenance) != 0 && is_reserved(state, index, now, true));
}

bool may_go_down(const Node& node) {
  return node.is_on() && node.configured && !node.future && node.jobs.empty() && node.reboot == Reboot::none &&
         node.condition != NodeCondition::unknown;
}

// When it has been idle for long enough; `never` where it stays on.
Time down_at(const State& state, NodeIndex index, const Node& node, const Wishes& wishes, Time now) {
  const Policy& policy = *state.policy;
  if (!policy.power.saving || !may_go_down(node)) return never;
  if (node.power.down_wanted) return node.last_busy;
  const std::uint32_t after = node.def->suspend_seconds.value_or(wishes.suspend.value_or(policy.power.suspend_seconds));
  const bool whole_group = node.def->keep_up > 0 && node.def->keep_up <= policy.power.keep_up.size() &&
                           policy.power.keep_up[node.def->keep_up - 1] == unlimited;
  if (after == unlimited || wishes.never || whole_group || is_excepted(state, index, node, now)) return never;
  return node.last_busy + seconds(after);
}

// Of each group with a count: how many idle ones may still go.
std::map<std::uint32_t, std::int64_t> spare_nodes(const State& state) {
  std::map<std::uint32_t, std::int64_t> out;
  if (state.policy->power.keep_up.empty()) return out;
  for (const auto& [index, node] : state.nodes)
    if (node->def->keep_up > 0 && node->is_on() && node->is_usable() && node->jobs.empty()) ++out[node->def->keep_up];
  for (auto& [group, count] : out)
    if (group <= state.policy->power.keep_up.size()) count -= state.policy->power.keep_up[group - 1];
  return out;
}

// Nodes of one change in one event; those with another due time in another.
class Gathered {
 public:
  void add(PowerChange change, Time due, NodeIndex node) { nodes_[{change, due}].push_back(node); }
  void put(std::vector<Event>& events, Time now) {
    for (auto& [what, nodes] : nodes_)
      events.emplace_back(NodesPowered{
          .change = what.first, .nodes = std::move(nodes), .due = what.second, .by = UserId{0}, .at = now});
  }

 private:
  std::map<std::pair<PowerChange, Time>, std::vector<NodeIndex>> nodes_;
};

Time going_down_by(const State& state, const Wishes& wishes, Time now) {
  return now + seconds(std::max(wishes.suspend_timeout.value_or(state.policy->power.suspend_timeout_seconds), 1u));
}

// Jobs that had the node and never began there; components first, as with any loss of a node.
void lose_jobs(const State& state, NodeIndex node, Time now, std::vector<Event>& events) {
  for (const bool component : {true, false})
    for (const JobKey key : state.node(node).jobs) {
      const Job& job = state.job(key);
      if (job.is_component() == component)
        events.emplace_back(AttemptEnded{.key = key,
                                         .attempt = job.attempt,
                                         .node = node,
                                         .end = AttemptEnd::node_lost,
                                         .exit_code = 0,
                                         .exit_signal = 0,
                                         .at = now});
    }
}

}  // namespace

std::vector<Event> decide_power(const State& state, Time now, PowerBudget budget) {
  std::vector<Event> events;
  Gathered gathered;
  const std::map<NodeIndex, Wishes> all_wishes = wishes_of(state);
  std::map<std::uint32_t, std::int64_t> spare = spare_nodes(state);
  for (const auto& [index, node] : state.nodes) {
    const auto found = all_wishes.find(index);
    const Wishes wishes = found == all_wishes.end() ? Wishes{} : found->second;
    switch (node->power.state) {
      case Power::going_down:
        if (node->power.due <= now) gathered.add(PowerChange::off, {}, index);
        break;
      case Power::coming_up:
        if (node->power.down_wanted && node->jobs.empty()) {
          gathered.add(PowerChange::going_down, going_down_by(state, wishes, now), index);
        } else if (node->power.due <= now && events.empty()) {
          // One at a time: with its jobs the nodes beside it may be free of them too.
          lose_jobs(state, index, now, events);
          events.emplace_back(
              NodesPowered{.change = PowerChange::failed, .nodes = {index}, .due = {}, .by = UserId{0}, .at = now});
        }
        break;
      case Power::off:
        if ((!node->power.up_wanted && node->jobs.empty()) || !node->configured || budget.up == 0) break;
        if (budget.up != unlimited) --budget.up;
        gathered.add(PowerChange::coming_up,
                     now + seconds(std::max(wishes.resume_timeout.value_or(state.policy->resume_timeout_seconds), 1u)),
                     index);
        break;
      case Power::on: {
        if (budget.down == 0 || down_at(state, index, *node, wishes, now) > now) break;
        const auto group = spare.find(node->def->keep_up);
        const bool counted = group != spare.end() && node->is_usable() && !node->power.down_wanted;
        if (counted && group->second <= 0) break;
        if (counted) --group->second;
        if (budget.down != unlimited) --budget.down;
        gathered.add(PowerChange::going_down, going_down_by(state, wishes, now), index);
        break;
      }
    }
  }
  if (!events.empty()) return events;  // what else is due is asked for again
  gathered.put(events, now);
  return events;
}

Time next_power_change(const State& state, Time now) {
  Time next = never;
  const std::map<NodeIndex, Wishes> all_wishes = wishes_of(state);
  for (const auto& [index, node] : state.nodes) {
    const auto found = all_wishes.find(index);
    if (node->power.due.is_set())
      next = std::min(next, node->power.due);
    else if (node->is_on())
      next = std::min(next, down_at(state, index, *node, found == all_wishes.end() ? Wishes{} : found->second, now));
  }
  return next;
}

std::vector<Event> decide_leave_unpowered(const State& state, JobKey key, Time now) {
  const Job* job = state.find_job(key);
  if (!job || job->state != JobState::completing || !job->placement ||
      (job->is_component() && !job->placement->supervised))
    return {};
  for (const NodeShare& share : job->placement->shares)
    if (!share.released && !state.node(share.node).is_ready())
      return {AttemptEnded{.key = key,
                           .attempt = job->attempt,
                           .node = share.node,
                           .end = AttemptEnd::exited,
                           .exit_code = 0,
                           .exit_signal = 0,
                           .at = now}};
  return {};
}

bool is_power_word(std::string_view word) {
  return word == "power_up" || word == "power_down" || word == "power_down_asap" || word == "power_down_force";
}

Decision decide_change_power(const State& state, NodeIndex index, std::string_view word, const Actor& actor, Time now) {
  if (!actor.is_admin) return refuse(RefusalCode::access_denied);
  const Node& node = state.node(index);
  const std::string name = "node " + node.def->name;
  if (!state.policy->power.saving)
    return refuse(RefusalCode::not_supported,
                  "there is no power saving: SuspendProgram and ResumeProgram have to be set in slurm.conf");
  if (node.future)
    return refuse(RefusalCode::invalid_node_state, name + " is a FUTURE node and has no power to speak of");
  const auto change = [&](PowerChange what, Time due = {}) {
    return std::vector<Event>{NodesPowered{.change = what, .nodes = {index}, .due = due, .by = actor.uid, .at = now}};
  };
  const Power power = node.power.state;
  if (word == "power_up") {
    if (node.is_on() && !node.power.down_wanted)
      return refuse(RefusalCode::invalid_node_state, name + " is powered up already");
    if (power == Power::coming_up)
      return refuse(RefusalCode::invalid_node_state, name + " is being powered up already");
    return change(node.is_on() ? PowerChange::called_off : PowerChange::up_wanted);
  }
  if (word == "power_down_force") {
    std::vector<Event> events;
    lose_jobs(state, index, now, events);
    events.emplace_back(change(PowerChange::down_forced, going_down_by(state, wishes_of(state, index), now)).front());
    return events;
  }
  if (power == Power::off || power == Power::going_down)
    return refuse(RefusalCode::invalid_node_state,
                  name + (power == Power::off ? " is powered down already" : " is being powered down already"));
  if (node.condition == NodeCondition::unknown)
    return refuse(RefusalCode::invalid_node_state, name + " has never been up");
  return change(word == "power_down" ? PowerChange::down_wanted : PowerChange::down_asap);
}

Time idle_until(const State& state, NodeIndex index, Time now) {
  if (!state.policy->power.saving || !may_go_down(state.node(index))) return never;
  return down_at(state, index, state.node(index), wishes_of(state, index), now);
}

}  // namespace millrace
