// src/controller/commands.h - one request of a person that changes something: decided, made durable, answered.
#pragma once

#include <memory>

#include "controller/controller.h"
#include "controller/refusals.h"
#include "controller/rights.h"
#include "core/admission/job_selection.h"
#include "core/model/account_change.h"

namespace millrace {

class Commands final {
 public:
  Commands(Controller& controller, const Asker& asker, const wire::Request& request)
      : c_(controller),
        asker_(asker),
        request_(request),
        actor_(controller.actor_of(asker, rank_needed(request.body_case()) < Rank::administers)) {}
  void handle();

 private:
  // May be called later, in another turn of the loop: it keeps what it needs by value and takes the rest from `self`.
  using Decide = std::function<Decision(const Commands& self, const State&, const SelectedJob&)>;
  struct ChangeRun;
  static constexpr std::uint64_t looked_at_usual_max = 1'000'000;  // by the names of a request; see JobSelector

  void dispatch();
  void annotate_record(const wire::AnnotateRecord& ask);  // account_commands.cpp
  void submit(const wire::SubmitJob& ask);
  void try_submission(std::vector<Event> events, wire::Reply out);
  void each_live_job(const std::string& name, const std::function<void(const Job&)>& look) const;
  void cancel(const wire::CancelJobs& ask);
  void signal_jobs(const wire::CancelJobs& ask, const std::vector<JobName>& names, std::uint64_t looked_at_max);
  void change_jobs(std::vector<JobName> names, Decide decide, std::uint64_t looked_at_max = looked_at_usual_max);
  static bool go_on(Controller& controller, ChangeRun& run);
  struct SignalRun;
  static bool go_on_signalling(Controller& controller, SignalRun& run);
  void signal_job(SignalRun& run, const JobName& name) const;
  void update_job(const wire::UpdateJob& ask);
  bool refuses_longer_comment(const wire::UpdateJob& ask);
  void update_node(const wire::UpdateNode& ask);
  void create_nodes(const wire::CreateNodes& ask);
  void delete_nodes(const wire::DeleteNodes& ask);
  void update_partition(const wire::UpdatePartition& ask);  // these three: partition_commands.cpp
  void delete_partition(const wire::DeletePartition& ask);
  void set_damping(const wire::SetDamping& ask);
  void issue_token(const wire::IssueToken& ask);  // token_command.cpp
  void set_logging(const wire::SetLogging& ask);  // logging_command.cpp
  void commit_and_answer(Decision decision);
  // The facts of this request happen, if the log has room for them and for `payload_bytes`; else it is refused.
  [[nodiscard]] bool happen(std::vector<Event> events, std::uint64_t payload_bytes = 0);
  bool refuses_for_room(const std::vector<Event>& events, std::uint64_t payload_bytes);  // true: it has been told
  [[nodiscard]] bool commit(std::vector<Event> events);  // false: they would break a law, and it has been told
  void hold(const wire::HoldJobs& ask);
  void requeue(const wire::RequeueJobs& ask);
  void suspend(const wire::SuspendJobs& ask);
  void top(const wire::TopJobs& ask);
  void shutdown(const wire::Shutdown& ask);
  void reconfigure();
  void wait(const wire::WaitJob& ask);
  // Null: refused. `as_owner`: something will run or be typed as the owner of the job.
  const Job* job_for_steps(std::uint32_t id, bool as_owner = false);
  void create_step(const wire::CreateStep& ask);
  const Job* job_of_step(const wire::StepName& name, bool as_owner = false);  // these four: step_requests.cpp
  void signal_step(const wire::SignalStep& ask);
  std::vector<const Job*> keepers_of(const Job& job, const wire::StepName& name) const;
  void update_step(const wire::UpdateStep& ask);
  void attach_step(const wire::AttachStep& ask);
  void sample_steps(const wire::SampleSteps& ask);
  void notify_job(const wire::NotifyJob& ask);
  void end_allocation(const wire::EndAllocation& ask);
  void reserve(const wire::Reserve& ask);
  void remove_reservation(const wire::RemoveReservation& ask);
  // What would not fit a later frame (wire/limits.h); it has been told.
  bool refuses_sizes(const wire::JobDescription& job, std::string_view environment, std::string_view script);
  bool refuses_words(const wire::SubmitJob& ask);  // what this client may not say of a job; it has been told
  void set_crontab(const wire::SetCrontab& ask);   // standing_commands.cpp
  void query_crontab(const wire::QueryCrontab& ask);
  void set_trigger(const wire::SetTrigger& ask);
  void clear_triggers(const wire::ClearTriggers& ask);
  void query_triggers();
  void change_accounts(const wire::ChangeAccounts& ask);  // account_commands.cpp
  void decide_change(const AccountChange& change);

  wire::Reply reply() const;
  void answer(wire::Reply reply) { c_.clients_.reply(asker_.client, reply); }
  void answer_when_durable(wire::Reply reply);
  void refuse_with(const Refusal& refusal);
  void refuse_with(RefusalCode code, std::string note = {});

  Controller& c_;
  const Asker& asker_;
  const wire::Request& request_;
  Actor actor_;
};

}  // namespace millrace
