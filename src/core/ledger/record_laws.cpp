// src/core/ledger/record_laws.cpp - see laws.h: what must hold of each record beside jobs and nodes.
#include <algorithm>

#include "core/ledger/apply_reservation.h"
#include "core/ledger/apply_steps.h"
#include "core/ledger/kept_jobs.h"
#include "core/ledger/laws.h"

namespace millrace {

// What it counts is of its own tasks. Whether it is exactly as many takes a look at all of them.
Law check_array(JobKey key, const ArrayState& array) {
  const std::uint64_t tasks = array.spec.tasks.size();
  if (array.records == 0 || array.running > array.records || array.rest.size() > tasks || array.ended > tasks ||
      array.ended_well > array.ended)
    return broken_job("array " + std::to_string(array.id.value) + ": its counts are of other tasks than it has", key);
  return std::nullopt;
}

Law check_trigger(const State& state, TriggerId id, const Trigger& trigger) {
  if (trigger.id == id && id < state.next_trigger) return std::nullopt;
  return broken("trigger " + std::to_string(id.value) + " has another number", {BrokenRecord::Kind::trigger, id.value});
}

// A step runs only while its attempt does, and every number is above those before it.
Law check_step(const State& state, const StepKey& key, const Step& step) {
  const auto wrong = [&](const char* words) {
    return broken_job("step " + std::to_string(key.id) + " of job key " + std::to_string(key.job.value) + ": " + words,
                      key.job);
  };
  const Job* job = state.find_job(key.job);
  const StepTally* tally = state.step_tallies.find(key.job);
  if (!job || !tally) return wrong("its job is gone");
  if (key.id != step.start.id || key.id != step.end.id) return wrong("it lies under another's number");
  if (key.attempt > job->attempt ||
      (key.attempt == tally->attempt && key.id >= tally->next_id && key.id != interactive_step))
    return wrong("a number that was never given out");
  if (tally->ended > ended_steps_max) return wrong("more steps are kept than may be");
  if (state.running_steps.contains(key) != step.is_running())
    return wrong("running, and not in that list (or the reverse)");
  if (step.is_running() && (job->attempt != key.attempt || !job->is_on_nodes()))
    return wrong("it runs, and its attempt does not");
  if (!step.is_running() && step.end.at < step.start.at) return wrong("it ended before it began");
  return std::nullopt;
}

// What is kept is over, hidden from everybody else, and found by its number.
Law check_kept_run(const State& state, KeptNumber number, const KeptJob& kept) {
  const Job& job = *kept.job;
  const auto wrong = [&](const char* words) {
    return broken("kept run of " + of(job) + words, {BrokenRecord::Kind::kept_run, number.value});
  };
  if (!(number < state.next_kept)) return wrong("a number that was never given out");
  if (job.state != JobState::ended || !job.spec || !job.ended_at.is_set()) return wrong("it is not over");
  if (job.outcome == Outcome::none && !kept.requeued) return wrong("ended without an outcome");
  if (const Job* live = state.find_job(job.key); live && (!kept.requeued || !(job.attempt < live->attempt)))
    return wrong("its job is not forgotten");
  if (!state.kept_names.contains({job.id, number})) return wrong("nobody finds it");
  for (const SharedValue<Step>& step : kept.steps)
    if (step->is_running()) return wrong("one of its steps goes on");
  return std::nullopt;
}

Law check_reservation(const State& state, ReservationId id, const Reservation& reservation) {
  const auto wrong = [&](const char* words) {
    return broken("reservation " + reservation.name + ": " + words, {BrokenRecord::Kind::reservation, id.value});
  };
  if (reservation.id != id || !(id < state.next_reservation)) return wrong("it lies under another's number");
  if (!std::ranges::all_of(reservation.nodes,
                           [&](std::uint32_t node) { return state.nodes.contains(NodeIndex{node}); }))
    return wrong("it has a node that is not there");
  if (reservation.partition != unlimited && reservation.partition >= state.partitions->size())
    return wrong("its partition is not there");
  const Time due = reservation_due(reservation);
  if (due != never && !state.deadlines.contains({due, JobKey{id.value}, DeadlineKind::reservation}))
    return wrong("something is to be decided about it, and nothing says when");
  const Reservation* named = state.find_reservation(reservation.name);
  if (!named || named->id != id) return wrong("another has its name");
  return std::nullopt;
}

Law check_association(const State& state, AssociationId id, const Association& association) {
  const BrokenRecord record{BrokenRecord::Kind::association, id.value};
  if (association.id != id || !(id < state.next_association))
    return broken("an association lies under another's number", record);
  const Association* above = &association;
  for (std::size_t steps = 0; above->parent.value != 0; ++steps) {
    above = state.find_association(above->parent);
    if (!above) return broken("an association without its parent", record);
    if (steps > state.associations.size()) return broken("an association is above itself", record);
  }
  const AssociationId* named =
      state.association_names.find({association.account, association.user, association.partition});
  if (!named || *named != id) return broken("two associations of one name", record);
  return std::nullopt;
}

Law check_qos(const State& state, QosId id, const Qos& qos) {
  const auto wrong = [&](const char* words) {
    return broken("QOS " + qos.name + ": " + words, {BrokenRecord::Kind::qos, id.value});
  };
  if (qos.id != id || !(id < state.next_qos)) return wrong("it lies under another's number");
  if (!std::ranges::all_of(qos.preempts, [&](std::uint32_t other) { return state.qos.contains(QosId{other}); }))
    return wrong("it may take nodes from one that is not there");
  const Qos* named = state.find_qos(qos.name);
  if (!named || named->id != id) return wrong("another has its name");
  return std::nullopt;
}

// What it counts is of some association or QOS, and has a time where it grows or fades. Whether it is what their jobs
// hold takes a look at all of them.
Law check_use(const State& state, const UseKey& key, const Use& use) {
  const bool there = key.of == UseOf::association ? state.associations.contains(AssociationId{key.id})
                                                  : state.qos.contains(QosId{key.id});
  if (!there) return broken("something is counted for an association or QOS that is not there");
  if (use.is_nothing()) return broken("a count of nothing was kept");
  if (use.running > use.submitted || std::ranges::any_of(use.tres.amount, [](std::int64_t held) { return held < 0; }))
    return broken("an association or QOS counts more that runs than there is");
  const bool ages = key.of == UseOf::association || key.of == UseOf::qos;
  if (ages && use.as_of.is_set() != (use.running > 0 || use.has_history()))
    return broken("usage without a time, or a time without usage");
  return std::nullopt;
}

}  // namespace millrace
