// src/sim/what_if.cpp - see what_if.h.
#include "sim/what_if.h"

#include <algorithm>
#include <map>

#include "base/hostlist.h"
#include "base/text.h"
#include "core/admission/job_selection.h"
#include "core/ledger/apply.h"
#include "core/planner/pass.h"
#include "core/planner/trial.h"

namespace millrace {
namespace {

Result<void> leave_out(State& state, const std::string& hostlist, Time now) {
  MR_TRY(const std::vector<std::string> names, in_context(expand_hostlist(hostlist), "--without-nodes"));
  for (const std::string& name : names) {
    const auto index = state.find_node(name);
    if (!index) return fail(Errc::not_found, "--without-nodes: the cluster has no node '" + name + "'");
    apply(state, NodeStateChanged{*index, NodeOrder::drain, "supposed to leave", UserId{0}, now});
  }
  return {};
}

Result<void> set_weight(State& state, const std::string& name, std::uint32_t weight) {
  struct Row {
    std::string_view name;
    std::uint32_t PriorityPolicy::* member;
  };
  constexpr Row rows[] = {{"age", &PriorityPolicy::age},
                          {"assoc", &PriorityPolicy::assoc},
                          {"fairshare", &PriorityPolicy::fairshare},
                          {"jobsize", &PriorityPolicy::job_size},
                          {"partition", &PriorityPolicy::partition},
                          {"qos", &PriorityPolicy::qos}};
  const auto row = std::ranges::find(rows, std::string_view{name}, &Row::name);
  if (row == std::end(rows))
    return fail(Errc::invalid, "--weight: '" + name + "' is none of age, assoc, fairshare, jobsize, partition, qos");
  if (state.policy->basic_priority)
    return fail(Errc::invalid, "--weight: the cluster has PriorityType=priority/basic, which has no weights");
  state.policy.edit().priority.*row->member = weight;
  return {};
}

Result<void> set_limit(State& state, const std::string& name, std::uint32_t limit_minutes, Time now) {
  const std::size_t line = name.find('_');
  const auto number = parse_integer(std::string_view{name}.substr(0, line));
  if (!number || *number < 1 || *number > UINT32_MAX)
    return fail(Errc::invalid, "--limit: '" + name + "' is not the number of a job");
  const std::string tasks = line == std::string::npos ? "" : name.substr(line + 1);
  const auto selected = select_jobs(state, {JobId{static_cast<std::uint32_t>(*number)}, tasks});
  if (!selected) return fail(Errc::not_found, "--limit: job " + name + ": " + slurm_text(selected.error().code));
  bool any = false;
  for (const SelectedJob& each : *selected) {
    if (state.job(each.key).state == JobState::ended) continue;
    std::vector<Event> events;
    JobModified change;
    change.key = split_if_needed(state, each, now, events);
    change.time_limit_minutes = limit_minutes;
    change.at = now;
    events.emplace_back(change);
    for (const Event& event : events) apply(state, event);
    any = true;
  }
  if (!any) return fail(Errc::invalid, "--limit: job " + name + " has ended");
  return {};
}

Result<JobKey> add_job(State& state, const SubmitJob& ask, Time now) {
  auto decision = decide(state, ask, Actor{ask.spec.owner->uid, ask.spec.owner->uid.value == 0}, now);
  if (!decision) {
    std::string story = "--submit: the job would be refused: " + std::string{slurm_text(decision.error().code)};
    for (const std::string& note : decision.error().notes) story += "; " + note;
    return fail(Errc::refused, story);
  }
  const JobKey key = state.next_key;
  for (const Event& event : decision->events) apply(state, event);
  return key;
}

std::map<JobKey, Time> expected_starts(const State& state, const PlannerSettings& settings, Time now) {
  Pass pass(state, settings, now);
  while (!pass.advance(INT64_MAX / 2)) {
  }
  const Plan plan = pass.take();
  std::map<JobKey, Time> starts;
  const auto note = [&](JobKey key, Time start) {
    if (!start.is_set()) return;
    const auto [at, fresh] = starts.emplace(key, start);
    if (!fresh) at->second = std::min(at->second, start);  // in several partitions, or several tasks
  };
  for (const Proposal& each : plan.placements) {
    note(each.key, now);
    for (const Proposal& component : each.with) note(component.key, now);
  }
  for (const Finding& each : plan.findings) note(each.key, each.planned_start);
  return starts;
}

}  // namespace

Result<Supposed> suppose(const State& state, const Supposition& what, Time now) {
  Supposed out{state, {}};
  if (!what.without_nodes.empty()) MR_TRY_VOID(leave_out(out.state, what.without_nodes, now));
  for (const auto& [name, weight] : what.weights) MR_TRY_VOID(set_weight(out.state, name, weight));
  for (const auto& [job, limit_minutes] : what.limits) MR_TRY_VOID(set_limit(out.state, job, limit_minutes, now));
  if (what.submit) {
    MR_TRY(out.submitted, add_job(out.state, *what.submit, now));
  }
  return out;
}

Consequences compare(const State& before, const Supposed& after, const PlannerSettings& settings, Time now) {
  const std::map<JobKey, Time> old_starts = expected_starts(before, settings, now),
                               new_starts = expected_starts(after.state, settings, now);
  const auto start_in = [](const std::map<JobKey, Time>& starts, JobKey key) {
    const auto found = starts.find(key);
    return found == starts.end() ? Time{} : found->second;
  };
  Consequences out;
  for (const auto& [key, job] : before.jobs) {
    if (job->state != JobState::pending) continue;
    const StartChange change{key, start_in(old_starts, key), start_in(new_starts, key)};
    if (change.before == change.after) {
      ++(change.before.is_set() ? out.same : out.unknown);
      continue;
    }
    out.changed.push_back(change);
    if (!change.after.is_set())
      ++out.no_more;
    else if (!change.before.is_set())
      ++out.possible_now;
    else {
      ++(change.after > change.before ? out.later : out.sooner);
      out.total_change += change.after - change.before;
    }
  }
  std::ranges::stable_sort(out.changed, {},
                           [](const StartChange& each) { return each.after.is_set() ? each.after : never; });
  // It may be beyond the depth of the plan, so it is asked for by name.
  if (after.submitted.value != 0)
    out.submitted = StartChange{after.submitted, Time{}, try_job(after.state, settings, after.submitted, now).start};
  return out;
}

}  // namespace millrace
