// src/controller/nodes.cpp - the part of the controller that listens to nodes and gives them orders; see controller.h.
#include "controller/controller.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "controller/node_life.h"
#include "controller/views.h"
#include "core/admission/cancel_job.h"
#include "core/admission/create_node.h"
#include "core/admission/report_node.h"
#include "core/admission/report_steps.h"
#include "wire/limits.h"
#include "wire/report_words.h"

namespace millrace {
namespace {

constexpr std::size_t orders_max = 4096;        // to one node at a time
constexpr std::size_t ordered_max = 64 * 1024;  // that are remembered

// Where the keeper of its steps is.
bool is_first_node(const State& state, const AttemptReport& report, NodeIndex node) {
  const Job* job = state.find_job(report.key);
  return job && job->attempt == report.attempt && job->placement && job->placement->shares.front().node == node &&
         !job->placement->shares.front().lost;
}

// A job that goes on without a node, or whose tasks there are done, has nothing to start there any more.
bool is_still_to_launch(const Job* job, Attempt attempt, NodeIndex node) {
  return job && job->attempt == attempt && job->state == JobState::running &&
         std::ranges::any_of(job->placement->shares, [&](const NodeShare& share) {
           return share.node == node && !share.released && !share.lost;
         });
}

}  // namespace

std::optional<NodeIndex> Controller::own_node(ResourceManager& by, const std::string& name) {
  const auto it = node_by_name_.find(name);
  if (it == node_by_name_.end() || links_[it->second].manager != &by) return std::nullopt;
  return it->second;
}

void Controller::node_registered(ResourceManager& by, const NodeRegistration& registration) {
  see_clock();
  const auto index = own_node(by, registration.node);
  if (!index && registration.dynamic && create_unknown(by, registration)) return node_registered(by, registration);
  if (!index)
    return say_often(registration.node + " ignored", "registration of node " + registration.node +
                                                         " ignored: it is not configured here or not this manager's");
  NodeLink& link = links_[*index];
  link.ordered.clear();
  link.reported = true;
  auto events = decide_register(
      commit_.decided(), {*index, registration.boot_id, registration.inventory, registration.spool_id}, loop_.now());
  const bool known_before = link.responding;
  link.responding = true;
  link.heard_at = loop_.steady();
  observed_.edit().responding[*index] = true;
  if (!events.empty() || !known_before)
    say_often(registration.node + " registered", "node " + registration.node + " registered");
  if (!events.empty()) commit_.happen(std::move(events));
  if (!known_before) planning_.wanted();
  see_clock_of(*index, registration.clock);
  take_reports(*index, registration.attempts);
  tell_keepers_again(*index);
}

void Controller::node_reported(ResourceManager& by, const std::string& name, const std::vector<AttemptReport>& attempts,
                               const wire::Telemetry& telemetry) {
  see_clock();
  const auto index = own_node(by, name);
  if (!index) return;
  if (!links_[*index].reported) return by.start_again(name);  // it thinks that it is registered, and is not
  lines_.debug3([&] {
    return "report of node " + name + ": " + std::to_string(attempts.size()) + " attempts" +
           (telemetry.measured_at_us() != 0 ? ", with telemetry" : "");
  });
  if (telemetry.measured_at_us() != 0) {  // not with every report
    observed_.edit().telemetry[*index] = telemetry;
    judge_devices(*index, telemetry);
    see_clock_of(*index, Time{telemetry.measured_at_us()});
  }
  take_reports(*index, attempts);
}

void Controller::judge_devices(NodeIndex index, const wire::Telemetry& telemetry) {
  std::vector<DeviceTrouble> troubles;
  for (const auto& device : telemetry.devices())
    if (!device.trouble().empty())
      troubles.push_back({device.name(), device.type(), device.device(), device.trouble()});
  auto events = decide_devices(commit_.decided(), index, std::move(troubles), loop_.now());
  NodeLink& link = links_[index];
  if (events.empty() || !is_due(link.judged_devices)) return;
  link.judged_devices = loop_.steady();
  hooks_.say("devices of node " + commit_.decided().node(index).def->name + " were judged anew");
  commit_.happen(std::move(events));
  planning_.wanted();
}

static bool says_end(const AttemptReport& report) { return !report.step && (report.ended || report.exited); }

void Controller::take_reports(NodeIndex index, const std::vector<AttemptReport>& attempts) {
  NodeLink& link = links_[index];
  link.heard_at = loop_.steady();
  link.responding = true;
  observed_.edit().responding[index] = true;
  link.attempts = attempts;
  note_prologs(index, attempts);
  // A first node says nothing new here: what it said of ends is judged again, now that steps here have ended.
  for (const NodeIndex first : judge_reports(index))
    if (const auto it = links_.find(first); it != links_.end() && std::ranges::any_of(it->second.attempts, says_end))
      judge_reports(first);
  // Of jobs that are not there nothing is kept: what is to be done about them has been ordered, and is again when the
  // node still tells of them. Those whose end is not durable yet are there.
  const auto* node = commit_.durable().nodes.find(index);
  std::erase_if(links_[index].attempts, [&](const AttemptReport& report) {
    return !node || !std::ranges::binary_search((*node)->jobs, report.key);
  });
}

// Returns the first nodes of jobs that may have waited for steps on this node.
std::set<NodeIndex> Controller::judge_reports(NodeIndex index) {
  std::set<NodeIndex> firsts;
  for (const AttemptReport& report : std::vector(links_[index].attempts)) {
    if (!report.ended && report.problem == kill_failed && !commit_.decided().node(index).drain) {
      complain("node " + commit_.decided().node(index).def->name + " drained: " + kill_failed + " for job key " +
               std::to_string(report.key.value));
      commit_.happen({NodeStateChanged{index, NodeOrder::drain, kill_failed, UserId{0}, loop_.now(), {}, {}}});
    }
    if (report.step && report.ended && report.end == AttemptEnd::node_unfit)
      if (auto unfit = decide_unfit(commit_.decided(), index, report.problem, loop_.now()); !unfit.empty())
        commit_.happen(std::move(unfit));
    if (report.step) {
      tell_keeper_of(index, report);
      const Job* job = commit_.durable().find_job(report.key);
      if (report.ended && job && job->placement && job->placement->shares.front().node != index)
        firsts.insert(job->placement->shares.front().node);
      continue;
    }
    if (!report.ended && !report.exited) continue;
    if (const Job* job = commit_.decided().find_job(report.key);
        job && job->attempt == report.attempt && waits_for_steps(*job, index))
      continue;
    // Before the end, which ends whatever of its steps is not known to have ended.
    if (!report.steps.empty() && is_first_node(commit_.decided(), report, index))
      if (auto told = decide_steps(commit_.decided(), report.key, report.attempt, report.steps, loop_.now());
          !told.empty())
        commit_.happen(std::move(told));
    const ReportEnd end{report.key,   report.attempt,       index,
                        report.end,   report.exit_code,     report.exit_signal,
                        report.usage, report.epilog_failed, report.problem};
    auto events = report.ended ? decide_end(commit_.decided(), end, loop_.now())
                               : decide_exit(commit_.decided(), end, loop_.now());
    if (events.empty()) continue;
    if (!report.problem.empty())
      complain("job key " + std::to_string(report.key.value) + " on " + commit_.decided().node(index).def->name + ": " +
               report.problem);
    commit_.happen(std::move(events));
  }
  // Ends above become durable later and reconcile then; what else differs is put right now.
  reconcile(index);
  return firsts;
}

std::vector<NodeIndex> Controller::unreachable() const {
  std::vector<NodeIndex> out;
  for (const auto& [index, link] : links_) {
    if (link.responding) continue;
    const auto* node = commit_.durable().nodes.find(index);
    if (!node || (*node)->is_ready())
      out.push_back(index);  // who waits for one that is not on waits for more than an answer
  }
  return out;
}

void Controller::node_unreachable(ResourceManager& by, const std::string& name) {
  const auto index = own_node(by, name);
  if (!index) return;
  lines_.verbose([&] { return "node " + name + " does not respond"; });
  links_[*index].responding = false;
  links_[*index].reported = false;
  observed_.edit().responding[*index] = false;
}

void Controller::reconcile(NodeIndex index) {
  const auto it = links_.find(index);
  if (it == links_.end() || !it->second.reported || !it->second.manager) return;
  NodeLink& link = it->second;
  std::set<std::tuple<JobKey, Attempt, std::optional<std::uint32_t>>> forgotten;
  std::size_t orders = 0;
  for (const Intent& intent : difference(commit_.durable(), index, link.attempts)) {
    if (++orders > orders_max) break;  // the rest with the next report, which comes when these are carried out
    order(index, link, intent);
    if (const auto* gone = std::get_if<ForgetIntent>(&intent)) forgotten.insert({gone->key, gone->attempt, gone->step});
  }
  if (!forgotten.empty())
    std::erase_if(link.attempts,
                  [&](const AttemptReport& r) { return forgotten.contains({r.key, r.attempt, r.step}); });
  tell_of_lost(index, link);
}

void Controller::order(NodeIndex index, NodeLink& link, const Intent& intent) {
  const std::string& name = commit_.durable().node(index).def->name;
  const auto [key, attempt] = std::visit([](const auto& i) { return std::pair{i.key, i.attempt}; }, intent);
  if (const auto* gone = std::get_if<ForgetIntent>(&intent)) {
    wire::Forget forget;
    forget.set_job_key(key.value);
    forget.set_attempt(attempt.value);
    if (gone->step) forget.set_step(*gone->step);
    return link.manager->forget(name, forget);
  }
  if (std::holds_alternative<LetGoIntent>(intent)) return let_go(index, key, attempt);
  // Orders of different kinds about one attempt are kept apart; to suspend takes back to resume, and the reverse.
  const auto* stops = std::get_if<SuspendIntent>(&intent);
  const std::uint32_t kind = stops ? (stops->suspended ? 2 : 3) : std::holds_alternative<KillIntent>(intent) ? 1 : 0;
  const auto* kills = std::get_if<KillIntent>(&intent);
  const std::int64_t step = kills && kills->step ? static_cast<std::int64_t>(*kills->step) : -1;
  const auto slot = [&](std::uint32_t which) { return std::tuple{key, attempt, step, which}; };
  if (stops) link.ordered.erase(slot(stops->suspended ? 3 : 2));
  if (link.ordered.size() >= ordered_max)  // a node that invents attempts
    std::erase_if(link.ordered,
                  [&](const auto& entry) { return entry.second + settings_.relaunch_after <= loop_.steady(); });
  if (link.ordered.size() >= ordered_max) return;
  Time& last = link.ordered[slot(kind)];
  if (last.is_set() && loop_.steady() < last + settings_.relaunch_after) return;
  last = loop_.steady();
  if (std::holds_alternative<LaunchIntent>(intent)) return launch(index, std::get<LaunchIntent>(intent));
  if (stops) {
    wire::Suspend order;
    order.set_job_key(key.value);
    order.set_attempt(attempt.value);
    order.set_suspended(stops->suspended);
    return link.manager->suspend(name, order);
  }
  wire::Kill kill;
  kill.set_job_key(key.value);
  kill.set_attempt(attempt.value);
  kill.set_why(static_cast<wire::Kill::Why>(kills->why));
  if (kills->step) kill.set_step(*kills->step);
  kill.set_kill_wait_seconds(commit_.durable().policy->kill_wait_seconds);
  link.manager->kill(name, kill);
}

// Unless a step is on its way there that the node has not told of yet.
void Controller::let_go(NodeIndex index, JobKey key, Attempt attempt) {
  if (has_launches_under_way(key, attempt, index)) return;
  auto events = decide_end(commit_.decided(), {key, attempt, index, AttemptEnd::exited, 0, 0, {}, false}, loop_.now());
  if (!events.empty()) commit_.happen(std::move(events));
}

void Controller::launch(NodeIndex index, const LaunchIntent& intent) {
  const Job& job = commit_.durable().job(intent.key);
  wire::LaunchPlan plan = make_launch_plan(commit_.durable(), job, index, settings_.cluster);
  const PayloadId script{job.spec->script}, environment{job.spec->environment};
  payloads_.find(
      script, [this, index, intent, environment, plan = std::move(plan)](Result<std::string> script_bytes) mutable {
        if (!script_bytes) return hooks_.fatal("a job's script is gone from the log: " + script_bytes.error().story);
        plan.set_script(*std::move(script_bytes));
        payloads_.find(environment, [this, index, intent, plan = std::move(plan)](Result<std::string> bytes) mutable {
          if (!bytes) return hooks_.fatal("a job's environment is gone from the log: " + bytes.error().story);
          // Reading may have taken a while: only what is still wanted is sent.
          const Job* job = commit_.durable().find_job(intent.key);
          if (!is_still_to_launch(job, intent.attempt, index)) return;
          plan.set_environment(*std::move(bytes));
          departed_users_.check(job->spec->owner->uid, job->spec->owner->gid,
                                [this, index, intent, plan = std::move(plan)](bool departed) {
                                  send_launch(index, intent, plan, departed);
                                });
        });
      });
}

void Controller::send_launch(NodeIndex index, const LaunchIntent& intent, const wire::LaunchPlan& plan, bool departed) {
  const Job* job = commit_.durable().find_job(intent.key);
  if (!is_still_to_launch(job, intent.attempt, index)) return;
  if (departed) {
    auto cancelled = decide_cancel(commit_.decided(), {intent.key, std::nullopt}, {UserId{0}, true}, loop_.now());
    if (!cancelled || cancelled->empty()) return;
    hooks_.say("job " + std::to_string(job->id.value) + " is cancelled: its user, id " +
               std::to_string(job->spec->owner->uid.value) + ", does not exist any more");
    commit_.happen(*std::move(cancelled));
    return;
  }
  // What is accepted fits (wire/limits.h). If it does not, it never will, and trying again cuts the link each time.
  if (const std::size_t size = plan.ByteSizeLong(); size + envelope_max > agent_frame_max) {
    auto cancelled = decide_cancel(commit_.decided(), {intent.key, std::nullopt}, {UserId{0}, true}, loop_.now());
    if (!cancelled || cancelled->empty()) return;
    complain("job " + std::to_string(job->id.value) + " is cancelled: what its node would be told has " +
             std::to_string(size) + " bytes, more than a message may have");
    commit_.happen(*std::move(cancelled));
    return;
  }
  const Node& node = commit_.durable().node(index);
  links_[index].manager->launch(node.def->name, plan, *job->spec->owner, life_of(node));
}

void Controller::see_to_reboot(NodeIndex index, NodeLink& link) {
  const auto* node = commit_.durable().nodes.find(index);
  if (!node || (*node)->reboot != Reboot::issued || !link.reported || !link.manager) return;
  if (link.told_to_reboot.is_set() && loop_.steady() < link.told_to_reboot + settings_.relaunch_after) return;
  link.told_to_reboot = loop_.steady();
  link.manager->reboot((*node)->def->name);
}

void Controller::note_prologs(NodeIndex index, const std::vector<AttemptReport>& attempts) {
  std::set<JobKey> now;
  for (const AttemptReport& report : attempts)
    if (report.in_prolog && !report.step) now.insert(report.key);
  const auto known = observed_->in_prolog.find(index);
  if (now.empty() && known == observed_->in_prolog.end()) return;
  if (now.empty())
    observed_.edit().in_prolog.erase(index);
  else if (known == observed_->in_prolog.end() || known->second != now)
    observed_.edit().in_prolog[index] = std::move(now);
}

// A node that came by itself (slurmd -Z): it is made as it says it is.
bool Controller::create_unknown(ResourceManager& by, const NodeRegistration& registration) {
  if (const auto known = node_by_name_.find(registration.node); known != node_by_name_.end() || &by != default_manager_)
    return false;
  auto nodes = nodes_from_words(registration.node, registration.configuration);
  const std::string kind = registration.node + " came by itself";
  if (!nodes) return say_often(kind, "node " + kind + " and is wrong: " + nodes.error().story), false;
  auto decision = decide_create_node(commit_.decided(), nodes->front(), Actor{UserId{0}, true}, loop_.now());
  if (!decision) {
    say_often(kind, "node " + kind + " and is refused: " +
                        (decision.error().notes.empty() ? slurm_text(decision.error().code)
                                                        : decision.error().notes.front()));
    return false;
  }
  hooks_.say("node " + kind);
  commit_.happen(*std::move(decision));
  know_nodes();
  return node_by_name_.contains(registration.node);
}

}  // namespace millrace
