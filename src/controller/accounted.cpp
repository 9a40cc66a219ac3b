// src/controller/accounted.cpp - see accounted.h.
#include "controller/accounted.h"

#include "controller/step_views.h"
#include "controller/views.h"
#include "wire/step_facts.h"

namespace millrace {
namespace {

wire::JobStateName state_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::none: return wire::RUNNING;
    case Outcome::completed: return wire::COMPLETED;
    case Outcome::failed: return wire::FAILED;
    case Outcome::cancelled: return wire::CANCELLED;
    case Outcome::timeout: return wire::TIMEOUT;
    case Outcome::deadline: return wire::CANCELLED;
    case Outcome::node_fail: return wire::NODE_FAIL;
    case Outcome::preempted: return wire::CANCELLED;
    case Outcome::out_of_memory: return wire::OUT_OF_MEMORY;
  }
  return wire::RUNNING;
}

// The script, or the tasks of srun's own job, follow from the job. Whatever the whole came to: what was killed with it was cancelled.
void show_own(const State& state, const Job& job, std::uint32_t id, wire::AccountedStep& out) {
  show_step(state, job, {id, nullptr}, *out.mutable_step());
  if (id == batch_step) {
    const NodeShare& share = job.placement->shares.front();
    out.mutable_step()->set_cpus(static_cast<std::uint32_t>(share.cpus.value));
    out.mutable_step()->set_memory_mib(static_cast<std::uint64_t>(share.memory.value));
  }
  if (job.used) *out.mutable_usage() = to_wire(*job.used);
  if (job.state != JobState::ended) return;
  const bool killed = job.outcome == Outcome::cancelled || job.outcome == Outcome::timeout || job.outcome == Outcome::preempted;
  out.mutable_step()->set_state(killed ? wire::CANCELLED : state_of(job.outcome));
  out.set_end_at_us(job.ended_at.value);
  out.set_exit_code(killed ? 0 : job.exit_code);
  out.set_exit_signal(killed && job.exit_signal == 0 ? 15 : job.exit_signal);
}

void show_kept(const State& state, const Job& job, const Step& step, wire::AccountedStep& out) {
  show_step(state, job, {step.start.id, &step}, *out.mutable_step());
  if (step.is_running()) return;
  out.mutable_step()->set_state(state_of(step.end.outcome));
  out.set_end_at_us(step.end.at.value);
  out.set_exit_code(step.end.exit_code);
  out.set_exit_signal(step.end.exit_signal);
  *out.mutable_usage() = to_wire(step.end.usage);
  if (step.end.outcome == Outcome::cancelled) out.set_cancelled_by(step.end.cancelled_by.value);
}

}  // namespace

void show_accounted(const State& state, const Job& job, wire::Accounted& out) {
  if (job.outcome == Outcome::cancelled) out.set_cancelled_by(job.cancelled_by.value);
  if (job.suspension && job.started_at.is_set()) {
    const Time until = job.ended_at.is_set() ? job.ended_at : job.suspension->changed_at;
    out.set_suspended_us(((until - job.started_at) - job.ran_until(until)).value);
  }
  if (!job.placement) return;
  const bool own = !job.is_component() && !job.spec->allocation_only;
  if (own) show_own(state, job, job.spec->interactive ? 0 : batch_step, *out.add_steps());
  for (auto it = state.steps.lower_bound({job.key, job.attempt, 0}); it != state.steps.end() && (*it).first.job == job.key && (*it).first.attempt == job.attempt; ++it)
    show_kept(state, job, *(*it).second, *out.add_steps());
}

}  // namespace millrace
