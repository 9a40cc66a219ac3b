// src/controller/views/accounted.cpp - see accounted.h.
#include "controller/views/accounted.h"

#include <set>

#include "base/text.h"
#include "controller/views/step_views.h"
#include "core/admission/job_selection.h"
#include "core/ledger/apply_account.h"
#include "core/ledger/kept_jobs.h"
#include "core/model/request_limits.h"
#include "wire/step_facts.h"

namespace millrace {
namespace {

wire::JobStateName state_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::none:
      return wire::RUNNING;
    case Outcome::completed:
      return wire::COMPLETED;
    case Outcome::failed:
      return wire::FAILED;
    case Outcome::cancelled:
      return wire::CANCELLED;
    case Outcome::timeout:
      return wire::TIMEOUT;
    case Outcome::deadline:
      return wire::CANCELLED;
    case Outcome::node_fail:
      return wire::NODE_FAIL;
    case Outcome::preempted:
      return wire::CANCELLED;
    case Outcome::out_of_memory:
      return wire::OUT_OF_MEMORY;
  }
  return wire::RUNNING;
}

// What died of a signal reads as cancelled in its own row, whatever the job is called for it.
wire::JobStateName state_of(Outcome outcome, std::uint32_t signal) {
  return outcome == Outcome::failed && signal != 0 ? wire::CANCELLED : state_of(outcome);
}

// The script, or the tasks of srun's own job, follow from the job. Whatever the whole came to: what was killed with it
// was cancelled.
void show_own(const State& state, const Job& job, std::uint32_t id, wire::AccountedStep& out) {
  show_step(state, job, {id, nullptr}, *out.mutable_step());
  if (id == batch_step) {
    const NodeShare& share = job.placement->shares.front();
    out.mutable_step()->set_cpus(static_cast<std::uint32_t>(share.cpus.value));
    out.mutable_step()->set_memory_mib(static_cast<std::uint64_t>(share.memory.value));
  }
  if (job.used) *out.mutable_usage() = to_wire(*job.used);
  if (!job.over_at().is_set()) return;
  const bool killed = job.outcome == Outcome::cancelled || job.outcome == Outcome::timeout ||
                      job.outcome == Outcome::preempted || job.outcome == Outcome::none;
  out.mutable_step()->set_state(killed ? wire::CANCELLED : state_of(job.outcome, job.exit_signal));
  out.set_end_at_us(job.over_at().value);
  out.set_exit_code(killed ? 0 : job.exit_code);
  out.set_exit_signal(killed && job.exit_signal == 0 ? 15 : job.exit_signal);
}

void show_known(const State& state, const Job& job, const Step& step, wire::AccountedStep& out) {
  show_step(state, job, {step.start.id, &step}, *out.mutable_step());
  if (step.is_running()) return;
  out.mutable_step()->set_state(state_of(step.end.outcome, step.end.exit_signal));
  out.set_end_at_us(step.end.at.value);
  out.set_exit_code(step.end.exit_code);
  out.set_exit_signal(step.end.exit_signal);
  *out.mutable_usage() = to_wire(step.end.usage);
  if (step.end.outcome == Outcome::cancelled) out.set_cancelled_by(step.end.cancelled_by.value);
}

void show_steps(const State& state, const Job& job, const KeptJob* kept, wire::Accounted& out) {
  if (!job.placement) return;
  const bool own = !job.is_component() && !job.spec->allocation_only;
  if (own) show_own(state, job, job.spec->interactive ? 0 : batch_step, *out.add_steps());
  if (kept && !state.find_job(job.key)) {
    for (const SharedValue<Step>& step : kept->steps) show_known(state, job, *step, *out.add_steps());
  } else {
    for (auto it = state.steps.lower_bound({job.key, job.attempt, 0});
         it != state.steps.end() && (*it).first.job == job.key && (*it).first.attempt == job.attempt; ++it)
      show_known(state, job, *(*it).second, *out.add_steps());
  }
}

bool is_in_time(const wire::QueryJobs& ask, const Job& job) {
  if (job.state == JobState::ended && job.over_at().value < ask.from_us()) return false;
  return ask.until_us() == 0 || job.submitted_at.value <= ask.until_us();
}

bool is_of_asker(const wire::QueryJobs& ask, const Job& job) {
  return !ask.has_uid() || job.spec->owner->uid.value == ask.uid();
}

// Whether a name with these tasks (3, [1-4], +1, or none) means it, its number given.
bool is_named(const Job& job, const IndexSet* rest, std::string_view tasks) {
  if (tasks.empty()) return true;
  if (tasks.starts_with('+')) return job.het && parse_integer(tasks.substr(1)) == std::int64_t{job.het->offset};
  if (tasks.starts_with('[') && tasks.ends_with(']')) tasks = tasks.substr(1, tasks.size() - 2);
  const auto wanted = parse_index_set(tasks, array_index_max);
  if (!wanted || job.array.value == 0) return false;
  if (job.array_task) return wanted->contains(*job.array_task);
  bool any = false;
  if (rest) rest->for_each([&](std::uint32_t task) { any = any || wanted->contains(task); });
  return any;
}

// Those that have this number or belong to it.
std::vector<const Job*> live_named(const State& state, JobId id) {
  const Job* job = state.find_job(id);
  std::vector<const Job*> out;
  if (!job) {
    // Also an array of which the record with its number is forgotten, while others of it are not.
    for (const auto& [key, array] : state.arrays)
      if (array->id == id)
        for (auto it = state.tasks.lower_bound({key, 0}); it != state.tasks.end() && (*it).first.array == key; ++it)
          out.push_back(&state.job((*it).second));
    return out;
  }
  const ArrayState* array = state.find_array(job->array);
  if (array && array->id == id) {
    for (auto it = state.tasks.lower_bound({job->array, 0}); it != state.tasks.end() && (*it).first.array == job->array;
         ++it)
      out.push_back(&state.job((*it).second));
    if (const Job* rest = state.find_job(job->array); rest && rest->is_array_rest()) out.push_back(rest);
    return out;
  }
  if (!job->is_het_leader()) return {job};
  for (const JobKey key : whole_of(*job)) out.push_back(&state.job(key));
  return out;
}

}  // namespace

void show_accounted(const ReadView& snapshot, const Priorities& priorities, const Job& job, const KeptJob* kept,
                    wire::JobView& view) {
  const State& state = snapshot.state;
  show_job(snapshot, priorities, job, false, view, kept);
  wire::Accounted& out = *view.mutable_accounted();
  out.set_key(job.key.value);
  out.set_qos_id(job.qos.value);
  out.set_association(association_of(state, *job.spec).value);
  out.set_requeued(kept && kept->requeued && job.outcome == Outcome::none);
  out.set_started(job.started_at.is_set());
  if (job.outcome == Outcome::cancelled) out.set_cancelled_by(job.cancelled_by.value);
  if (job.suspension && job.started_at.is_set()) {
    const Time until = job.over_at().is_set() ? job.over_at() : snapshot.now;
    out.set_suspended_us(((until - job.started_at) - job.ran_until(until)).value);
  }
  show_steps(state, job, kept, out);
  if (!kept || kept->array.value == 0) return;
  for (wire::AccountedStep& step : *out.mutable_steps()) {
    step.mutable_step()->set_array_job_id(kept->array.value);
    if (job.array_task) step.mutable_step()->set_array_task(*job.array_task);
  }
}

bool is_asked(const State&, const wire::QueryJobs& ask, const Job& job) {
  return is_of_asker(ask, job) && is_in_time(ask, job);
}

bool is_asked(const State& state, const wire::QueryJobs& ask, KeptNumber number, const KeptJob& kept, Time now) {
  if (!is_asked(state, ask, *kept.job) || kept.at + seconds(state.policy->keep_ended_seconds) <= now) return false;
  if (ask.every_run()) return true;
  if (state.by_id.contains(kept.job->id)) return false;
  for (auto it = state.kept_names.lower_bound({kept.job->id, KeptNumber{number.value + 1}});
       it != state.kept_names.end() && (*it).first.id == kept.job->id; ++it)
    if (state.kept.at((*it).first.number)->job->id == kept.job->id) return false;
  return true;
}

bool named_accounted(const ReadView& snapshot, const wire::QueryJobs& ask, wire::Jobs& out) {
  const State& state = snapshot.state;
  const Priorities priorities(state, snapshot.now);
  std::set<std::pair<JobKey, Attempt>> shown;
  std::set<std::pair<std::uint32_t, std::string_view>> names;
  std::uint64_t looked_at = 0;
  for (const wire::JobName& name : ask.jobs()) {
    if (!names.emplace(name.job_id(), name.tasks()).second) continue;
    if (looked_at >= JobSelector::usual_most) return false;
    const std::uint64_t for_each = 1 + name.tasks().size() / 64;
    ++looked_at;
    const JobId id{name.job_id()};
    for (auto it = state.kept_names.lower_bound({id, {}}); it != state.kept_names.end() && (*it).first.id == id; ++it) {
      const KeptJob& kept = *state.kept.at((*it).first.number);
      looked_at += for_each;
      if (!is_named(*kept.job, &kept.rest, name.tasks()) ||
          !is_asked(state, ask, (*it).first.number, kept, snapshot.now))
        continue;
      if (shown.emplace(kept.job->key, kept.job->attempt).second)
        show_accounted(snapshot, priorities, *kept.job, &kept, *out.add_jobs());
    }
    for (const Job* job : live_named(state, id)) {
      const ArrayState* array = state.find_array(job->array);
      looked_at += for_each;
      if (!is_named(*job, array ? &array->rest : nullptr, name.tasks()) || !is_asked(state, ask, *job)) continue;
      if (shown.emplace(job->key, job->attempt).second)
        show_accounted(snapshot, priorities, *job, nullptr, *out.add_jobs());
    }
  }
  return true;
}

}  // namespace millrace
