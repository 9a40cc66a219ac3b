// src/sim/sim_node_steps.cpp - the tasks of a step on a simulated node: they begin when their srun lets them, and end
// by themselves, killed, or because nobody sees them any more.
#include "sim/sim_node.h"

namespace millrace {

static constexpr Duration step_turn_takes = milliseconds(200);

void SimNode::launch_step(const wire::LaunchPlan& plan) {
  const AttemptName name = name_of(plan);
  MR_ASSERT(!step_spool_.contains(name));
  StepAttempt& step = step_spool_[name];
  step.status.set_job_key(name.job_key);
  step.status.set_attempt(name.attempt);
  step.status.set_step(plan.step());
  step.status.set_state(wire::AttemptStatus::RUNNING_NOW);
  step.secret = plan.job().stdio().secret();
  step.exit_code = static_cast<std::uint32_t>(world_.random.below(3));
  step.work_left = Duration{
      static_cast<std::int64_t>(1 + world_.random.below(world_.random.chance(1, 20) ? 90'000'000 : 6'000'000))};
  step.record = step_runs_.size();
  step_runs_.push_back({name_, name, world_.now(), {}, 0, false});
  step.event = world_.at(world_.now() + step_turn_takes, [this, name] { step_turn(name); });
  if (observer_) observer_->attempt_changed(step.status);
}

void SimNode::step_turn(AttemptName name) {
  StepAttempt& step = step_spool_.at(name);
  step.event = 0;
  const SimSruns::State srun = sruns_.of(step.secret);
  if (srun == SimSruns::State::gone) return kill_step(name);
  if (step.begun && !step.status.suspended()) step.work_left = step.work_left - step_turn_takes;
  step.begun = step.begun || srun == SimSruns::State::ready;
  if (step.work_left <= Duration{0}) return end_step(name, wire::AttemptStatus::EXITED, step.exit_code, 0, true);
  step.event = world_.at(world_.now() + step_turn_takes, [this, name] { step_turn(name); });
}

void SimNode::kill_step(AttemptName name) {
  const auto found = step_spool_.find(name);
  if (found == step_spool_.end() || found->second.status.state() == wire::AttemptStatus::ENDED) return;
  StepAttempt& step = found->second;
  if (std::exchange(step.killed, true)) return;
  step.status.set_suspended(false);
  world_.cancel(step.event);
  step.event = world_.at(world_.now() + Duration{static_cast<std::int64_t>(world_.random.below(2'000'000))},
                         [this, name] { end_step(name, wire::AttemptStatus::EXITED, 0, 15, false); });
}

void SimNode::suspend_step(AttemptName name, bool suspended) {
  const auto found = step_spool_.find(name);
  if (found == step_spool_.end() || found->second.status.state() == wire::AttemptStatus::ENDED) return;
  StepAttempt& step = found->second;
  if (step.killed || step.status.suspended() == suspended) return;
  step.status.set_suspended(suspended);
  if (observer_) observer_->attempt_changed(step.status);
}

void SimNode::end_step(AttemptName name, wire::AttemptStatus::End how, std::uint32_t code, std::uint32_t signal,
                       bool whole) {
  StepAttempt& step = step_spool_.at(name);
  world_.cancel(std::exchange(step.event, 0));
  step.status.set_state(wire::AttemptStatus::ENDED);
  step.status.set_suspended(false);
  step.status.set_end(how);
  step.status.set_exit_code(code);
  step.status.set_exit_signal(signal);
  StepRunRecord& record = step_runs_[step.record];
  record.ended_at = world_.now();
  record.exit_code = code;
  record.whole = whole;
  const wire::AttemptStatus status = step.status;  // the observer may forget it at once
  if (observer_) observer_->attempt_changed(status);
}

// With power nothing of them is left; with the spool nobody answers for them, and they go on for a while.
void SimNode::lose_steps(bool strangers) {
  for (auto& [name, step] : step_spool_) {
    world_.cancel(step.event);
    if (step_runs_[step.record].ended_at.is_set()) continue;
    if (strangers)
      strange_steps_.push_back(step.record);
    else
      step_runs_[step.record].ended_at = world_.now();
  }
  if (!strangers)
    for (const std::size_t record : std::exchange(strange_steps_, {})) step_runs_[record].ended_at = world_.now();
  step_spool_.clear();
}

}  // namespace millrace
