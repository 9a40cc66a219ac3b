// src/controller/loop/node_reports.cpp - see node_reports.h.
#include "controller/loop/node_reports.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "controller/loop/config_facts.h"
#include "core/admission/create_node.h"
#include "core/admission/report_node.h"
#include "core/admission/report_steps.h"
#include "wire/report_words.h"

namespace millrace {
namespace {

constexpr Duration tick_every = seconds(1);
constexpr Duration worth_saying = seconds(5);  // of a difference between clocks

// Where its step manager is.
bool is_first_node(const State& state, const AttemptReport& report, NodeIndex node) {
  const Job* job = state.find_job(report.key);
  return job && job->attempt == report.attempt && job->placement && job->placement->shares.front().node == node &&
         !job->placement->shares.front().lost;
}

}  // namespace

bool NodeReports::is_due(Time judged) const {
  const Duration heartbeat = std::clamp(Duration{c_.settings.agent_timeout.value / 5}, seconds(1), seconds(10));
  return !judged.is_set() || c_.loop.steady() >= judged + heartbeat;
}

void NodeReports::registered(ResourceManager& by, const NodeRegistration& registration) {
  const auto index = links_.own(by, registration.node);
  if (!index && registration.dynamic && create_unknown(by, registration)) return registered(by, registration);
  if (!index)
    return c_.lines.say_often(
        registration.node + " ignored",
        "registration of node " + registration.node + " ignored: it is not configured here or not this manager's");
  NodeLink& link = links_.of(*index);
  link.ordered.clear();
  link.reported = true;
  auto events =
      decide_register(c_.commit.decided(),
                      {*index, registration.boot_id, registration.inventory, registration.spool_id}, c_.loop.now());
  const bool known_before = link.responding;
  link.heard_at = c_.loop.steady();
  links_.responds(*index, true);
  if (!events.empty() || !known_before)
    c_.lines.say_often(registration.node + " registered", "node " + registration.node + " registered");
  if (!events.empty()) c_.commit.happen(std::move(events));
  if (!known_before) ready_again_();
  judge_clock(*index, registration.clock);
  take(*index, registration.attempts);
  steps_.tell_again(*index);
}

void NodeReports::reported(ResourceManager& by, const std::string& name, const std::vector<AttemptReport>& attempts,
                           const wire::Telemetry& telemetry) {
  const auto index = links_.own(by, name);
  if (!index) return;
  if (!links_.of(*index).reported) return by.start_again(name);  // it thinks that it is registered, and is not
  c_.lines.log().debug3([&] {
    return "report of node " + name + ": " + std::to_string(attempts.size()) + " attempts" +
           (telemetry.measured_at_us() != 0 ? ", with telemetry" : "");
  });
  if (telemetry.measured_at_us() != 0) {  // not with every report
    links_.edit_observed().telemetry[*index] = telemetry;
    judge_devices(*index, telemetry);
    judge_clock(*index, Time{telemetry.measured_at_us()});
  }
  take(*index, attempts);
}

void NodeReports::judge_devices(NodeIndex index, const wire::Telemetry& telemetry) {
  std::vector<DeviceTrouble> troubles;
  for (const auto& device : telemetry.devices())
    if (!device.trouble().empty())
      troubles.push_back({device.name(), device.type(), device.device(), device.trouble()});
  auto events = decide_devices(c_.commit.decided(), index, std::move(troubles), c_.loop.now());
  NodeLink& link = links_.of(index);
  if (events.empty() || !is_due(link.judged_devices)) return;
  link.judged_devices = c_.loop.steady();
  c_.hooks.say("devices of node " + c_.commit.decided().node(index).def->name + " were judged anew");
  c_.commit.happen(std::move(events));
  ready_again_();
}

static bool says_end(const AttemptReport& report) { return !report.step && (report.ended || report.exited); }

void NodeReports::take(NodeIndex index, const std::vector<AttemptReport>& attempts) {
  NodeLink& link = links_.of(index);
  link.heard_at = c_.loop.steady();
  links_.responds(index, true);
  link.attempts = attempts;
  note_prologs(index, attempts);
  // A first node says nothing new here: what it said of ends is judged again, now that steps here have ended.
  for (const NodeIndex first : judge(index))
    if (const NodeLink* other = links_.find(first); other && std::ranges::any_of(other->attempts, says_end))
      judge(first);
  // Of jobs that are not there nothing is kept: what is to be done about them has been ordered, and is again when the
  // node still tells of them. Those whose end is not durable yet are there.
  const auto* node = c_.commit.durable().nodes.find(index);
  std::erase_if(links_.of(index).attempts, [&](const AttemptReport& report) {
    return !node || !std::ranges::binary_search((*node)->jobs, report.key);
  });
}

std::set<NodeIndex> NodeReports::judge(NodeIndex index) {
  std::set<NodeIndex> firsts;
  for (const AttemptReport& report : std::vector(links_.of(index).attempts)) {
    if (!report.ended && report.problem == kill_failed && !c_.commit.decided().node(index).drain) {
      c_.lines.complain("node " + c_.commit.decided().node(index).def->name + " drained: " + kill_failed +
                        " for job key " + std::to_string(report.key.value));
      c_.commit.happen({NodeStateChanged{index, NodeOrder::drain, kill_failed, UserId{0}, c_.loop.now(), {}, {}}});
    }
    if (report.step && report.ended && report.end == AttemptEnd::node_unfit)
      if (auto unfit = decide_unfit(c_.commit.decided(), index, report.problem, c_.loop.now()); !unfit.empty())
        c_.commit.happen(std::move(unfit));
    if (report.step) {
      steps_.step_reported(index, report);
      const Job* job = c_.commit.durable().find_job(report.key);
      if (report.ended && job && job->placement && job->placement->shares.front().node != index)
        firsts.insert(job->placement->shares.front().node);
      continue;
    }
    if (!report.ended && !report.exited) continue;
    if (const Job* job = c_.commit.decided().find_job(report.key);
        job && job->attempt == report.attempt && orders_.end_steps_elsewhere(*job, index))
      continue;
    // Before the end, which ends whatever of its steps is not known to have ended.
    if (!report.steps.empty() && is_first_node(c_.commit.decided(), report, index))
      if (auto told = decide_steps(c_.commit.decided(), report.key, report.attempt, report.steps, c_.loop.now());
          !told.empty())
        c_.commit.happen(std::move(told));
    const ReportEnd end{report.key,   report.attempt,       index,
                        report.end,   report.exit_code,     report.exit_signal,
                        report.usage, report.epilog_failed, report.problem};
    auto events = report.ended ? decide_end(c_.commit.decided(), end, c_.loop.now())
                               : decide_exit(c_.commit.decided(), end, c_.loop.now());
    if (events.empty()) continue;
    if (!report.problem.empty())
      c_.lines.complain("job key " + std::to_string(report.key.value) + " on " +
                        c_.commit.decided().node(index).def->name + ": " + report.problem);
    c_.commit.happen(std::move(events));
  }
  // Ends above become durable later and reconcile then; what else differs is put right now.
  orders_.reconcile(index);
  return firsts;
}

void NodeReports::unreachable(ResourceManager& by, const std::string& name) {
  const auto index = links_.own(by, name);
  if (!index) return;
  c_.lines.log().verbose([&] { return "node " + name + " does not respond"; });
  links_.of(*index).reported = false;
  links_.responds(*index, false);
}

// One that is ahead cannot be mistaken. One that seems to be behind may only have been heard late: it is asked twice.
void NodeReports::judge_clock(NodeIndex index, Time its_clock) {
  if (!its_clock.is_set()) return;
  NodeLink& link = links_.of(index);
  const Duration ahead = its_clock - c_.loop.now();
  const bool late = ahead < Duration{-worth_saying.value};
  if (late && !std::exchange(link.seemed_late, true)) return;
  link.seemed_late = late;
  auto events = decide_clock(c_.commit.decided(), index, ahead, c_.loop.now());
  if (events.empty() || !is_due(link.judged_clock)) return;
  link.judged_clock = c_.loop.steady();
  const auto& judged = std::get<NodeClockJudged>(events.front());
  c_.lines.complain("node " + c_.commit.decided().node(index).def->name + ": " +
                    (judged.words.empty() ? "its clock is right again" : judged.words));
  c_.commit.happen(std::move(events));
}

void NodeReports::note_prologs(NodeIndex index, const std::vector<AttemptReport>& attempts) {
  std::set<JobKey> now;
  for (const AttemptReport& report : attempts)
    if (report.in_prolog && !report.step) now.insert(report.key);
  const auto known = links_.observed()->in_prolog.find(index);
  if (now.empty() && known == links_.observed()->in_prolog.end()) return;
  if (now.empty())
    links_.edit_observed().in_prolog.erase(index);
  else if (known == links_.observed()->in_prolog.end() || known->second != now)
    links_.edit_observed().in_prolog[index] = std::move(now);
}

bool NodeReports::create_unknown(ResourceManager& by, const NodeRegistration& registration) {
  if (links_.index_of(registration.node) || !links_.is_default(by)) return false;
  auto nodes = nodes_from_words(registration.node, registration.configuration);
  const std::string kind = registration.node + " came by itself";
  if (!nodes) return c_.lines.say_often(kind, "node " + kind + " and is wrong: " + nodes.error().story), false;
  auto decision = decide_create_node(c_.commit.decided(), nodes->front(), Actor{UserId{0}, true}, c_.loop.now());
  if (!decision) {
    c_.lines.say_often(kind, "node " + kind + " and is refused: " +
                                 (decision.error().notes.empty() ? slurm_text(decision.error().code)
                                                                 : decision.error().notes.front()));
    return false;
  }
  c_.hooks.say("node " + kind);
  c_.commit.happen(*std::move(decision));
  links_.know(c_.commit.decided(), c_.loop.steady());
  return links_.index_of(registration.node).has_value();
}

void NodeReports::tick() {
  const Time steady = c_.loop.steady();
  // While the loop was busy it heard nobody: that is no silence of the nodes.
  const Duration away = ticked_at_.is_set() ? steady - ticked_at_ - tick_every : Duration{};
  ticked_at_ = steady;
  for (auto& [index, link] : links_.all()) {
    if (away > tick_every) link.heard_at = std::min(steady, link.heard_at + away);
    std::erase_if(link.ordered,
                  [&](const auto& entry) { return entry.second + c_.settings.relaunch_after * 30 < steady; });
    const auto* node = c_.commit.decided().nodes.find(index);
    const bool counts = node && (*node)->configured && (*node)->is_on() && (*node)->reboot != Reboot::issued &&
                        ((*node)->condition == NodeCondition::up || !(*node)->jobs.empty());
    if (counts && steady - link.heard_at > c_.settings.agent_timeout) {
      c_.lines.complain("node " + (*node)->def->name + " has not responded for " +
                        std::to_string((steady - link.heard_at).value / 1'000'000) + " s: down");
      if (link.manager) link.manager->start_again((*node)->def->name);
      link.reported = false;
      links_.responds(index, false);
      c_.commit.happen(decide_lost(c_.commit.decided(), index, c_.loop.now()));
    }
    orders_.reconcile(index);
    orders_.reboot_where_due(index, link);
  }
  if (auto reboots = decide_reboots(c_.commit.decided(), c_.loop.now()); !reboots.empty())
    c_.commit.happen(std::move(reboots));
}

}  // namespace millrace
