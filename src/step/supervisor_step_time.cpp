// src/step/supervisor_step_time.cpp - the keeper ends a step whose own time is over, and tells it before if it asked
// for that; nothing else of the job is touched.
#include <ctime>
#include <utility>

#include "step/supervisor.h"

namespace millrace {
namespace {

constexpr std::int64_t minute_us = 60'000'000, second_us = 1'000'000;
constexpr std::int64_t kill_again_after_us = 5 * second_us;  // a controller that was away did not pass the first one on
constexpr std::uint32_t unlimited_minutes = 0xffffffff;
constexpr std::uint32_t access_denied = 2002, invalid_job_id = 2017, already_done = 2021;

std::int64_t monotonic_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * second_us + now.tv_nsec / 1'000;
}

}  // namespace

std::uint32_t step_limit_of(const wire::JobDescription& step) {
  return step.has_time_limit_minutes() && step.time_limit_minutes() != unlimited_minutes ? step.time_limit_minutes()
                                                                                         : 0;
}

void Supervisor::watch_time_of(KeptStep& step, const wire::JobDescription& asked) const {
  step.begun_us = monotonic_us();
  step.limit_minutes = step_limit_of(asked);
  if (asked.step_options().has_signal()) step.warning = asked.step_options().signal();
}

std::int64_t Supervisor::step_time_due_us() const {
  std::int64_t due = INT64_MAX;
  if (suspended_us_ != 0) return due;
  for (const auto& [id, step] : steps_) {
    if (step.prepared) continue;  // its time begins when it does
    if (step.kill_again_us != 0) due = std::min(due, step.kill_again_us);
    if (step.limit_minutes == 0 || step.kill_again_us != 0) continue;
    const std::int64_t over = step.begun_us + step.limit_minutes * minute_us;
    due = std::min(due, over);
    if (step.warning.signal() != 0 && !step.warned) due = std::min(due, over - step.warning.seconds() * second_us);
  }
  return due;
}

void Supervisor::end_steps_in_time(std::int64_t now_us) {
  if (now_us < step_time_due_us()) return;
  for (auto& [id, step] : steps_) {
    if (step.prepared || (step.kill_again_us == 0 && step.limit_minutes == 0)) continue;
    const std::int64_t over = step.begun_us + step.limit_minutes * minute_us;
    if (step.kill_again_us == 0 && now_us < over) {
      if (step.warning.signal() != 0 && now_us >= over - step.warning.seconds() * second_us &&
          !std::exchange(step.warned, true))
        signal_step(id, step.warning.signal(), true);
      continue;
    }
    if (now_us < step.kill_again_us) continue;
    step.kill_again_us = now_us + kill_again_after_us;
    if (step.fact.end() != wire::StepFact::CANCELLED) step.fact.set_end(wire::StepFact::TIMED_OUT);
    kill_step(id, plan_.kill_wait_seconds(), wire::Kill::TIME_LIMIT);
  }
}

void Supervisor::signal_step(std::uint32_t id, std::uint32_t signal, bool before_end) {
  for (const std::string& node : keeper_->nodes_of(id)) {
    wire::StepFromNode message;
    message.mutable_signal()->set_job_key(plan_.job_key());
    message.mutable_signal()->set_attempt(plan_.attempt());
    message.mutable_signal()->set_step(id);
    message.mutable_signal()->set_signal(signal);
    message.mutable_signal()->set_before_end(before_end);
    send_from_keeper(std::move(message), node);
  }
}

void Supervisor::shift_step_times(bool suspended) {
  if (suspended == (suspended_us_ != 0)) return;
  const std::int64_t now = monotonic_us();
  if (!suspended)
    for (auto& [id, step] : steps_) step.begun_us += now - std::max(suspended_us_, step.begun_us);
  suspended_us_ = suspended ? now : 0;
}

// scontrol update StepId=: the limit counts from the start, so a shorter one may be over already. Told to the log as
// the step is told of again.
void Supervisor::hear_step_update(const wire::StepUpdate& update) {
  wire::StepRequest asker;
  asker.set_client(update.client());
  asker.set_number(update.number());
  if (update.uid() != order_.identity().uid() && update.uid() != 0)
    return refuse_step(asker, access_denied, "Access/permission denied");
  const auto found = steps_.find(update.step());
  if (found == steps_.end()) {
    const bool was_there = update.step() < keeper_->next_id();
    return refuse_step(asker, was_there ? already_done : invalid_job_id,
                       was_there ? "Job/step already completing or completed" : "Invalid job id specified");
  }
  KeptStep& step = found->second;
  if (step.kill_again_us != 0) return refuse_step(asker, already_done, "Job/step already completing or completed");
  step.limit_minutes = update.time_limit_minutes() == unlimited_minutes ? 0 : update.time_limit_minutes();
  step.warned = false;
  step.fact.set_time_limit_minutes(step.limit_minutes);
  facts_.add(step.fact, monotonic_us());
  wire::StepFromNode done;
  done.mutable_reply()->set_client(update.client());
  done.mutable_reply()->set_number(update.number());
  done.mutable_reply()->set_done(true);
  send_from_keeper(std::move(done));
}

}  // namespace millrace
