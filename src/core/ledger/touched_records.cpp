// src/core/ledger/touched_records.cpp - see touched_records.h.
#include "core/ledger/touched_records.h"

#include <algorithm>

#include "core/ledger/apply_account.h"

namespace millrace {
namespace {

// The jobs that a fact is about, or is about as long as the state is as it is.
template <class E, class Touch>
void each_job(const State& state, const E& e, Touch touch) {
  if constexpr (requires { JobKey{e.key}; }) touch(e.key);
  if constexpr (requires { e.components; })
    for (const auto& component : e.components) touch(component.key);
  if constexpr (std::is_same_v<E, ArrayTaskSplit>) touch(e.array);
  if constexpr (std::is_same_v<E, CrontabSet>) {
    for (const JobSubmitted& job : e.submitted) touch(job.key);
    if (const auto* crontab = state.crontabs.find(e.uid))
      for (const CrontabJob& entry : (*crontab)->jobs) touch(entry.key);
  }
  // Jobs that waited for it to be powered up or to reboot may begin.
  if constexpr (std::is_same_v<E, NodeRegistered>)
    if (const auto* node = state.nodes.find(e.node); node && !(*node)->is_ready())
      for (const JobKey key : (*node)->jobs) touch(key);
  if constexpr (std::is_same_v<E, TimeSliceTurned>) {
    for (const JobKey key : e.suspended) touch(key);
    for (const JobKey key : e.resumed) touch(key);
  }
}

// The other records that a fact names.
template <class E>
void touch_named(const E& e, TouchedRecords& touched) {
  if constexpr (requires { NodeIndex{e.node}; }) touched.nodes.insert(e.node);
  if constexpr (std::is_same_v<E, NodesPowered>) touched.nodes.insert(e.nodes.begin(), e.nodes.end());
  if constexpr (std::is_same_v<E, CrontabSet>) touched.crontabs.insert(e.uid);
  if constexpr (std::is_same_v<E, TriggerSet>) touched.triggers.insert(e.trigger.id);
  if constexpr (std::is_same_v<E, ReservationSet>) touched.reservations.insert(e.reservation.id);
  if constexpr (std::is_same_v<E, AssociationChanged>) touched.associations.insert(e.association.id);
  if constexpr (std::is_same_v<E, QosChanged>) touched.qos.insert(e.qos.id);
  if constexpr (std::is_same_v<E, StepsReported>) {
    for (const StepStart& step : e.started) touched.steps.insert({e.key, e.attempt, step.id});
    for (const StepEnd& step : e.ended) touched.steps.insert({e.key, e.attempt, step.id});
  }
}

}  // namespace

RecordToucher::Held RecordToucher::held_by(const Job& job) {
  Held out;
  if (!job.is_on_nodes() || !job.placement) return out;
  const auto& shares = job.placement->shares;
  out.shares = shares.size() - static_cast<std::size_t>(std::ranges::count_if(shares, &NodeShare::released));
  out.cpus = job.holds_cpus();
  out.suspended = job.state == JobState::suspended;
  return out;
}

void RecordToucher::touch(const State& state, JobKey key) {
  const Job* job = state.find_job(key);
  if (!job) return void(touched_.jobs.insert(key));
  touched_.jobs.insert(key);
  if (job->state == JobState::ended) return;
  for (const UseKey& use : holders_of(state, *job)) touched_.uses.insert(use);
}

void RecordToucher::about_to_happen(const State& before, const Event& event) {
  if (next_kept_ == KeptNumber{}) next_kept_ = before.next_kept;
  held_.clear();
  std::visit(
      [&](const auto& e) {
        each_job(before, e, [&](JobKey named) {
          const Job* found = before.find_job(named);
          if (!found) return;
          for (const JobKey key : whole_of(*found)) {  // components share what happens to one of them
            touch(before, key);
            if (const Job* job = before.find_job(key)) held_.emplace(key, held_by(*job));
          }
        });
      },
      event);
}

// A fact of one node changes that node alone, and one of many nodes that are changed by every fact would have to be
// looked at as often as it has nodes. Where more has changed, all of them.
void RecordToucher::touch_nodes(const State& after, JobKey key, bool names_node) {
  const Job* job = after.find_job(key);
  if (!job || !job->placement) return;
  const auto found = held_.find(key);
  const Held was = found == held_.end() ? Held{} : found->second;
  Held now = held_by(*job);
  if (was == now) return;
  touched_.moved.insert(key);
  if (names_node && was.shares == now.shares + 1 && now.shares > 0 && was.cpus == now.cpus &&
      was.suspended == now.suspended)
    return;
  for (const NodeShare& share : job->placement->shares) touched_.nodes.insert(share.node);
}

void RecordToucher::happened(const State& after, const Event& event) {
  std::visit(
      [&](const auto& e) {
        constexpr bool names_node = requires { NodeIndex{e.node}; };
        each_job(after, e, [&](JobKey named) {
          const Job* found = after.find_job(named);
          if (!found) return;
          for (const JobKey key : whole_of(*found)) {
            touch(after, key);
            held_.try_emplace(key);
          }
        });
        for (const auto& [key, held] : held_) touch_nodes(after, key, names_node);
        touch_named(e, touched_);
      },
      event);
  for (; next_kept_ < after.next_kept; next_kept_.value += 1) touched_.kept_runs.insert(next_kept_);
}

}  // namespace millrace
