// src/step/supervisor_facts.cpp - the keeper tells the log what becomes of its steps, and passes on what their user
// wants done with them.
#include <csignal>
#include <ctime>

#include "core/model/step.h"
#include "step/supervisor.h"
#include "wire/step_facts.h"

namespace millrace {
namespace {

constexpr std::int64_t report_patience_us = 1'000'000, death_patience_us = 5'000'000;
constexpr std::uint32_t access_denied = 2002, invalid_job_id = 2017, already_done = 2021;

std::int64_t clock_us(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

// The program's, where the step has no name of its own: that of its job came with the environment.
std::string name_of(const wire::JobDescription& step, const std::string& job_name) {
  if (!step.name().empty() && step.name() != job_name) return step.name();
  return step.command().empty() ? step.name() : step.command().substr(step.command().rfind('/') + 1);
}

}  // namespace

void Supervisor::note_started(std::uint32_t id, const wire::StepRequest& request, const StepPlacement& placement,
                              const wire::LaunchPlan& plan) {
  wire::StepFact& fact = steps_[id].fact;
  fact.set_id(id);
  fact.set_name(id == interactive_step ? "interactive" : name_of(request.ask().step(), plan_.job().name()));
  fact.set_nodes(plan.nodes());
  fact.set_tasks(plan.tasks());
  std::uint32_t cpus = 0;
  for (const std::uint32_t each : plan.cpus_per_node()) cpus += each;
  fact.set_cpus(cpus);
  std::uint64_t memory = 0;
  for (const std::uint64_t each : plan.memory_per_node_mib()) memory += each;
  fact.set_memory_mib(memory);
  fact.set_started_at_us(clock_us(CLOCK_REALTIME));
  fact.set_srun_host(request.ask().step().submit_host());
  fact.set_srun_pid(request.ask().srun_pid());
  fact.set_distribution(request.ask().step().resources().distribution());
  fact.set_time_limit_minutes(step_limit_of(request.ask().step()));
  std::vector<wire::DeviceGrant> devices;
  for (const StepShare& share : placement.shares)
    for (wire::DeviceGrant& grant : grants_of(keeper_->belongings(share.node), share.taking.devices))
      devices.push_back(std::move(grant));
  const wire::StepWishes wishes = shown_wishes(request.ask(), devices);
  if (wishes.ByteSizeLong() > 0) *fact.mutable_wishes() = wishes;
  facts_.add(fact, clock_us(CLOCK_MONOTONIC), request.ask().recorded() ? 0 : FactQueue::gather_us);
}

// On one of its nodes: of the exit codes the highest counts, of the ends the worst.
void Supervisor::note_ended_there(std::uint32_t id, const wire::AttemptStatus& status) {
  const auto found = steps_.find(id);
  if (found == steps_.end()) return;
  wire::StepFact& fact = found->second.fact;
  fact.set_exit_code(std::max(fact.exit_code(), status.exit_code()));
  fact.set_exit_signal(std::max(fact.exit_signal(), status.exit_signal()));
  add_usage(*fact.mutable_usage(), status.usage());
  if (fact.end() == wire::StepFact::CANCELLED || fact.end() == wire::StepFact::TIMED_OUT) return;
  switch (status.end()) {
    case wire::AttemptStatus::LAUNCH_FAILED:
      fact.set_end(wire::StepFact::NOT_LAUNCHED);
      break;
    case wire::AttemptStatus::SUPERVISOR_LOST:
      fact.set_end(wire::StepFact::LOST);
      break;
    case wire::AttemptStatus::OUT_OF_MEMORY:
      fact.set_end(wire::StepFact::OUT_OF_MEMORY);
      break;
    default:
      break;
  }
}

void Supervisor::note_ended(std::uint32_t id) {
  wire::StepFact& fact = steps_.at(id).fact;
  // It may be heard of before the script is gone that was told to end with it.
  if ((left_behind_ || told_to_end_) && fact.exit_signal() != 0 && fact.end() != wire::StepFact::TIMED_OUT)
    fact.set_end(wire::StepFact::CANCELLED);
  fact.set_ended(true);
  fact.set_ended_at_us(clock_us(CLOCK_REALTIME));
  facts_.add(fact, clock_us(CLOCK_MONOTONIC));
}

void Supervisor::tell_facts() {
  auto batch = facts_.next_batch(clock_us(CLOCK_MONOTONIC));
  if (!batch) return;
  wire::StepFromNode message;
  *message.mutable_facts() = *std::move(batch);
  send_from_keeper(std::move(message));
}

// The script may be over before we have heard that its last step is, above all one of other nodes. What does not end by
// itself soon was left behind: it is killed, and its end waited for, so that it is known how it ended.
void Supervisor::finish_after_steps() {
  const std::int64_t now = clock_us(CLOCK_MONOTONIC);
  const std::int64_t time_to_die = static_cast<std::int64_t>(plan_.kill_wait_seconds()) * 1'000'000 + death_patience_us;
  drop_parts();
  if (steps_.empty()) return finish();
  if (finish_at_us_ == 0) {
    left_behind_ = told_to_end_;  // with us they were killed, by their agents
    finish_at_us_ = now + (left_behind_ ? time_to_die : report_patience_us);
  }
  if (now < finish_at_us_) return;
  if (left_behind_) return finish();
  left_behind_ = true;
  finish_at_us_ = now + time_to_die;
  for (const auto& [id, step] : steps_) kill_step(id, plan_.kill_wait_seconds(), wire::Kill::NOT_WANTED);
}

void Supervisor::kill_step(std::uint32_t id, std::uint32_t wait_seconds, wire::Kill::Why why) {
  for (const std::string& node : keeper_->nodes_of(id)) {
    wire::StepFromNode message;
    wire::Kill& kill = *message.mutable_kill();
    kill.set_job_key(plan_.job_key());
    kill.set_attempt(plan_.attempt());
    kill.set_step(id);
    kill.set_why(why);
    kill.set_kill_wait_seconds(wait_seconds);
    send_from_keeper(std::move(message), node);
  }
}

// scancel JOB.STEP: on all nodes of the step, whichever they are.
void Supervisor::hear_step_signal(const wire::StepSignal& order) {
  wire::StepRequest asker;
  asker.set_client(order.client());
  asker.set_number(order.number());
  if (order.uid() != order_.identity().uid() && order.uid() != 0)
    return refuse_step(asker, access_denied, "Access/permission denied");
  const auto found = steps_.find(order.step());
  if (found == steps_.end()) {
    const bool was_there = order.step() < keeper_->next_id();
    return refuse_step(asker, was_there ? already_done : invalid_job_id,
                       was_there ? "Job/step already completing or completed" : "Invalid job id specified");
  }
  const bool ends = order.signal() == 0 || order.signal() == SIGKILL;
  if (ends) {
    found->second.fact.set_end(wire::StepFact::CANCELLED);
    found->second.fact.set_cancelled_by(order.uid());
  }
  if (ends && found->second.prepared) {
    drop_part(order.step());
    try_waiting_steps();
  } else if (ends) {
    kill_step(order.step(), order.signal() == 0 ? plan_.kill_wait_seconds() : 0, wire::Kill::CANCELLED_BY_USER);
  }
  for (const std::string& node : ends ? std::vector<std::string>{} : keeper_->nodes_of(order.step())) {
    wire::StepFromNode message;
    message.mutable_signal()->set_job_key(plan_.job_key());
    message.mutable_signal()->set_attempt(plan_.attempt());
    message.mutable_signal()->set_step(order.step());
    message.mutable_signal()->set_signal(order.signal());
    send_from_keeper(std::move(message), node);
  }
  wire::StepFromNode done;
  done.mutable_reply()->set_client(order.client());
  done.mutable_reply()->set_number(order.number());
  done.mutable_reply()->set_done(true);
  send_from_keeper(std::move(done));
}

}  // namespace millrace
