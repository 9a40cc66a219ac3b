// src/controller/readers/signal_reader.cpp - see signal_reader.h.
#include "controller/readers/signal_reader.h"

#include <algorithm>

#include "agent.pb.h"

namespace millrace {

void SignalReader::recovered(const State& state) {
  due_.look_at_all(state);
  arm();
}

void SignalReader::advanced(const Advance& step) {
  for (const JobKey key : step.changes.jobs) due_.look_at(step.now, key);
  arm();
}

void SignalReader::clock_set(Duration) {
  for (const auto& [key, nothing] : c_.commit.decided().active) due_.look_at(c_.commit.decided(), key);
  arm();
}

void SignalReader::arm() {
  const Time next = due_.next();
  if (next == armed_) return;
  if (timer_ != 0) c_.loop.cancel(timer_);
  timer_ = 0;
  armed_ = next;
  if (next == never) return;
  const Duration wait{std::clamp<std::int64_t>((next - c_.loop.now()).value, 0, seconds(60).value)};
  timer_ = c_.loop.after(wait, [this] {
    timer_ = 0;
    armed_ = never;
    send_due();
    arm();
  });
}

void SignalReader::send_due() {
  for (const DueSignals::Due& due : due_.take(c_.loop.now())) {
    const Job* job = c_.commit.durable().find_job(due.key);
    if (!job || job->state != JobState::running) continue;
    if (job->is_component() && due.signal.batch_only()) continue;  // the script is the leader's
    wire::SignalAttempt signal;
    signal.set_job_key(job->key.value);
    signal.set_attempt(job->attempt.value);
    signal.set_signal(due.signal.signal());
    signal.set_batch_only(due.signal.batch_only());
    signal.set_before_end(true);
    if (!signal_nodes_(*job, signal)) due_.put_off(c_.commit.durable(), due.key, c_.loop.now() + seconds(5));
  }
}

}  // namespace millrace
