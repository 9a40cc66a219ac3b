// src/core/ledger/job_laws.cpp - see laws.h: what must hold of each job.
#include <algorithm>

#include "core/ledger/dependency.h"
#include "core/ledger/laws.h"

namespace millrace {
namespace {

// Neither it nor any component of it.
bool holds_nothing(const State& state, const Job& job) {
  return std::ranges::all_of(whole_of(job), [&](JobKey key) {
    const Job* each = state.find_job(key);
    const bool counts = each && each->is_on_nodes() && (!each->is_component() || each->placement->supervised);
    return !counts || std::ranges::all_of(each->placement->shares, &NodeShare::released);
  });
}

std::optional<std::string> words_about(const State& state, const Job& job) {
  const JobKey* key = state.by_id.find(job.id);
  if (!key || *key != job.key) return of(job) + "its number leads elsewhere";
  const bool holds = job.is_on_nodes();
  if (state.suspended.contains(job.key) != (job.state == JobState::suspended))
    return of(job) + "suspended, and not in that list (or the reverse)";
  if (job.state == JobState::suspended && (!job.suspension || !job.suspension->cpus_free))
    return of(job) + "suspended with its CPUs";
  if (job.state == JobState::running && !job.holds_cpus()) return of(job) + "runs without CPUs";
  if (state.active.contains(job.key) != holds)
    return of(job) + "running or completing, and not in the active list (or the reverse)";
  if (state.queue.contains(queue_key(state, job)) != is_queueable(job)) return of(job) + "queue membership is wrong";
  if (holds && !job.placement) return of(job) + "runs nowhere";
  if (job.program == JobProgram::prolog && job.state != JobState::running && job.state != JobState::suspended)
    return of(job) + "has a prolog to wait for and is not about to start";
  if (job.program == JobProgram::epilog &&
      (job.state != JobState::completing || !std::ranges::all_of(job.placement->shares, &NodeShare::released)))
    return of(job) + "has an epilog to wait for and is not over";
  if (job.state == JobState::completing && job.program != JobProgram::epilog && !job.is_component() &&
      holds_nothing(state, job))
    return of(job) + "completes and waits for nothing";
  if (job.state == JobState::pending && job.placement) return of(job) + "pending with an allocation";
  const IndexSet& counts = job.spec->resource_request().node_counts;
  if (holds && !counts.empty() && !counts.contains(static_cast<std::uint32_t>(job.placement->shares.size())) &&
      !job.spec->extra_request().no_allocate)
    return of(job) + "has a number of nodes that is not in its list";
  if (job.state == JobState::ended && job.outcome == Outcome::none) return of(job) + "ended without an outcome";
  if (job.state == JobState::ended && job.placement &&
      !std::ranges::all_of(job.placement->shares, &NodeShare::released))
    return of(job) + "ended and still holds a share";
  if (job.placement && std::ranges::any_of(job.placement->shares, &NodeShare::lost)) {
    const auto& shares = job.placement->shares;
    if (std::ranges::any_of(shares,
                            [](const NodeShare& share) { return share.lost && !share.released && !share.given_up; }))
      return of(job) + "holds what it has on a node that it lost";
    if (std::ranges::any_of(shares, [](const NodeShare& share) { return share.given_up && !share.lost; }))
      return of(job) + "counts a node that it gave up";
    if (job.spec->is_batch() && shares.front().lost) return of(job) + "outlived the node of its script";
    if ((job.state == JobState::running || job.state == JobState::suspended) &&
        std::ranges::all_of(shares, [](const NodeShare& share) { return share.released || share.lost; }))
      return of(job) + "goes on without any node";
  }
  if (job.eligible_at.is_set() && !dependencies_met(job)) return of(job) + "eligible before its dependencies are met";
  return std::nullopt;
}

// One task of its array, or the rest of it, and counted as such.
std::optional<std::string> words_about_array(const State& state, const Job& job) {
  if (job.array.value == 0) return std::nullopt;
  const ArrayState* array = state.find_array(job.array);
  if (!array) return of(job) + "its array is unknown";
  if (const Law law = check_array(job.array, *array)) return law->words;
  if (job.is_on_nodes() && array->running == 0) return of(job) + "runs, and its array has no task that does";
  if (job.is_array_rest()) {
    if (job.key != job.array) return of(job) + "the rest of an array under another's key";
    return std::nullopt;
  }
  if (array->rest.contains(*job.array_task)) return of(job) + "a task that is in the rest of its array too";
  const JobKey* task = state.tasks.find({job.array, *job.array_task});
  if (!task || *task != job.key) return of(job) + "the number of its task leads elsewhere";
  return std::nullopt;
}

// Its place among the components.
std::optional<std::string> words_about_role(const State& state, const Job& job) {
  if (!job.het) return std::nullopt;
  const HetRole& role = *job.het;
  if (role.leader.value + role.offset != job.key.value || role.offset >= role.size)
    return of(job) + "a component out of its place";
  const Job* leader = state.find_job(role.leader);
  if (!leader || !leader->het || leader->het->size != role.size) return of(job) + "a component without its leader";
  if (leader->id.value + role.offset != job.id.value)
    return of(job) + "the numbers of its components are not consecutive";
  return std::nullopt;
}

// What it has to do with its leader.
std::optional<std::string> words_about_component(const Job& leader, const Job& job) {
  if ((leader.state == JobState::pending) != (job.state == JobState::pending))
    return of(job) + "waits while another of its components does not";
  if (job.state == JobState::pending &&
      (leader.attempt != job.attempt || leader.hold != job.hold || leader.eligible_at != job.eligible_at))
    return of(job) + "its components do not wait for the same";
  if (leader.state == JobState::ended && job.state != JobState::ended) return of(job) + "outlives its leader";
  if (leader.state == JobState::completing && job.state == JobState::running)
    return of(job) + "goes on while its leader stops";
  const bool over = job.placement && std::ranges::all_of(job.placement->shares, &NodeShare::released);
  if (job.is_component() && job.is_on_nodes() && job.placement->supervised && over &&
      leader.state != JobState::completing)
    return of(job) + "nothing of it is left, and it goes on";
  if (job.is_component() && job.state == JobState::completing && leader.state != JobState::completing &&
      !job.placement->stops_alone)
    return of(job) + "stops, and its leader does not";
  return std::nullopt;
}

bool recurs(const Job& job) { return !job.spec->extra_request().cron.empty(); }

}  // namespace

std::string of(const Job& job) { return "job " + std::to_string(job.id.value) + ": "; }

Law broken_job(std::string words, JobKey key) { return broken(std::move(words), {BrokenRecord::Kind::job, key.value}); }

Law check_job(const State& state, JobKey key, const Job& job) {
  if (key != job.key) return broken_job("a job lies under another's key", key);
  for (const auto check : {words_about, words_about_array, words_about_role})
    if (auto words = check(state, job)) return broken_job(*std::move(words), key);
  return std::nullopt;
}

// Components wait together and run together; none outlives the leader, and all are known as long as one is.
Law check_whole(const State& state, const Job& leader) {
  if (!leader.is_het_leader()) return std::nullopt;
  Time started;
  for (const JobKey key : whole_of(leader)) {
    const Job* job = state.find_job(key);
    if (!job) return broken_job(of(leader) + "one of its components is gone", leader.key);
    if (auto words = words_about_component(leader, *job)) return broken_job(*std::move(words), key);
    if (job->state != JobState::running) continue;
    if (started.is_set() && job->started_at != started)
      return broken_job(of(*job) + "its components did not start together", key);
    started = job->started_at;
  }
  return std::nullopt;
}

Law check_boot(const State& state, const Job& job) {
  bool waits = false;
  for (const JobKey each : whole_of(job)) {
    const Job* one = state.find_job(each);
    if (!one || !one->placement || (one->state != JobState::running && one->state != JobState::suspended)) continue;
    for (const NodeShare& share : one->placement->shares)
      waits = waits || (!share.released && !state.node(share.node).is_ready());
  }
  const bool may = job.state == JobState::running || job.state == JobState::suspended;
  if (job.boots == (may && waits)) return std::nullopt;
  return broken_job(
      of(job) + (job.boots ? "waits for nodes that are powered up" : "goes on while its nodes are not powered up"),
      job.key);
}

Law check_recurring(const State& state, const Job& job) {
  if (job.state == JobState::ended || !recurs(job)) return std::nullopt;
  const auto* crontab = state.crontabs.find(job.spec->owner->uid);
  if (crontab && std::ranges::find((*crontab)->jobs, job.key, &CrontabJob::key) != (*crontab)->jobs.end())
    return std::nullopt;
  return broken_job(of(job) + "it recurs, and no crontab lists it", job.key);
}

// An entry of a crontab has one job, which is the user's own and recurs.
Law check_crontab(const State& state, UserId uid, const Crontab& crontab) {
  const auto wrong = [&](const std::string& words) {
    return broken("the crontab of user " + std::to_string(uid.value) + ": " + words,
                  {BrokenRecord::Kind::crontab, uid.value});
  };
  if (crontab.text.empty()) return wrong("it is empty");
  std::set<JobKey> listed;
  for (const CrontabJob& entry : crontab.jobs) {
    const Job* job = state.find_job(entry.key);
    if (!job || !recurs(*job) || job->spec->owner->uid != uid) return wrong("it lists a job that is none of its own");
    if (!listed.insert(entry.key).second) return wrong("it lists a job twice");
  }
  return std::nullopt;
}

}  // namespace millrace
