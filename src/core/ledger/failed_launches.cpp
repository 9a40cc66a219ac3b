// src/core/ledger/failed_launches.cpp - see failed_launches.h.
#include "core/ledger/failed_launches.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr Duration remembered = seconds(3600);
constexpr std::size_t well_runs_max = 4;

bool is_like(const FailedLaunch& failed, const JobSpec& job) {
  return failed.user == job.owner->uid && failed.name == name_bits(job.name);
}

void forget_old(std::vector<FailedLaunch>& failed, Time at) {
  std::erase_if(failed, [&](const FailedLaunch& each) { return each.at + remembered < at; });
}

// One that began before the first failure tells of then only, unless both were started together. A launch that fails
// may take a while elsewhere too.
bool runs_well(const Job& job, const FailedLaunch& failed, Duration patience, Time at) {
  constexpr Duration together = seconds(60);
  return job.state == JobState::running && !job.boots && job.program == JobProgram::none &&
         is_like(failed, *job.spec) && job.started_at + together >= failed.named_at && job.started_at + patience <= at;
}

bool ran_well(const Node& node, const FailedLaunch& failed) {
  return std::ranges::any_of(node.well_runs, [&](const WellRun& run) {
    return run.user == failed.user && run.name == failed.name && run.at >= failed.named_at;
  });
}

// Nodes that nobody has looked at since.
bool has_drained_enough(const State& state, UserId user) {
  std::size_t drained = 0;
  for (const auto& [index, node] : state.nodes)
    drained += node->drain && std::ranges::any_of(node->failed_launches, [&](const FailedLaunch& failed) {
                 return failed.user == user && failed.named >= of_user_failed_max;
               });
  return drained >= drained_for_user_max;
}

}  // namespace

std::vector<FailedLaunch> with_failed_launch(std::vector<FailedLaunch> before, const JobSpec& job, Time at) {
  forget_old(before, at);
  auto of_user = std::ranges::find(before, job.owner->uid, &FailedLaunch::user);
  if (of_user == before.end()) {
    if (before.size() >= users_failed_max) return before;
    of_user = before.insert(before.end(), {job.owner->uid, at, 0, {}, 0});
  }
  if (!job.rare_request().required_nodes.empty()) return before;
  const std::uint64_t name = name_bits(job.name);
  if (of_user->named == 0 || of_user->name != name) {
    of_user->name = name;
    of_user->named = 0;
    of_user->named_at = at;
  }
  ++of_user->named;
  return before;
}

std::vector<WellRun> with_well_run(std::vector<WellRun> before, const JobSpec& job, Time at) {
  const WellRun run{job.owner->uid, name_bits(job.name), at};
  std::erase_if(before, [&](const WellRun& each) { return each.user == run.user && each.name == run.name; });
  before.insert(before.begin(), run);
  if (before.size() > well_runs_max) before.pop_back();
  return before;
}

bool fails_for_all(const State& state, NodeIndex node, UserId user, Time at) {
  std::vector<FailedLaunch> failed = state.node(node).failed_launches;
  forget_old(failed, at);
  if (failed.size() + (std::ranges::find(failed, user, &FailedLaunch::user) == failed.end()) < users_failed_max)
    return false;
  for (const auto& [index, other] : state.nodes)
    if (index != node && other->ran_well_at.is_set() && other->ran_well_at >= failed.front().at) return true;
  return false;
}

bool fails_only_here(const State& state, NodeIndex node, const Job& job, Time at) {
  if (!job.spec->rare_request().required_nodes.empty()) return false;
  const std::vector<FailedLaunch> all = with_failed_launch(state.node(node).failed_launches, *job.spec, at);
  const auto failed = std::ranges::find_if(all, [&](const FailedLaunch& each) { return is_like(each, *job.spec); });
  // Not each time: where all of a user's jobs fail, many come.
  if (failed == all.end() || failed->named == 0 || failed->named % of_user_failed_max != 0) return false;
  if (has_drained_enough(state, failed->user)) return false;
  const Duration took = at - job.started_at;
  const Duration patience = std::max(seconds(3), Duration{3 * took.value});
  for (const auto& [index, other] : state.nodes) {
    if (index == node) continue;
    if (ran_well(*other, *failed)) return true;
    for (const JobKey key : other->jobs)
      if (runs_well(state.job(key), *failed, patience, at)) return true;
  }
  return false;
}

}  // namespace millrace
