// src/step/step_manager/step_orders.cpp - what users and time want done with running steps.
#include <csignal>

#include "step/step_manager/step_manager.h"

namespace millrace {

// Null: whoever asked was refused.
StepManager::Step* StepManager::find_for(StepAsker asker, std::uint32_t uid, std::uint32_t id) {
  if (uid != identity_.uid() && uid != 0) return messages_.refuse(asker, step_access_denied), nullptr;
  const auto found = steps_.find(id);
  if (found != steps_.end()) return &found->second;
  messages_.refuse(asker, id < allocator_.next_id() ? step_already_over : step_unknown_job);
  return nullptr;
}

void StepManager::kill(std::uint32_t id, std::uint32_t wait_seconds, wire::Kill::Why why) {
  messages_.kill(id, allocator_.nodes_of(id), wait_seconds, why);
}

// scancel JOB.STEP: on all nodes of the step, whichever they are.
void StepManager::hear_signal(const wire::StepSignal& order) {
  const StepAsker asker{order.client(), order.number()};
  Step* step = find_for(asker, order.uid(), order.step());
  if (!step) return;
  const bool ends = order.signal() == 0 || order.signal() == SIGKILL;
  if (ends) {
    step->fact.set_end(wire::StepFact::CANCELLED);
    step->fact.set_cancelled_by(order.uid());
  }
  if (ends && step->prepared) {
    drop_part(order.step());
    try_waiting();
  } else if (ends) {
    kill(order.step(), order.signal() == 0 ? plan_.kill_wait_seconds() : 0, wire::Kill::CANCELLED_BY_USER);
  } else {
    messages_.signal(order.step(), allocator_.nodes_of(order.step()), order.signal(), false);
  }
  messages_.confirm(asker);
}

// scontrol update StepId=. Told to the log as the step is told of again.
void StepManager::hear_update(const wire::StepUpdate& update) {
  const StepAsker asker{update.client(), update.number()};
  Step* step = find_for(asker, update.uid(), update.step());
  if (!step) return;
  if (step->time.is_over()) return messages_.refuse(asker, step_already_over);
  step->time.set_limit(step_limit_of(update));
  step->fact.set_time_limit_minutes(step->time.limit_minutes());
  facts_.add(step->fact, port_.monotonic_us());
  messages_.confirm(asker);
}

// A step whose own time is over is ended, and told before if it asked for that; nothing else of the job is touched.
void StepManager::end_in_time() {
  if (suspended_us_ != 0) return;
  for (auto& [id, step] : steps_) {
    const StepTime::Due due = step.prepared ? StepTime::Due::nothing : step.time.take_due(port_.monotonic_us());
    if (due == StepTime::Due::warning)
      messages_.signal(id, allocator_.nodes_of(id), step.time.warning().signal(), true);
    if (due != StepTime::Due::end) continue;
    if (step.fact.end() != wire::StepFact::CANCELLED) step.fact.set_end(wire::StepFact::TIMED_OUT);
    kill(id, plan_.kill_wait_seconds(), wire::Kill::TIME_LIMIT);
  }
}

}  // namespace millrace
