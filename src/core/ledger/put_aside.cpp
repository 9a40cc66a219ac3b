// src/core/ledger/put_aside.cpp - see put_aside.h.
#include "core/ledger/put_aside.h"

#include <algorithm>
#include <set>

#include "core/ledger/apply_account.h"
#include "core/ledger/apply_node.h"
#include "core/ledger/apply_standing.h"
#include "core/ledger/dependency.h"
#include "core/ledger/rebuild.h"

namespace millrace {
namespace {

std::vector<JobKey> keys_of(const State& state) {
  std::vector<JobKey> keys;
  for (const auto& [key, job] : state.jobs) keys.push_back(key);
  return keys;
}

void leave_array(State& state, const Job& job) {
  if (job.array.value == 0 || !state.arrays.contains(job.array)) return;
  ArrayState& array = state.edit_array(job.array);
  // Whoever waits for the whole array must not wait for ever.
  if (job.state != JobState::ended) array.ended += job.is_array_rest() ? array.rest.size() : 1;
  if (job.is_array_rest()) array.rest = {};
}

std::set<JobKey> drop_jobs(State& state, const RecordsPutAside& e) {
  std::set<JobKey> gone;
  for (const JobKey key : e.jobs) {
    gone.insert(key);
    if (const Job* job = state.find_job(key))
      for (const JobKey each : whole_of(*job)) gone.insert(each);
  }
  for (const JobKey key : gone) {
    if (const Job* job = state.find_job(key)) leave_array(state, *job);
    state.jobs.erase(key);
    state.step_tallies.erase(key);
  }
  std::vector<StepKey> orphans;
  for (const auto& [key, step] : state.steps)
    if (!state.jobs.contains(key.job)) orphans.push_back(key);
  for (const StepKey& key : orphans) state.steps.erase(key);
  return gone;
}

void drop_crontabs(State& state, const RecordsPutAside& e) {
  for (const UserId uid : e.crontabs) state.crontabs.erase(uid);
  std::vector<std::pair<UserId, Crontab>> shorter;
  for (const auto& [uid, crontab] : state.crontabs) {
    Crontab left = *crontab;
    if (std::erase_if(left.jobs, [&](const CrontabJob& entry) { return !state.jobs.contains(entry.key); }) > 0)
      shorter.emplace_back(uid, std::move(left));
  }
  for (auto& [uid, crontab] : shorter) state.crontabs.set(uid, SharedValue(std::move(crontab)));
  for (const JobKey key : keys_of(state))  // one that has ended is asked when somebody runs it again
    if (state.job(key).state != JobState::ended) recur_only_if_listed(state, key);
}

void drop_orders(State& state, NodeIndex index) {
  if (!state.nodes.contains(index)) return;
  Node& node = state.edit_node(index);
  node.power = NodePower{};
  node.future = false;
  node.resume_at = Time{};
  node.def.edit().active_features.reset();
}

// A job on nodes waits for those that are not up.
void renew_boots(State& state) {
  for (const JobKey key : keys_of(state)) {
    const Job& job = state.job(key);
    bool waits = false;
    for (const JobKey each : whole_of(job)) {
      const Job* one = state.find_job(each);
      if (!one || !one->placement || (one->state != JobState::running && one->state != JobState::suspended)) continue;
      for (const NodeShare& share : one->placement->shares)
        waits = waits || (!share.released && !state.node(share.node).is_ready());
    }
    const bool boots = waits && (job.state == JobState::running || job.state == JobState::suspended);
    if (job.boots != boots) state.edit_job(key).boots = boots;
  }
}

// Returns the jobs that waited for one that is gone.
std::vector<JobKey> settle_dependencies(State& state, const std::set<JobKey>& gone) {
  std::vector<JobKey> waited;
  for (const JobKey key : keys_of(state)) {
    const Job& job = state.job(key);
    if (job.state != JobState::pending || !job.dependencies) continue;
    const auto lost = [&](const Dependency& d) {
      return d.state == DependencyState::unfulfilled && d.kind != DependencyKind::singleton &&
             gone.contains(d.target) && !state.arrays.contains(d.target);
    };
    if (!std::ranges::any_of(job.dependencies->list, lost)) continue;
    waited.push_back(key);
    for (Dependency& d : state.edit_job(key).dependencies.edit().list) {
      if (!lost(d)) continue;
      const bool met = d.kind == DependencyKind::afterany || d.kind == DependencyKind::after;
      d.state = met ? DependencyState::fulfilled : DependencyState::failed;
    }
  }
  return waited;
}

}  // namespace

void put_aside(State& state, const RecordsPutAside& e) {
  const std::set<JobKey> gone = drop_jobs(state, e);
  drop_crontabs(state, e);
  for (const TriggerId id : e.triggers) state.triggers.erase(id);
  for (const KeptNumber number : e.kept_runs) state.kept.erase(number);
  for (const AssociationId id : e.associations) state.associations.erase(id);
  for (const UserId uid : e.run_histories) state.run_histories.erase(uid);
  for (const ReservationId id : e.reservations) state.reservations.erase(id);
  for (const QosId id : e.qos) forget_qos(state, id);
  for (const NodeIndex index : e.nodes) drop_orders(state, index);
  renew_boots(state);
  const std::vector<JobKey> waited = settle_dependencies(state, gone);
  rebuild_all(state, e.at);
  for (const JobKey key : waited) {
    look_again(state, key, e.at);
    refresh_eligibility(state, key, e.at);
    follow_leader(state, leader_of(state.job(key)));
  }
}

}  // namespace millrace
