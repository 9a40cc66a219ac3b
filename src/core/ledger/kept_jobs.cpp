// src/core/ledger/kept_jobs.cpp - see kept_jobs.h.
#include "core/ledger/kept_jobs.h"

#include <algorithm>

#include "core/model/owned_bytes.h"

namespace millrace {
namespace {

constexpr std::size_t bytes_of_row =
    4096;  // a longer record counts as several, so that their number bounds their memory

// Nobody starts it again: only what is shown stays, and of payloads what the site wants to be kept.
SharedValue<JobSpec> shown_part(const JobSpec& from, std::uint32_t stored) {
  JobSpec spec = from;
  spec.command = {};
  if ((stored & store_script) == 0) spec.script = {};
  if ((stored & store_environment) == 0) spec.environment = {};
  spec.submission = {};
  if (spec.rare) {
    RareRequest rare;
    rare.comment = from.rare->comment;
    rare.qos = from.rare->qos;
    rare.std_in = from.rare->std_in;
    rare.std_err = from.rare->std_err;
    rare.container = from.rare->container;
    spec.rare = rare == RareRequest{} ? SharedValue<RareRequest>{} : SharedValue(std::move(rare));
  }
  if (spec.extras) {
    JobExtras extras;
    extras.wckey = from.extras->wckey;
    extras.extra = from.extras->extra;
    extras.admin_comment = from.extras->admin_comment;
    extras.system_comment = from.extras->system_comment;
    extras.derived_exit = from.extras->derived_exit;
    spec.extras = extras == JobExtras{} ? SharedValue<JobExtras>{} : SharedValue(std::move(extras));
  }
  return SharedValue(std::move(spec));
}

// Which CPUs and devices it had is of no interest any more; how many devices is.
SharedValue<Placement> shown_part(const Placement& from) {
  Placement placement = from;
  for (NodeShare& share : placement.shares) {
    if (!share.detail) continue;
    ShareDetail detail;
    detail.gres = share.detail->gres;
    const bool none = std::ranges::all_of(detail.gres, [](std::int64_t count) { return count == 0; });
    share.detail = none ? SharedValue<ShareDetail>{} : SharedValue(detail);
  }
  placement.shares.shrink_to_fit();
  return SharedValue(std::move(placement));
}

Job shown_part(const Job& from, std::uint32_t stored) {
  Job job = from;
  // That of an array is one for all its tasks anyway, but not when they are gone.
  if (job.array.value == 0 || owned_bytes(*from.spec) >= bytes_of_row) job.spec = shown_part(*from.spec, stored);
  if (job.placement) job.placement = shown_part(*from.placement);
  job.dependencies = {};
  job.waited = {};
  job.association = {};
  return job;
}

std::vector<SharedValue<Step>> steps_of(const State& state, JobKey key, Attempt attempt) {
  std::vector<SharedValue<Step>> out;
  for (auto it = state.steps.lower_bound({key, attempt, 0});
       it != state.steps.end() && (*it).first.job == key && (*it).first.attempt == attempt; ++it)
    out.push_back((*it).second);
  out.shrink_to_fit();
  return out;
}

std::vector<JobId> names_of(const KeptJob& kept) {
  std::vector<JobId> out{kept.job->id};
  if (kept.array.value != 0 && kept.array != kept.job->id) out.push_back(kept.array);
  if (kept.job->is_component()) out.push_back(JobId{kept.job->id.value - kept.job->het->offset});
  return out;
}

KeptJob record_of(const State& state, const Job& job, Time at) {
  KeptJob kept{.job = SharedValue(shown_part(job, state.policy->store_flags)), .array = {}, .rest = {}, .at = at};
  if (const ArrayState* array = state.find_array(job.array)) {
    kept.array = array->id;
    kept.array_well = array->ended == array->ended_well;
    if (job.is_array_rest()) kept.rest = array->rest;
  }
  return kept;
}

void add(State& state, KeptJob kept, Time at) {
  drop_kept(state, at, rows_of(kept));
  if (rows_of(kept) > state.policy->keep_ended_rows) return;
  const KeptNumber number = state.next_kept;
  state.next_kept.value += 1;
  index_kept(state, number, kept);
  state.kept.set(number, SharedValue(std::move(kept)));
}

// Its earlier runs have no steps of their own yet.
void give_steps_to_runs(State& state, const Job& job) {
  std::vector<KeptNumber> runs;
  for (auto it = state.kept_names.lower_bound({job.id, {}}); it != state.kept_names.end() && (*it).first.id == job.id;
       ++it)
    if (state.kept.at((*it).first.number)->job->key == job.key) runs.push_back((*it).first.number);
  for (const KeptNumber number : runs) {
    KeptJob& run = state.kept.edit(number)->edit();
    run.steps = steps_of(state, job.key, run.job->attempt);
    state.kept_rows += run.steps.size();
  }
}

}  // namespace

std::uint64_t rows_of(const KeptJob& kept) {
  return 1 + kept.steps.size() + owned_bytes(*kept.job->spec) / bytes_of_row;
}

void index_kept(State& state, KeptNumber number, const KeptJob& kept) {
  state.kept_rows += rows_of(kept);
  for (const JobId id : names_of(kept)) state.kept_names.set({id, number}, {});
}

void drop_kept(State& state, Time at, std::uint64_t coming) {
  const Policy& policy = *state.policy;
  while (!state.kept.empty()) {
    const auto oldest = state.kept.begin();
    const KeptNumber number = (*oldest).first;
    const SharedValue<KeptJob> kept = (*oldest).second;
    const bool over = kept->at + seconds(policy.keep_ended_seconds) <= at;
    if (!over && state.kept_rows + coming <= policy.keep_ended_rows) return;
    state.kept_rows -= rows_of(*kept);
    for (const JobId id : names_of(*kept)) state.kept_names.erase({id, number});
    state.kept.erase(number);
  }
}

void keep_ended(State& state, JobKey key, Time at) {
  if (state.policy->keep_ended_seconds == 0) return drop_kept(state, at);
  const SharedValue<Job> job = state.jobs.at(key);
  if (job->attempt.value > 0) give_steps_to_runs(state, *job);
  KeptJob kept = record_of(state, *job, at);
  kept.steps = steps_of(state, key, job->attempt);
  add(state, std::move(kept), at);
}

void keep_run(State& state, JobKey key, Time at) {
  if (state.policy->keep_ended_seconds == 0) return;
  const Job& job = state.job(key);
  KeptJob kept = record_of(state, job, at);
  kept.requeued = true;
  if (job.state != JobState::ended) {
    Job& run = kept.job.edit();
    run.state = JobState::ended;
    run.ended_at = at;
    if (run.outcome == Outcome::none && run.preempt_due.is_set()) run.outcome = Outcome::preempted;
  }
  add(state, std::move(kept), at);
}

std::vector<const KeptJob*> kept_named(const State& state, JobId id) {
  std::vector<const KeptJob*> out;
  for (auto it = state.kept_names.lower_bound({id, {}}); it != state.kept_names.end() && (*it).first.id == id; ++it)
    out.push_back(state.kept.at((*it).first.number).get());
  return out;
}

const KeptJob* newest_kept(const State& state, JobId id) {
  const KeptJob* out = nullptr;
  for (const KeptJob* kept : kept_named(state, id))
    if (!kept->requeued) out = kept;
  // The number of a heterogeneous job means its leader, whatever came after that one.
  if (out && out->job->is_component() && out->job->id != id)
    for (const KeptJob* kept : kept_named(state, id))
      if (kept->job->key == out->job->het->leader && !kept->requeued) return kept;
  return out;
}

const KeptJob* find_kept(const State& state, const Dependency& dependency) {
  const KeptJob* out = nullptr;
  for (const KeptJob* kept : kept_named(state, dependency.shown)) {
    if (kept->requeued) continue;
    const Job& job = *kept->job;
    if (dependency.task) {
      if (job.array == dependency.target &&
          (job.array_task == dependency.task || (job.is_array_rest() && kept->rest.contains(*dependency.task))))
        out = kept;
    } else if (job.key == dependency.target || job.array == dependency.target) {
      out = kept;
    }
  }
  return out;
}

namespace {

void annotate(Job& job, const RecordAnnotated& e) {
  JobSpec& spec = job.spec.edit();
  if (e.comment) {
    RareRequest rare = spec.rare_request();
    rare.comment = *e.comment;
    spec.rare = SharedValue(std::move(rare));
  }
  JobExtras extras = spec.extra_request();
  if (e.admin_comment) extras.admin_comment = *e.admin_comment;
  if (e.system_comment) extras.system_comment = *e.system_comment;
  if (e.extra) extras.extra = *e.extra;
  if (e.wckey) extras.wckey = *e.wckey;
  if (e.derived_exit) extras.derived_exit = *e.derived_exit;
  spec.extras = extras == JobExtras{} ? SharedValue<JobExtras>{} : SharedValue(std::move(extras));
}

}  // namespace

void annotate_record(State& state, const RecordAnnotated& e) {
  if (const Job* job = state.find_job(e.key); job && job->state == JobState::ended) annotate(state.edit_job(e.key), e);
  std::vector<KeptNumber> numbers;
  for (const auto& [number, kept] : state.kept)
    if (kept->job->key == e.key && !kept->requeued) numbers.push_back(number);
  for (const KeptNumber number : numbers) annotate(state.kept.edit(number)->edit().job.edit(), e);
}

}  // namespace millrace
