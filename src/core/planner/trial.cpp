// src/core/planner/trial.cpp - see trial.h.
#include "core/planner/trial.h"

#include <algorithm>

namespace millrace {
namespace {

PlannerSettings watching(PlannerSettings settings, JobKey key) {
  settings.watched = key;
  return settings;
}

}  // namespace

TrialRun::TrialRun(const State& state, PlannerSettings settings, JobKey key, Time now, Memo* memo)
    : whole_(whole_of(state.job(leader_of(state.job(key))))),
      now_(now),
      pass_(state, watching(std::move(settings), leader_of(state.job(key))), now, memo) {}

Trial TrialRun::take() {
  Plan plan = pass_.take();
  const JobKey key = whole_.front();
  for (Proposal& placed : plan.placements)
    if (placed.key == key) {
      for (const Proposal& component : placed.with) add_shares(placed.shares, component.shares);
      return {now_, std::move(placed.shares), placed.partition, true, Reason::none, true};
    }
  Trial trial;
  for (const Finding& finding : plan.findings) {
    if (std::erase(whole_, finding.key) == 0) continue;  // the first counts, of several partitions
    if (finding.key == key)
      trial = {finding.planned_start, {}, finding.partition, false, finding.reason, finding.promised};
    add_shares(trial.shares, finding.planned_shares);
  }
  trial.alone = std::move(plan.alone);
  return trial;
}

Trial try_job(const State& state, PlannerSettings settings, JobKey key, Time now, Memo* memo) {
  TrialRun run(state, std::move(settings), key, now, memo);
  while (!run.advance(INT64_MAX / 2)) {
  }
  return run.take();
}

void Trials::spend(std::int64_t steps) {
  steps_ += steps;
  ran_out_ = ran_out_ || steps_ > steps_most_;
}

void Trials::ask(const State& state, JobKey key, Memo* memo, Then then) {
  // What comes before the first step of a pass: the queue is looked at, and sorted where there is no memo.
  constexpr std::int64_t to_sort = 10;
  spend(static_cast<std::int64_t>(state.queue.size()) * (memo ? 1 : to_sort));
  if (ran_out_) return;
  run_ = std::make_unique<TrialRun>(state, settings_, key, now_, memo);
  then_ = std::move(then);
}

bool Trials::advance(std::int64_t steps) {
  const std::int64_t until = steps_ + steps;
  while (steps_ < until) {
    if (run_) {
      const std::int64_t before = run_->steps();
      const bool over = run_->advance(std::min(until, steps_most_ + 1) - steps_);
      spend(std::max<std::int64_t>(run_->steps() - before, 1));
      if (!over && !ran_out_) continue;
      const std::unique_ptr<TrialRun> done = std::move(run_);
      if (over) std::exchange(then_, nullptr)(done->take());
    } else if (!stages_.empty()) {
      auto stage = std::move(stages_.front());
      stages_.pop_front();
      stage();
    } else {
      return true;
    }
  }
  return false;
}

}  // namespace millrace
