// src/core/admission/report_node.cpp - see report_node.h.
#include "core/admission/report_node.h"

#include <algorithm>

#include "base/text.h"
#include "core/admission/power_nodes.h"
#include "core/ledger/apply_node.h"
#include "core/ledger/failed_launches.h"
#include "core/model/features.h"

namespace millrace {
namespace {

// --no-kill: it goes on without the node. Not without the one that has its script or keeps its steps, nor before it has
// begun, nor with no node left.
bool outlives(const Job& job, NodeIndex node) {
  if (!job.spec->extra_request().no_kill || job.boots || (job.is_component() && !job.placement->supervised))
    return false;
  if (job.state != JobState::running && job.state != JobState::suspended) return false;
  const auto& shares = job.placement->shares;
  if (job.spec->is_batch() && shares.front().node == node) return false;
  const auto share = std::ranges::find(shares, node, &NodeShare::node);
  return !share->exited && !share->given_up && std::ranges::any_of(shares, [&](const NodeShare& other) {
    return other.node != node && !other.released && !other.exited && !other.lost;
  });
}

// Components stop together: none goes on without the node while another ends with it.
bool whole_outlives(const State& state, const Job& job, NodeIndex node) {
  return std::ranges::all_of(whole_of(job), [&](JobKey key) {
    const bool there = std::ranges::binary_search(state.node(node).jobs, key);
    return !there || outlives(state.job(key), node);
  });
}

// Every attempt that still holds a share of this node ends as lost there, or loses the node.
void lose_attempts(const State& state, NodeIndex node, Time now, std::vector<Event>& events) {
  // Components first: with the leader's first node the attempt of all of them is over.
  for (const bool component : {true, false})
    for (const JobKey key : state.node(node).jobs) {
      const Job& job = state.job(key);
      if (job.is_component() != component) continue;
      if (whole_outlives(state, job, node))
        events.emplace_back(JobLostNode{key, job.attempt, node, now});
      else
        events.emplace_back(AttemptEnded{key, job.attempt, node, AttemptEnd::node_lost, 0, 0, now});
    }
}

// Something is wrong there. One that is drained keeps its reason.
void drain_after(const State& state, NodeIndex node, std::string reason, Time now, std::vector<Event>& events) {
  if (!state.node(node).drain)
    events.emplace_back(NodeStateChanged{node, NodeOrder::drain, std::move(reason), UserId{0}, now, {}, {}});
}

constexpr std::size_t words_max = 1000;

std::string reason_of(const std::string& words) { return "launch failed: " + words.substr(0, words_max); }

// A node that could not launch a job gets no more of them when it says that it is to blame, or when the jobs of others
// tell so. What the script did is no news any more once it has begun.
void judge_launch(const State& state, const ReportEnd& report, Time now, std::vector<Event>& events) {
  const Job& job = state.job(report.key);
  if (report.end == AttemptEnd::node_unfit)
    return drain_after(state, report.node, reason_of(report.words), now, events);
  if (!is_failed_launch(report.end) || state.node(report.node).drain) return;
  const std::string last = "; the last: " + report.words.substr(0, words_max);
  if (fails_for_all(state, report.node, job.spec->owner->uid, now))
    drain_after(state, report.node, "launches of " + std::to_string(users_failed_max) + " users in a row failed" + last,
                now, events);
  else if (fails_only_here(state, report.node, job, now))
    drain_after(state, report.node,
                "launches of " + std::to_string(of_user_failed_max) +
                    " jobs in a row failed, and others like them begin well on other nodes" + last,
                now, events);
}

// The job's part of this node, if it still has one under this attempt.
const NodeShare* share_of(const State& state, const ReportEnd& report) {
  const Job* job = state.find_job(report.key);
  if (!job || job->attempt != report.attempt || !job->placement) return nullptr;
  if (job->boots) return nullptr;  // nothing of it has begun anywhere
  if (!job->is_on_nodes() || (job->is_component() && !job->placement->supervised)) return nullptr;
  const auto& shares = job->placement->shares;
  const auto share = std::ranges::find(shares, report.node, &NodeShare::node);
  return share == shares.end() || share->released ? nullptr : &*share;
}

std::string shortfall(const NodeDef& def, const Inventory& found) {
  if (found.cpus < def.cpus)
    return "Low socket*core*thread count, Low CPUs (reported:" + std::to_string(found.cpus.value) +
           " < configured:" + std::to_string(def.cpus.value) + ")";
  if (found.memory < def.memory)
    return "Low RealMemory (reported:" + std::to_string(found.memory.value) +
           " < 100.00% of configured:" + std::to_string(def.memory.value) + ")";
  for (const NodeGres& has : found.devices)
    for (const NodeGres& kind : def.kinds)
      if (kind.name == has.name && kind.type == has.type && has.count < kind.count)
        return "gres/" + kind.name + " count reported lower than configured (" + std::to_string(has.count) + " < " +
               std::to_string(kind.count) + ")";
  return {};
}

std::expected<void, Refusal> check_features(const Node& node, const NodeModified& change) {
  for (const auto& list : {change.features, change.active_features})
    if (list && list->find_first_of(" &|[]()*") != std::string::npos)
      return refuse(RefusalCode::invalid_feature,
                    "features '" + *list + "' are wrong, names with commas between them would be right");
  if (!change.active_features) return {};
  const std::string& available = change.features ? *change.features : node.def->features;
  if (!std::ranges::includes(feature_names(available), feature_names(*change.active_features)))
    return refuse(
        RefusalCode::active_not_available,
        "node " + node.def->name + " has " + (available.empty() ? "no features" : "the features " + available));
  return {};
}

// ResumeAfter= is for a node that is out of service, or goes out of it with the same order.
std::expected<void, Refusal> check_resume(const Node& node, const NodeModified& change, const std::string& state) {
  if (!change.resume_at || !change.resume_at->is_set()) return {};
  const std::string word = lower(state);
  const bool goes = word == "down" || word == "drain" || word == "fail";
  if (goes || (word.empty() && is_out_of_service(node))) return {};
  return refuse(RefusalCode::invalid_node_state,
                "node " + node.def->name + " is to come back to service by ResumeAfter=, but " +
                    (word.empty() ? "it is neither down nor drained; State=DOWN or State=DRAIN takes it out of service"
                                  : "State=" + state + " does not take it out of service"));
}

bool changes_something(const NodeModified& change) {
  return change.weight || change.features || change.comment || change.extra || change.address || change.host_name ||
         change.active_features || change.instance_id || change.instance_type || change.resume_at;
}

NodeModified change_of(const ChangeNode& ask, Time now) {
  NodeModified change = ask.change;
  change.node = ask.node;
  change.at = now;
  return change;
}

}  // namespace

std::vector<Event> decide_register(const State& state, const RegisterNode& report, Time now) {
  std::vector<Event> events;
  const Node& node = state.node(report.node);
  const bool rebooted = !node.boot_id.empty() && node.boot_id != report.boot_id;
  const bool other_spool = !report.spool_id.empty() && node.spool_id != report.spool_id;
  // On one that was powered down, or told to reboot, nothing had begun.
  if ((rebooted || (other_spool && !node.spool_id.empty())) && node.is_ready())
    lose_attempts(state, report.node, now, events);
  const bool same = !rebooted && !other_spool && node.boot_id == report.boot_id && node.inventory &&
                    *node.inventory == report.inventory;
  const bool would_return =
      node.condition == NodeCondition::unknown ||
      (node.condition == NodeCondition::down &&
       (state.policy->return_to_service == 2 || (state.policy->return_to_service == 1 && node.down_for_silence)));
  if (!same || would_return)
    events.emplace_back(NodeRegistered{report.node, report.boot_id, report.inventory,
                                       state.policy->config_overrides ? "" : shortfall(*node.def, report.inventory),
                                       now, report.spool_id});
  return events;
}

// Far enough that no launch is near its expiry, and that nothing is judged by how long a message was on its way.
std::vector<Event> decide_clock(const State& state, NodeIndex index, Duration ahead, Time now) {
  constexpr Duration too_far = seconds(60), near_enough = seconds(30);
  const Node& node = state.node(index);
  const Duration off{ahead.value < 0 ? -std::max(ahead.value, -INT64_MAX) : ahead.value};
  if (off > too_far && !node.drain)
    return {NodeClockJudged{index,
                            "clock differs by " + std::to_string(off.value / 1'000'000) + " s: it is " +
                                (ahead.value > 0 ? "ahead of" : "behind") + " the controller's",
                            now}};
  if (off < near_enough && node.drained_for_clock) return {NodeClockJudged{index, "", now}};
  return {};
}

std::vector<Event> decide_devices(const State& state, NodeIndex node, std::vector<DeviceTrouble> troubles, Time now) {
  if (state.node(node).troubles == troubles) return {};
  return {DevicesJudged{node, std::move(troubles), now}};
}

namespace {

// One that was told to make room and ends within its grace has done as it was told. It goes back to the queue, or is
// preempted, whatever it exited with: a script that saves its work when it is told to go may well end with 0.
void yield_in_grace(const State& state, const ReportEnd& report, const NodeShare& share, Time now,
                    std::vector<Event>& events) {
  const Job& job = state.job(report.key);
  const Job& leader = state.job(leader_of(job));
  const bool in_grace =
      leader.preempt_due.is_set() && (leader.state == JobState::running || leader.state == JobState::suspended);
  const bool by_itself = report.end == AttemptEnd::exited || report.end == AttemptEnd::out_of_memory;
  if (!in_grace || !by_itself || share.exited || share.given_up) return;
  // Of srun's tasks on several nodes the last ones end the job.
  const auto goes_on = [&](const NodeShare& other) {
    return other.node != report.node && !other.exited && !other.released && !other.lost;
  };
  const auto& shares = job.placement->shares;
  const bool of_script = job.spec->is_batch() && report.node == shares.front().node;
  if (!of_script && !job.is_component() && std::ranges::any_of(shares, goes_on)) return;
  events.emplace_back(JobPreempted{leader.key, {}, leader.preempt_requeue, {}, now});
}

}  // namespace

std::vector<Event> decide_end(const State& state, const ReportEnd& report, Time now) {
  const NodeShare* share = share_of(state, report);
  if (!share) return {};
  std::vector<Event> events;
  if (report.end == AttemptEnd::prolog_failed && !share->exited)
    drain_after(state, report.node, "Prolog error", now, events);
  if (!share->exited) judge_launch(state, report, now, events);
  if (report.epilog_failed) drain_after(state, report.node, "Epilog error", now, events);
  yield_in_grace(state, report, *share, now, events);
  events.emplace_back(AttemptEnded{report.key, report.attempt, report.node, report.end, report.exit_code,
                                   report.exit_signal, now, report.usage, report.words.substr(0, words_max)});
  return events;
}

std::vector<Event> decide_unfit(const State& state, NodeIndex node, const std::string& words, Time now) {
  std::vector<Event> events;
  drain_after(state, node, reason_of(words), now, events);
  return events;
}

std::vector<Event> decide_exit(const State& state, const ReportEnd& report, Time now) {
  const NodeShare* share = share_of(state, report);
  if (!share || share->exited || share->given_up) return {};  // of a node given up only the end counts
  std::vector<Event> events;
  if (report.end == AttemptEnd::prolog_failed) drain_after(state, report.node, "Prolog error", now, events);
  judge_launch(state, report, now, events);
  yield_in_grace(state, report, *share, now, events);
  events.emplace_back(AttemptExited{report.key, report.attempt, report.node, report.end, report.exit_code,
                                    report.exit_signal, now, report.words.substr(0, words_max)});
  return events;
}

std::vector<Event> decide_program_end(const State& state, const JobProgramEnded& end) {
  const Job* job = state.find_job(end.key);
  if (!job || job->attempt != end.attempt || job->program != end.program || end.program == JobProgram::none) return {};
  return {Event{end}};
}

std::vector<Event> decide_reboots(const State& state, Time now) {
  std::vector<Event> events;
  for (const auto& [index, node] : state.nodes) {
    if (node->reboot == Reboot::requested && node->configured && node->jobs.empty() && node->inventory && node->is_on())
      events.emplace_back(NodeStateChanged{index,
                                           NodeOrder::reboot_issued,
                                           "",
                                           UserId{0},
                                           now,
                                           {},
                                           now + seconds(state.policy->resume_timeout_seconds)});
    if (node->reboot != Reboot::issued || now <= node->reboot_due) continue;
    // One at a time: with its jobs the nodes beside it may be free of them too.
    if (!node->jobs.empty() && !events.empty()) continue;
    lose_attempts(state, index, now, events);
    events.emplace_back(NodeStateChanged{index, NodeOrder::down, "ResumeTimeout reached", UserId{0}, now, {}, {}});
    if (!node->jobs.empty()) break;
  }
  return events;
}

std::vector<Event> decide_lost(const State& state, NodeIndex node, Time now) {
  std::vector<Event> events;
  if (!state.node(node).is_ready()) return events;  // nobody expects a word of it
  if (state.node(node).condition == NodeCondition::down && state.node(node).jobs.empty()) return events;
  lose_attempts(state, node, now, events);
  events.emplace_back(NodeLost{node, now});
  return events;
}

Decision decide_change_node(const State& state, const ChangeNode& ask, const Actor& actor, Time now) {
  if (!actor.is_admin) return refuse(RefusalCode::access_denied);
  const Node& node = state.node(ask.node);
  const std::string word = lower(ask.state);
  if (auto checked = check_features(node, ask.change); !checked) return std::unexpected(checked.error());
  if (auto checked = check_resume(node, ask.change, ask.state); !checked) return std::unexpected(checked.error());
  const bool changes = changes_something(ask.change);
  if (is_power_word(word)) {
    Decision powered = decide_change_power(state, ask.node, word, actor, now);
    if (powered && !ask.reason.empty())
      powered->emplace_back(NodeStateChanged{ask.node, NodeOrder::reason_only, ask.reason, actor.uid, now, {}, {}});
    if (powered && changes) powered->emplace_back(change_of(ask, now));
    return powered;
  }
  NodeOrder order{};
  if (word.empty()) {
    order = NodeOrder::reason_only;
  } else if (word == "drain") {
    order = NodeOrder::drain;
  } else if (word == "undrain") {
    order = NodeOrder::undrain;
  } else if (word == "down") {
    order = NodeOrder::down;
  } else if (word == "resume" || word == "idle") {
    order = NodeOrder::resume;
  } else if (word == "fail") {
    order = NodeOrder::fail;
  } else if (word == "reboot" || word == "reboot_asap") {
    order = word == "reboot" ? NodeOrder::reboot : NodeOrder::reboot_asap;
  } else if (word == "cancel_reboot") {
    order = NodeOrder::cancel_reboot;
  } else if (word == "future") {
    order = NodeOrder::future;
  } else {
    const bool later = word == "noresp";
    return refuse(RefusalCode::invalid_node_state,
                  "state '" + ask.state + (later ? "' is not built yet in Millrace" : "' is not known") +
                      "; it is one of DRAIN, UNDRAIN, DOWN, FAIL, RESUME, IDLE, CANCEL_REBOOT, POWER_UP, POWER_DOWN, "
                      "POWER_DOWN_ASAP, POWER_DOWN_FORCE, FUTURE");
  }
  if (order == NodeOrder::future && (!node.jobs.empty() || !node.is_on() || node.future))
    return refuse(RefusalCode::invalid_node_state,
                  "node " + node.def->name +
                      (node.future ? " is FUTURE already"
                                   : " has jobs or is not powered up; drain it, and let it be FUTURE when it is idle"));
  if (node.future && order != NodeOrder::resume && order != NodeOrder::reason_only)
    return refuse(RefusalCode::invalid_node_state,
                  "node " + node.def->name + " is FUTURE; State=IDLE makes it a node like others");
  if ((order == NodeOrder::reboot || order == NodeOrder::reboot_asap) && node.reboot == Reboot::issued)
    return refuse(RefusalCode::invalid_node_state, "node " + node.def->name + " is booting already");
  if (order == NodeOrder::cancel_reboot && node.reboot != Reboot::requested)
    return refuse(
        RefusalCode::invalid_node_state,
        "node " + node.def->name +
            (node.reboot == Reboot::issued ? " is booting already" : " has no reboot that could be cancelled"));
  if ((order == NodeOrder::drain || order == NodeOrder::down || order == NodeOrder::fail) && ask.reason.empty() &&
      node.reason.empty())
    return refuse(RefusalCode::invalid_node_state,
                  "You must specify a reason when DOWNING or DRAINING a node. Request denied");
  const bool usable = node.condition == NodeCondition::up && !node.drain && !node.fail &&
                      node.reboot != Reboot::issued && !node.future && !node.power.down_wanted;
  if (word == "resume" && usable)
    return refuse(RefusalCode::invalid_node_state, "node " + node.def->name + " is in service already");
  std::vector<Event> events;
  if (order == NodeOrder::down) lose_attempts(state, ask.node, now, events);
  if (order != NodeOrder::reason_only || !ask.reason.empty() || !changes)
    events.emplace_back(NodeStateChanged{ask.node, order, ask.reason, actor.uid, now, ask.after_reboot, {}});
  if (changes) events.emplace_back(change_of(ask, now));
  return events;
}

Decision decide_change_partition(const State& state, const std::string& name, const std::string& wanted,
                                 const Actor& actor, Time now) {
  if (!actor.is_admin) return refuse(RefusalCode::access_denied);
  const auto index = state.find_partition(name);
  if (!index) return refuse(RefusalCode::invalid_partition, "invalid partition specified: " + name);
  const std::string word = lower(wanted);
  Availability availability{};
  if (word == "up")
    availability = Availability::up;
  else if (word == "down")
    availability = Availability::down;
  else if (word == "drain")
    availability = Availability::drain;
  else if (word == "inactive")
    availability = Availability::inactive;
  else
    return refuse(RefusalCode::not_supported, "state '" + wanted + "' is not one of UP, DOWN, DRAIN, INACTIVE");
  return std::vector<Event>{PartitionStateChanged{*index, availability, now}};
}

}  // namespace millrace
