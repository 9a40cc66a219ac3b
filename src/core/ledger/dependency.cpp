// src/core/ledger/dependency.cpp - see dependency.h.
#include "core/ledger/dependency.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/ledger/kept_jobs.h"

namespace millrace {
namespace {

DependencyState when(bool fulfilled, bool failed) {
  return fulfilled ? DependencyState::fulfilled : failed ? DependencyState::failed : DependencyState::unfulfilled;
}

DependencyState look_at_array(const ArrayState& array, DependencyKind kind) {
  const std::uint64_t total = array.spec.tasks.size();
  const bool all_ended = array.ended == total;
  const bool one_failed = array.ended_well < array.ended;
  switch (kind) {
    case DependencyKind::after:
      return when(array.started >= total || all_ended, false);
    case DependencyKind::afterany:
      return when(all_ended, false);
    case DependencyKind::afterok:
      return when(all_ended && !one_failed, one_failed);
    case DependencyKind::afternotok:
      return when(all_ended && one_failed, all_ended && !one_failed);
    case DependencyKind::aftercorr:  // of tasks only; the array as a whole never waits for another
    case DependencyKind::singleton:
      break;
  }
  return DependencyState::unfulfilled;
}

DependencyState look_at_job(const Job& job, const Dependency& dependency, Time now) {
  const bool ended = job.state == JobState::ended;
  const bool well = ended && job.outcome == Outcome::completed;
  switch (dependency.kind) {
    case DependencyKind::after: {
      const Time since = job.started_at.is_set() ? job.started_at : job.ended_at;
      return when(since.is_set() && since + minutes(dependency.delay_minutes) <= now, false);
    }
    case DependencyKind::afterany:
      return when(ended, false);
    case DependencyKind::afterok:
    case DependencyKind::aftercorr:
      return when(well, ended && !well);
    case DependencyKind::afternotok:
      return when(ended && !well, well);
    case DependencyKind::singleton:
      break;
  }
  return DependencyState::unfulfilled;
}

// True when no older job of the same user and name is alive.
bool name_is_free(const State& state, const Job& job) {
  const UserId uid = job.spec->owner->uid;
  const std::uint64_t bits = name_bits(job.spec->name);
  const auto first = state.live_names.lower_bound({uid, bits, JobKey{0}});
  if (first == state.live_names.end()) return true;
  const NameKey& oldest = (*first).first;
  return oldest.uid != uid || oldest.name_bits != bits || oldest.key == job.key;
}

// Also where it is only kept for accounting: what became of it does not change any more.
const Job* target_of(const State& state, const Dependency& dependency) {
  if (const Job* job = state.find_job(dependency.target)) return job;
  const KeptJob* kept = find_kept(state, dependency);
  return kept ? kept->job.get() : nullptr;
}

// An array that is forgotten has ended. Its last record knows how; others of it may be gone before.
DependencyState look_at_kept(const KeptJob& kept, const Dependency& dependency, Time now) {
  const bool whole_array = !dependency.task && kept.job->array == dependency.target;
  if (!whole_array) return look_at_job(*kept.job, dependency, now);
  switch (dependency.kind) {
    case DependencyKind::after:
      return look_at_job(*kept.job, dependency, now);
    case DependencyKind::afterany:
      return DependencyState::fulfilled;
    case DependencyKind::afterok:
      return when(kept.array_well, !kept.array_well);
    case DependencyKind::afternotok:
      return when(!kept.array_well, kept.array_well);
    case DependencyKind::aftercorr:
    case DependencyKind::singleton:
      break;
  }
  return DependencyState::unfulfilled;
}

// after:J+minutes gets its own deadline once J has started; J itself may be forgotten before that.
void note_delay(State& state, const Job& job, Dependency& dependency) {
  const Job* target = target_of(state, dependency);
  if (!target || dependency.kind != DependencyKind::after || dependency.delay_minutes == 0 ||
      dependency.due_at.is_set())
    return;
  const Time since = target->started_at.is_set() ? target->started_at : target->ended_at;
  if (!since.is_set()) return;
  dependency.due_at = since + minutes(dependency.delay_minutes);
  state.deadlines.set({dependency.due_at, job.key, DeadlineKind::dependency_delay}, {});
}

}  // namespace

bool dependencies_met(const Job& job) {
  if (!job.dependencies) return true;
  const auto fulfilled = [](const Dependency& d) { return d.state == DependencyState::fulfilled; };
  return job.dependencies->any ? std::ranges::any_of(job.dependencies->list, fulfilled)
                               : std::ranges::all_of(job.dependencies->list, fulfilled);
}

bool dependencies_never(const Job& job) {
  if (!job.dependencies) return false;
  const auto failed = [](const Dependency& d) { return d.state == DependencyState::failed; };
  return job.dependencies->any ? std::ranges::all_of(job.dependencies->list, failed)
                               : std::ranges::any_of(job.dependencies->list, failed);
}

bool correspond(Job& job, std::uint32_t task) {
  const auto waits = [](const Dependency& d) { return d.kind == DependencyKind::aftercorr && !d.task; };
  if (!job.dependencies || std::ranges::none_of(job.dependencies->list, waits)) return false;
  Dependencies after = *job.dependencies;
  for (Dependency& dependency : after.list)
    if (waits(dependency)) dependency.task = task;
  job.dependencies = SharedValue(std::move(after));
  return true;
}

void remember_dependents(State& state, const Job& job) {
  if (dependencies_met(job)) return;
  for (const Dependency& dependency : job.dependencies->list) {
    if (dependency.kind == DependencyKind::singleton) {
      state.singletons.set(job.key, {});
      continue;
    }
    if (state.jobs.contains(dependency.target) || state.arrays.contains(dependency.target))
      state.dependents.set({dependency.target, job.key}, {});
  }
}

void forget_dependents(State& state, const Job& job) {
  state.singletons.erase(job.key);
  if (!job.dependencies) return;
  for (const Dependency& dependency : job.dependencies->list) state.dependents.erase({dependency.target, job.key});
}

void forget_target(State& state, JobKey target) {
  for (auto it = state.dependents.lower_bound({target, JobKey{0}});
       it != state.dependents.end() && (*it).first.target == target;
       it = state.dependents.lower_bound({target, JobKey{0}}))
    state.dependents.erase(DependentKey{(*it).first});
}

DependencyState look_at(const State& state, const Dependency& dependency, Time now) {
  if (dependency.state != DependencyState::unfulfilled) return dependency.state;
  if (dependency.kind == DependencyKind::singleton) return DependencyState::unfulfilled;
  if (dependency.kind == DependencyKind::aftercorr && !dependency.task) return DependencyState::unfulfilled;
  if (dependency.due_at.is_set()) return when(dependency.due_at <= now, false);
  const Job* target = state.find_job(dependency.target);
  if (const ArrayState* array = state.find_array(dependency.target); array && !dependency.task)
    return look_at_array(*array, dependency.kind);
  if (dependency.task) {
    const JobKey* split = state.tasks.find({dependency.target, *dependency.task});
    if (split) return look_at_job(state.job(*split), dependency, now);
    if (const KeptJob* kept = find_kept(state, dependency)) return look_at_kept(*kept, dependency, now);
    // Still in the unsplit rest: it comes to what the rest comes to.
  }
  if (target) return look_at_job(*target, dependency, now);
  const KeptJob* kept = find_kept(state, dependency);
  return kept ? look_at_kept(*kept, dependency, now) : DependencyState::unfulfilled;
}

void follow_leader(State& state, JobKey key) {
  const SharedValue<Job> leader = state.jobs.at(key);
  if (!leader->is_het_leader()) return;
  for (std::uint32_t i = 1; i < leader->het->size; ++i) {
    const Job* seen = state.find_job(JobKey{key.value + i});
    if (!seen || seen->state != JobState::pending) continue;
    Job& component = state.edit_job(seen->key);
    component.begin_at = leader->begin_at;
    component.eligible_at = leader->eligible_at;
    component.dependency_never = leader->dependency_never;
  }
}

void refresh_eligibility(State& state, JobKey key, Time at) {
  const Job& seen = state.job(key);
  if (seen.state != JobState::pending || seen.is_component()) return;
  if (!seen.eligible_at.is_set() && dependencies_met(seen)) {
    if (seen.begin_at > at)
      state.deadlines.set({seen.begin_at, key, DeadlineKind::begin}, {});
    else
      state.edit_job(key).eligible_at = at;
  }
  const Job& job = state.job(key);
  if (is_queueable(job)) state.queue.set(queue_key(state, job), {});
  follow_leader(state, key);
}

namespace {

// What has changed of those it waits for: of this target, or of all.
std::vector<std::pair<std::size_t, Dependency>> changes_of(State& state, const Job& job, std::optional<JobKey> target,
                                                           Time at) {
  std::vector<std::pair<std::size_t, Dependency>> out;
  const std::vector<Dependency>& list = job.dependencies->list;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].state != DependencyState::unfulfilled) continue;
    const bool own_name = list[i].kind == DependencyKind::singleton;
    if (target && (own_name || list[i].target != *target)) continue;
    Dependency now = list[i];
    if (own_name && name_is_free(state, job)) now.state = DependencyState::fulfilled;
    now.state = look_at(state, now, at);
    if (now.state == DependencyState::unfulfilled) note_delay(state, job, now);
    if (!(now == list[i])) out.emplace_back(i, std::move(now));
  }
  return out;
}

// Costs what changed, and a glance at each of its dependencies: thousands may wait for thousands.
void look_again_for(State& state, JobKey key, std::optional<JobKey> target, Time at) {
  const SharedValue<Job> seen = state.jobs.at(key);
  if (seen->state != JobState::pending || !seen->dependencies || dependencies_met(*seen)) return;
  auto changes = changes_of(state, *seen, target, at);
  if (changes.empty()) return;
  Job& job = state.edit_job(key);
  Dependencies& after = job.dependencies.edit();
  for (auto& [place, now] : changes) after.list[place] = std::move(now);
  if (dependencies_met(job)) {
    forget_dependents(state, job);
    refresh_eligibility(state, key, at);
  } else if (dependencies_never(job) && !job.dependency_never) {
    job.dependency_never = true;
    if (job.spec->kill_on_invalid_dependency) state.deadlines.set({at_once, key, DeadlineKind::invalid_dependency}, {});
    follow_leader(state, key);
  }
}

void look_again_at(State& state, JobKey target, Time at) {
  std::vector<JobKey> waiters;  // looking again may change the table
  for (auto it = state.dependents.lower_bound({target, JobKey{0}});
       it != state.dependents.end() && (*it).first.target == target; ++it)
    waiters.push_back((*it).first.waiter);
  for (const JobKey waiter : waiters)
    if (state.jobs.contains(waiter)) look_again_for(state, waiter, target, at);
}

}  // namespace

void look_again(State& state, JobKey key, Time at) { look_again_for(state, key, std::nullopt, at); }

void resolve_dependents(State& state, const Job& target, Time at) {
  look_again_at(state, target.key, at);
  if (target.array.value != 0 && target.array != target.key) look_again_at(state, target.array, at);
}

void resolve_singletons(State& state, UserId uid, std::uint64_t bits, Time at) {
  if (state.singletons.empty()) return;
  for (auto it = state.live_names.lower_bound({uid, bits, JobKey{0}}); it != state.live_names.end(); ++it) {
    const NameKey name = (*it).first;
    if (name.uid != uid || name.name_bits != bits) return;
    if (!state.singletons.contains(name.key)) return;  // an older one that is no singleton still lives
    look_again(state, name.key, at);
    return;
  }
}

}  // namespace millrace
