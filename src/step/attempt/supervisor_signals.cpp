// src/step/attempt/supervisor_signals.cpp - the part of the supervisor that kills, suspends and signals what it runs;
// see supervisor.h.
#include <csignal>
#include <ctime>

#include "step/attempt/note_texts.h"
#include "step/attempt/proc.h"
#include "step/attempt/supervisor.h"

namespace millrace {

namespace {

constexpr std::int64_t requeue_patience_us =
    2'000'000;  // a job that requeues itself hears that it worked before its end

std::int64_t clock_us(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

}  // namespace

void Supervisor::begin_kill(const wire::Kill& kill) {
  if (killing_ || ended_) return;
  // Signals first: nothing that is said about it keeps it waiting.
  begin_kill(kill.kill_wait_seconds(), kill.why() == wire::Kill::REQUEUED ? requeue_patience_us : 0);
  if (plan_.node_position() == 0 && !holds_allocation_)
    write_note(kill_note(plan_, kill.why(), clock_us(CLOCK_REALTIME) / 1'000'000));
}

void Supervisor::end_politely() {
  killing_->term_at_us = 0;
  signal_all(SIGCONT);
  signal_all(SIGTERM);
}

void Supervisor::begin_kill(std::uint32_t wait_seconds, std::int64_t patience_us) {
  if (killing_ || ended_) return;
  log_.verbose([&] { return "told to end; SIGKILL after " + std::to_string(wait_seconds) + " s"; });
  if (step_manager_) step_manager_->close();
  if (holds_allocation_) return finish_after_steps();
  if (std::exchange(awaits_srun_, false)) {  // nothing of it has begun, and nothing will
    streams_.give_up();
    killed_before_start_ = true;
    return finish();
  }
  if (std::exchange(awaits_mpi_, false)) {
    killed_before_start_ = true;
    wait_seconds = 0;
    patience_us = 0;
  }
  suspend(false);
  const std::int64_t term_at = clock_us(CLOCK_MONOTONIC) + patience_us;
  killing_ = Killing{term_at + static_cast<std::int64_t>(wait_seconds) * 1'000'000, term_at, term_at};
  if (patience_us == 0) end_politely();
  if (tasks_.empty()) end_if_nobody_left();  // only those that were to make them ready
}

// Told to the agent at once: what was ordered is done from here on, whether or not the last process has stopped yet.
void Supervisor::suspend(bool suspended) {
  if (ended_ || killing_ || suspended == status_.suspended()) return;
  log_.verbose([&] { return suspended ? "suspended" : "resumed"; });
  if (!holds_allocation_) suspended ? freezer_.freeze(clock_us(CLOCK_MONOTONIC)) : freezer_.thaw();
  status_.set_suspended(suspended);
  if (step_manager_) step_manager_->suspend(suspended);
  tell_agent();
}

void Supervisor::send_signal(const wire::SignalAttempt& signal) {
  const auto number = static_cast<int>(signal.signal());
  if (number <= 0 || number >= NSIG || ended_) return;
  if (signal.before_end() && std::exchange(told_of_end_, true)) return;
  // A plain signal to a batch job is for its steps; the script is meant only when asked for (-b: it alone, -f: all).
  if (signal.full() || plan_.job().interactive() || number == SIGKILL) return signal_all(number);
  if (!signal.batch_only()) return;
  for (const RunningTask& task : tasks_)
    if (!task.wait_status) kill(task.pid, number);
}

// A pid found in /proc could in theory have gone to somebody else before the kill; pids are given out in turn, so that
// takes a full round of the pid space within microseconds.
void Supervisor::signal_all(int number) {
  if (holds_allocation_) return;  // nobody of the job's is here: its steps have supervisors of their own
  log_.debug([&] { return "signal " + std::to_string(number) + " to all processes"; });
  if (number == SIGKILL && tracers_.is_due(clock_us(CLOCK_MONOTONIC))) tracers_.set_free(descendants(getpid()));
  if (number == SIGKILL) isolation_.kill_all();
  for (const pid_t pid : descendants(getpid()))
    if (pid != notes_.writer()) kill(pid, number);
}

}  // namespace millrace
