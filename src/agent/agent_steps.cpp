// src/agent/agent_steps.cpp - steps on this node: they go with their attempt, and their step manager hears of them.
#include "agent/agent.h"
#include "wire/limits.h"
#include "wire/report_words.h"

namespace millrace {

constexpr std::uint32_t kill_wait_of_steps = 30;
constexpr std::size_t launches_unsent_max = reply_size_max;

// Nothing of it runs any more, whether or not the node is free of it.
static bool is_over(const wire::AttemptStatus& status) {
  return status.state() == wire::AttemptStatus::ENDED || status.exited();
}

std::vector<AttemptName> Agent::live_steps_of(AttemptName attempt) const {
  std::vector<AttemptName> out;
  for (auto it = attempts_.upper_bound(attempt.whole()); it != attempts_.end() && it->first.whole() == attempt.whole();
       ++it)
    if (it->second.state() != wire::AttemptStatus::ENDED) out.push_back(it->first);
  return out;
}

// An attempt has not ended here as long as a step of it lives: what it held is not free.
wire::AttemptStatus Agent::as_reported(AttemptName name, const wire::AttemptStatus& status) const {
  if (name.is_step() || !is_over(status) || live_steps_of(name).empty()) return status;
  wire::AttemptStatus not_yet = status;
  not_yet.set_state(wire::AttemptStatus::RUNNING_NOW);
  not_yet.clear_exited();
  not_yet.clear_end();
  not_yet.clear_exit_code();
  not_yet.clear_exit_signal();
  not_yet.clear_problem();
  not_yet.clear_ended_at_us();
  return not_yet;
}

void Agent::follow_steps(AttemptName name, const wire::AttemptStatus& status) {
  const bool ended = is_over(status);
  if (!name.is_step()) {
    if (!ended) return;
    // The script is over, and with it the job: its steps have KillWait to go.
    for (const AttemptName step : live_steps_of(name)) {
      wire::Kill kill;
      kill.set_job_key(step.job_key);
      kill.set_attempt(step.attempt);
      kill.set_step(static_cast<std::uint32_t>(step.step));
      kill.set_why(wire::Kill::NOT_WANTED);
      kill.set_kill_wait_seconds(kill_wait_of_steps);
      supervisors_.kill(kill);
    }
    return;
  }
  const auto whole = attempts_.find(name.whole());
  if (whole == attempts_.end()) return;  // its step manager is on another node, and hears of it through the controller
  // Nobody is left here to hear of it. A step manager on another node may: the controller tells it, and whoever of them
  // has no more use for it has it forgotten.
  if (is_over(whole->second)) return;
  wire::StepToNode report;
  report.set_job_key(name.job_key);
  report.set_attempt(name.attempt);
  report.mutable_report()->set_node(settings_.node);
  *report.mutable_report()->mutable_status() = status;
  supervisors_.tell_step_manager(report);
}

void Agent::step_manager_said(const wire::StepFromNode& message) {
  const bool here = message.node() == settings_.node;
  if (message.has_launch() && here) {
    const AttemptName name = name_of(message.launch().plan());
    if (!attempts_.contains(name))
      lines_.verbose([&] { return "launch of attempt " + text_of(name) + ", told by its step manager on this node"; });
    if (!attempts_.contains(name)) return supervisors_.launch(message.launch().plan(), message.launch().identity());
    return follow_steps(name_of(message.launch().plan()),
                        attempts_.at(name_of(message.launch().plan())));  // told again: it has not heard of it
  }
  if (message.has_kill() && here) return kill(message.kill());
  if (message.has_signal() && here) return signal(message.signal());
  if (message.has_forget() && here) {
    if (attempts_.contains(name_of(message.forget())))
      loop_.post([this, forget = message.forget()] { this->forget(forget); });
    return;
  }
  // Our link is all jobs'. The step manager gives its launches again.
  if (message.has_launch() && link_ && link_->unsent() != 0 &&
      link_->unsent() + message.ByteSizeLong() > launches_unsent_max)
    return;
  wire::ToController up;
  *up.mutable_step() = message;
  send(std::move(up));
}

void Agent::step_sampled(const wire::StepSample& sample) {
  wire::ToController up;
  *up.mutable_sample() = sample;
  send(std::move(up));
}

// What does not end by SIGKILL hangs in the kernel. The controller hears of it with the reports from then on, and
// drains the node.
void Agent::look_at_killed() {
  const Duration patience = hooks_.unkillable_after ? hooks_.unkillable_after() : Duration{0};
  std::erase_if(dead_by_, [&](const auto& entry) {
    const auto found = attempts_.find(entry.first);
    return found == attempts_.end() || is_over(found->second);
  });
  for (auto& [name, dead_by] : dead_by_) {
    wire::AttemptStatus& status = attempts_.at(name);
    // A prolog has limits of its own.
    if (!dead_by || status.in_prolog() || patience == Duration{0} || loop_.steady() < *dead_by + patience) continue;
    log("attempt " + text_of(name) + ": " + kill_failed + ": its processes do not end");
    dead_by.reset();
    status.set_problem(kill_failed);
    if (hooks_.unkillable) hooks_.unkillable(status);
    report_soon();
  }
}

void Agent::kill(const wire::Kill& kill) {
  if (attempts_.contains(name_of(kill)))
    dead_by_.try_emplace(name_of(kill), loop_.steady() + seconds(kill.kill_wait_seconds()));
  lines_.verbose([&] { return "kill of attempt " + text_of(name_of(kill)); });
  supervisors_.kill(kill);
  if (kill.has_step()) return;
  for (const AttemptName step : live_steps_of(name_of(kill))) {
    wire::Kill one = kill;
    one.set_step(static_cast<std::uint32_t>(step.step));
    dead_by_.try_emplace(step, loop_.steady() + seconds(kill.kill_wait_seconds()));
    supervisors_.kill(one);
  }
}

void Agent::signal(const wire::SignalAttempt& signal) {
  lines_.verbose(
      [&] { return "signal " + std::to_string(signal.signal()) + " to attempt " + text_of(name_of(signal)); });
  supervisors_.signal(signal);
  if (signal.has_step() || signal.batch_only()) return;
  for (const AttemptName step : live_steps_of(name_of(signal))) {
    wire::SignalAttempt one = signal;
    one.set_step(static_cast<std::uint32_t>(step.step));
    supervisors_.signal(one);
  }
}

void Agent::suspend(const wire::Suspend& suspend) {
  lines_.verbose(
      [&] { return (suspend.suspended() ? "suspend attempt " : "resume attempt ") + text_of(name_of(suspend)); });
  supervisors_.suspend(suspend);
  if (suspend.has_step()) return;
  for (const AttemptName step : live_steps_of(name_of(suspend))) {
    wire::Suspend one = suspend;
    one.set_step(static_cast<std::uint32_t>(step.step));
    supervisors_.suspend(one);
  }
}

}  // namespace millrace
