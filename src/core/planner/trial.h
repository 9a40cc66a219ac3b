// src/core/planner/trial.h - when and where would this job start, as things stand? Asked on a copy; nothing comes of
// it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "core/planner/pass.h"

namespace millrace {

struct Trial {
  Time start;                     // not set: not as long as the nodes, limits and reservations are what they are
  std::vector<NodeShare> shares;  // of a heterogeneous job those of all components
  PartitionIndex partition;
  bool now = false;
  Reason reason{};        // where it does not start now: as squeue shows it
  bool promised = false;  // the start: nobody behind it may delay it
  // Of a heterogeneous job that waits: when each component could start without the others. Not set: never. Empty: not
  // looked at.
  std::vector<std::pair<JobKey, Time>> alone{};
};

// One trial, in slices. The job must be in the state and in its queue (else: nothing is found). Everyone ahead of it is
// planned before it. With a memo, trials of states that differ little cost what they differ.
class TrialRun {
 public:
  TrialRun(const State& state, PlannerSettings settings, JobKey key, Time now, Memo* memo = nullptr);
  // Does about this many steps more; true when it is over.
  bool advance(std::int64_t steps) { return pass_.advance(steps); }
  std::int64_t steps() const { return pass_.steps(); }
  Trial take();

 private:
  std::vector<JobKey> whole_;  // the leader first
  Time now_;
  Pass pass_;
};

Trial try_job(const State& state, PlannerSettings settings, JobKey key, Time now, Memo* memo = nullptr);

// The trials of one question, one after the other: in slices, and all of them within one budget of steps.
class Trials {
 public:
  using Then = std::move_only_function<void(const Trial&)>;
  Trials(PlannerSettings settings, Time now, std::int64_t steps_most)
      : settings_(std::move(settings)), now_(now), steps_most_(steps_most) {}

  // The next trial, where none is under way. `then` may ask for another; it is not called once the budget is used up.
  void ask(const State& state, JobKey key, Memo* memo, Then then);
  // When all is done that was asked before.
  void later(std::move_only_function<void()> stage) { stages_.push_back(std::move(stage)); }
  // Does about this many steps more; true when nothing is left to do.
  bool advance(std::int64_t steps);
  std::int64_t steps() const { return steps_; }
  bool ran_out() const { return ran_out_; }

 private:
  void spend(std::int64_t steps);

  PlannerSettings settings_;
  Time now_;
  std::int64_t steps_most_, steps_ = 0;
  bool ran_out_ = false;
  std::unique_ptr<TrialRun> run_;
  Then then_;
  std::deque<std::move_only_function<void()>> stages_;
};

}  // namespace millrace
