// src/core/ledger/apply_steps.cpp - see apply_steps.h.
#include "core/ledger/apply_steps.h"

#include <algorithm>

namespace millrace {
namespace {

StepTally& edit_tally(State& state, JobKey key) {
  if (!state.step_tallies.contains(key)) state.step_tallies.set(key, {});
  return *state.step_tallies.edit(key);
}

void start(State& state, const StepsReported& e, const StepStart& started, StepTally& tally) {
  MR_ASSERT(started.id >= tally.next_id);
  if (started.id != interactive_step) tally.next_id = started.id + 1;
  Step step{started, {}};
  step.end.id = started.id;
  if (tally.nodes && *tally.nodes == *started.nodes)
    step.start.nodes = tally.nodes;
  else if (started.id != interactive_step)  // its number does not tell when it started
    tally.nodes = started.nodes;
  const StepKey key{e.key, e.attempt, started.id};
  const bool fresh = state.steps.set(key, SharedValue(std::move(step)));
  MR_ASSERT(fresh);
  state.running_steps.set(key, {});
}

// The oldest that has ended makes room; those that run are few.
void drop_oldest(State& state, JobKey job) {
  for (auto it = state.steps.lower_bound({job, {}, 0}); it != state.steps.end() && (*it).first.job == job; ++it) {
    if ((*it).second->is_running()) continue;
    const StepKey oldest = (*it).first;
    state.steps.erase(oldest);
    return;
  }
}

void end(State& state, const StepKey& key, const StepEnd& ended, StepTally& tally) {
  Step& step = state.steps.edit(key)->edit();
  MR_ASSERT(step.is_running());
  MR_ASSERT(ended.outcome != Outcome::none);
  step.end = ended;
  step.end.at = std::max(ended.at, step.start.at);  // the clock may have been set back since
  state.running_steps.erase(key);
  if (tally.ended == ended_steps_max)
    drop_oldest(state, key.job);
  else
    ++tally.ended;
}

}  // namespace

void report_steps(State& state, const StepsReported& e) {
  const Job& job = state.job(e.key);
  MR_ASSERT(job.attempt == e.attempt);
  MR_ASSERT(job.is_on_nodes());
  StepTally& tally = edit_tally(state, e.key);
  if (tally.attempt != e.attempt) tally.next_id = 0;
  tally.attempt = e.attempt;
  for (const StepStart& started : e.started) start(state, e, started, tally);
  for (const StepChange& change : e.changed) {
    Step& step = state.steps.edit({e.key, e.attempt, change.id})->edit();
    MR_ASSERT(step.is_running());
    step.start.time_limit_minutes = change.time_limit_minutes;
  }
  for (const StepEnd& ended : e.ended) end(state, {e.key, e.attempt, ended.id}, ended, tally);
}

void end_steps(State& state, JobKey key, Outcome outcome, Time at) {
  std::vector<StepKey> running;
  for (auto it = state.running_steps.lower_bound({key, {}, 0});
       it != state.running_steps.end() && (*it).first.job == key; ++it)
    running.push_back((*it).first);
  if (running.empty()) return;
  StepTally& tally = edit_tally(state, key);
  for (const StepKey& step : running) {
    StepEnd ended;
    ended.id = step.id;
    ended.outcome = outcome == Outcome::node_fail ? Outcome::node_fail : Outcome::cancelled;
    ended.exit_signal = outcome == Outcome::node_fail ? 0 : 15;
    ended.at = at;
    end(state, step, ended, tally);
  }
}

void forget_steps(State& state, JobKey key) {
  if (!state.step_tallies.erase(key)) return;
  std::vector<StepKey> known;
  for (auto it = state.steps.lower_bound({key, {}, 0}); it != state.steps.end() && (*it).first.job == key; ++it)
    known.push_back((*it).first);
  for (const StepKey& step : known) state.steps.erase(step);
}

const Step* find_step(const State& state, const StepKey& key) {
  const auto* found = state.steps.find(key);
  return found ? found->get() : nullptr;
}

}  // namespace millrace
