// src/controller/commands.cpp - see commands.h.
#include "controller/commands.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "controller/job_extras.h"
#include "controller/resources.h"
#include "controller/submission.h"
#include "core/admission/modify_job.h"
#include "core/ledger/apply.h"
#include "core/model/request_limits.h"
#include "core/planner/trial.h"
#include "wire/frame.h"

namespace millrace {

wire::Reply Commands::reply() const {
  wire::Reply out;
  out.set_number(request_.number());
  return out;
}

void Commands::refuse_with(RefusalCode code, std::string note) { refuse_with(refuse(code, std::move(note)).error()); }

void Commands::refuse_with(const Refusal& refusal) {
  wire::Reply out = reply();
  put_refusal(refusal, *out.mutable_failure());
  answer(std::move(out));
}

bool Commands::refuses_for_room(const std::vector<Event>& events, std::uint64_t payload_bytes) {
  if (c_.commit_.has_room(events, payload_bytes)) return false;
  refuse_with(RefusalCode::no_room, "the controller's disk has no room for this; try again later");
  return true;
}

bool Commands::happen(std::vector<Event> events, std::uint64_t payload_bytes) {
  return !refuses_for_room(events, payload_bytes) && commit(std::move(events));
}

bool Commands::commit(std::vector<Event> events) {
  if (c_.commit_.happen(std::move(events))) return true;
  refuse_with({RefusalCode::unspecified,
               {"a bug of the controller: this would have left its records in an impossible state, so nothing was "
                "changed; its log says more"}});
  return false;
}

void Commands::answer_when_durable(wire::Reply out) {
  c_.commit_.when_durable(
      [&clients = c_.clients_, client = asker_.client, out = std::move(out)] { clients.reply(client, out); });
}

void Commands::handle() {
  if (const auto refusal = lacking_right(request_, actor_)) return refuse_with(*refusal);
  dispatch();
}

void Commands::dispatch() {
  using B = wire::Request::BodyCase;
  switch (request_.body_case()) {
    case B::kSubmit:
      return submit(request_.submit());
    case B::kCancel:
      return cancel(request_.cancel());
    case B::kUpdateJob:
      return update_job(request_.update_job());
    case B::kHold:
      return hold(request_.hold());
    case B::kRequeue:
      return requeue(request_.requeue());
    case B::kSuspend:
      return suspend(request_.suspend());
    case B::kUpdateNode:
      return update_node(request_.update_node());
    case B::kUpdatePartition:
      return update_partition(request_.update_partition());
    case B::kDeletePartition:
      return delete_partition(request_.delete_partition());
    case B::kIssueToken:
      return issue_token(request_.issue_token());
    case B::kSetDamping:
      return set_damping(request_.set_damping());
    case B::kCreateNodes:
      return create_nodes(request_.create_nodes());
    case B::kDeleteNodes:
      return delete_nodes(request_.delete_nodes());
    case B::kShutdown:
      return shutdown(request_.shutdown());
    case B::kReconfigure:
      return reconfigure();
    case B::kSetLogging:
      return set_logging(request_.set_logging());
    case B::kWaitJob:
      return wait(request_.wait_job());
    case B::kReserve:
      return reserve(request_.reserve());
    case B::kRemoveReservation:
      return remove_reservation(request_.remove_reservation());
    case B::kCreateStep:
      return create_step(request_.create_step());
    case B::kSignalStep:
      return signal_step(request_.signal_step());
    case B::kUpdateStep:
      return update_step(request_.update_step());
    case B::kAttachStep:
      return attach_step(request_.attach_step());
    case B::kSampleSteps:
      return sample_steps(request_.sample_steps());
    case B::kNotifyJob:
      return notify_job(request_.notify_job());
    case B::kTopJobs:
      return top(request_.top_jobs());
    case B::kEndAllocation:
      return end_allocation(request_.end_allocation());
    case B::kSetCrontab:
      return set_crontab(request_.set_crontab());
    case B::kQueryCrontab:
      return query_crontab(request_.query_crontab());
    case B::kSetTrigger:
      return set_trigger(request_.set_trigger());
    case B::kClearTriggers:
      return clear_triggers(request_.clear_triggers());
    case B::kQueryTriggers:
      return query_triggers();
    case B::kChangeAccounts:
      return change_accounts(request_.change_accounts());
    case B::kAnnotateRecord:
      return annotate_record(request_.annotate_record());
    default:
      return refuse_with(RefusalCode::not_supported, "unknown request");
  }
}

// ---- the daemon itself ----

void Commands::shutdown(const wire::Shutdown& ask) {
  if (!actor_.is_admin) return refuse_with({RefusalCode::access_denied, {}});
  wire::Reply out = reply();
  out.mutable_done();
  answer_when_durable(std::move(out));
  c_.commit_.when_durable([&c = c_, agents = ask.agents_too()] {
    if (agents)
      for (ResourceManager* manager : c.managers_) manager->stop_nodes();
    c.hooks_.shutdown(agents);
  });
}

void Commands::reconfigure() {
  if (!actor_.is_admin) return refuse_with({RefusalCode::access_denied, {}});
  if (!c_.hooks_.reconfigure) return refuse_with(RefusalCode::not_supported);
  constexpr std::uint64_t configuration_bytes = 1 << 20;  // of many nodes; asked before anything is read
  if (refuses_for_room({}, configuration_bytes)) return;
  auto fresh = c_.hooks_.reconfigure();
  if (!fresh) return refuse_with(RefusalCode::not_supported, fresh.error().story);
  fresh->facts.at = c_.loop_.now();
  c_.take_settings(fresh->settings);
  c_.configured(fresh->facts);
  for (ResourceManager* manager : c_.managers_) manager->read_configuration();
  c_.readers_.triggers.reconfigured();
  wire::Reply out = reply();
  out.mutable_done();
  answer_when_durable(std::move(out));
}

void Commands::wait(const wire::WaitJob& ask) {
  const State& state = c_.commit_.durable();
  const Job* job = state.find_job(JobId{ask.job_id()});
  if (!job) return refuse_with({RefusalCode::invalid_job_id, {}});
  if (!may_change(*job, actor_)) return refuse_with({RefusalCode::access_denied, {}});
  const ArrayState* array = state.find_array(job->array);
  const JobKey key = array && array->id == job->id ? job->array : job->key;
  c_.readers_.clients.wait_for(key, {asker_.client, request_.number(), ask.until_started(), ask.as_client()});
}

// ---- steps ----

const Job* Commands::job_for_steps(std::uint32_t id, bool as_owner) {
  const Job* job = c_.commit_.durable().find_job(JobId{id});
  if (!job || !job->placement) return refuse_with({RefusalCode::invalid_job_id, {}}), nullptr;
  if (!may_change(*job, actor_)) return refuse_with({RefusalCode::access_denied, {}}), nullptr;
  if (as_owner && !may_act_as_owner(*job, actor_))
    return refuse_with(
               {RefusalCode::access_denied, {"only the owner of a job, root or SlurmUser may run or type in it"}}),
           nullptr;
  if (job->state == JobState::suspended) return refuse_with(RefusalCode::suspended), nullptr;
  if (job->state != JobState::running) return refuse_with(RefusalCode::already_done), nullptr;
  return job;
}

void Commands::create_step(const wire::CreateStep& ask) {
  const Job* job = refuses_sizes(ask.step(), ask.environment(), {}) ? nullptr : job_for_steps(ask.job_id(), true);
  if (!job) return;
  if (ask.component() == 0) return c_.ask_keeper(asker_, request_.number(), *job, ask);
  // Named by the number of the whole, which is its first component's.
  if (!job->is_het_leader())
    return refuse_with(
        {RefusalCode::not_het_job,
         {"job " + std::to_string(ask.job_id()) + " has no component " + std::to_string(ask.component())}});
  if (ask.component() >= job->het->size)
    return refuse_with({RefusalCode::too_many_components,
                        {"--het-group=" + std::to_string(ask.component()) + ": the job has " +
                         std::to_string(job->het->size) + " components, counted from 0"}});
  if (const Job* component = job_for_steps(ask.job_id() + ask.component(), true))
    c_.ask_keeper(asker_, request_.number(), *component, ask);
}

void Commands::end_allocation(const wire::EndAllocation& ask) {
  const Job* job = job_for_steps(ask.job_id());
  if (!job) return;
  if (!job->spec->allocation_only)
    return refuse_with(RefusalCode::not_supported, "the job was not made by salloc; scancel ends it");
  wire::StepToNode message;
  message.set_job_key(job->key.value);
  message.set_attempt(job->attempt.value);
  *message.mutable_end() = ask;
  if (!c_.tell_keeper(*job, message))
    return refuse_with(RefusalCode::nodes_busy, "the first node of the job does not answer; scancel ends it");
  wire::Reply out = reply();
  out.mutable_done();
  answer(std::move(out));
}

}  // namespace millrace
