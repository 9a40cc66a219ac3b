// src/controller/requests/handlers.h - the handlers of requests, a class for each topic; request_table.cpp says which
// request goes to which.
#pragma once

#include <functional>
#include <memory>

#include "controller/requests/handler.h"
#include "core/admission/job_selection.h"
#include "core/model/account_change.h"

namespace millrace {

// submit_commands.cpp
class SubmitCommands final : public RequestHandler {
 public:
  using RequestHandler::RequestHandler;
  void submit(const wire::SubmitJob& ask);

 private:
  void try_submission(std::vector<Event> events, wire::Reply out);
};

// Jobs that are there: job_commands.cpp
class JobCommands final : public RequestHandler {
 public:
  using RequestHandler::RequestHandler;
  void cancel(const wire::CancelJobs& ask);
  void update(const wire::UpdateJob& ask);
  void hold(const wire::HoldJobs& ask);
  void requeue(const wire::RequeueJobs& ask);
  void suspend(const wire::SuspendJobs& ask);
  void top(const wire::TopJobs& ask);
  void wait(const wire::WaitJob& ask);

 private:
  // May be called later, in another turn of the loop: it keeps what it needs by value and takes the rest from `self`.
  using Decide = std::function<Decision(const JobCommands& self, const State&, const SelectedJob&)>;
  struct ChangeRun;
  struct SignalRun;
  static constexpr std::uint64_t looked_at_usual_max = 1'000'000;  // by the names of a request; see JobSelector

  void each_live_job(const std::string& name, const std::function<void(const Job&)>& look) const;
  void signal(const wire::CancelJobs& ask, const std::vector<JobName>& names, std::uint64_t looked_at_max);
  void change_each(std::vector<JobName> names, Decide decide, std::uint64_t looked_at_max = looked_at_usual_max);
  static bool go_on(Services& services, ChangeRun& run);
  static bool go_on_signalling(Services& services, SignalRun& run);
  void signal_job(SignalRun& run, const JobName& name) const;
  bool refuses_longer_comment(const wire::UpdateJob& ask);
  bool refuses_bytes_of_change(const wire::UpdateJob& ask);
};

// step_commands.cpp
class StepCommands final : public RequestHandler {
 public:
  using RequestHandler::RequestHandler;
  void create(const wire::CreateStep& ask);
  void signal(const wire::SignalStep& ask);
  void update(const wire::UpdateStep& ask);
  void attach(const wire::AttachStep& ask);
  void sample(const wire::SampleSteps& ask);
  void notify(const wire::NotifyJob& ask);
  void end_allocation(const wire::EndAllocation& ask);

 private:
  // Null: refused. `as_owner`: something will run or be typed as the owner of the job.
  const Job* job_for_steps(std::uint32_t id, bool as_owner = false);
  const Job* job_of_step(const wire::StepName& name, bool as_owner = false);
  std::vector<const Job*> step_managers_of(const Job& job, const wire::StepName& name) const;
};

// node_commands.cpp
class NodeCommands final : public RequestHandler {
 public:
  using RequestHandler::RequestHandler;
  void update(const wire::UpdateNode& ask);
  void create(const wire::CreateNodes& ask);
  void remove(const wire::DeleteNodes& ask);
};

// partition_commands.cpp
class PartitionCommands final : public RequestHandler {
 public:
  using RequestHandler::RequestHandler;
  void update(const wire::UpdatePartition& ask);
  void remove(const wire::DeletePartition& ask);
  void set_damping(const wire::SetDamping& ask);
};

// reservation_commands.cpp
class ReservationCommands final : public RequestHandler {
 public:
  using RequestHandler::RequestHandler;
  void reserve(const wire::Reserve& ask);
  void remove(const wire::RemoveReservation& ask);
};

// account_commands.cpp
class AccountCommands final : public RequestHandler {
 public:
  using RequestHandler::RequestHandler;
  void change(const wire::ChangeAccounts& ask);
  void annotate_record(const wire::AnnotateRecord& ask);

 private:
  void decide(const AccountChange& change);
};

// crontab_commands.cpp
class CrontabCommands final : public RequestHandler {
 public:
  using RequestHandler::RequestHandler;
  void set(const wire::SetCrontab& ask);
  void query(const wire::QueryCrontab& ask);
};

// trigger_commands.cpp
class TriggerCommands final : public RequestHandler {
 public:
  using RequestHandler::RequestHandler;
  void set(const wire::SetTrigger& ask);
  void clear(const wire::ClearTriggers& ask);
  void query();
};

// The daemon itself: daemon_commands.cpp, logging_command.cpp, token_command.cpp
class DaemonCommands final : public RequestHandler {
 public:
  using RequestHandler::RequestHandler;
  void shutdown(const wire::Shutdown& ask);
  void reconfigure();
  void issue_token(const wire::IssueToken& ask);
  void set_logging(const wire::SetLogging& ask);
};

}  // namespace millrace
