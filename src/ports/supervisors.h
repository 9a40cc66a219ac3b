// src/ports/supervisors.h - the running steps of a node as its agent sees them; one supervisor process per attempt.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace millrace::wire {
class AttemptStatus;
class Forget;
class Credential;
class Kill;
class LaunchPlan;
class SignalAttempt;
class StepFromNode;
class StepOrder;
class StepSample;
class StepToNode;
class Suspend;
}  // namespace millrace::wire

namespace millrace {

class SupervisorObserver {
 public:
  virtual ~SupervisorObserver() = default;
  // Something changed about one attempt. Called on the agent's loop.
  virtual void attempt_changed(const wire::AttemptStatus& status) = 0;
  // A step manager wants something done, here or on another node of its job, or answers a client.
  virtual void step_manager_said(const wire::StepFromNode& message) = 0;
  // A supervisor answers an inquiry.
  virtual void step_sampled(const wire::StepSample& sample) = 0;
};

// Everything here outlives the agent: what was launched is journalled in the spool before it starts, supervisors go on
// while no agent runs, and an end is kept in the spool until forget().
class Supervisors {
 public:
  virtual ~Supervisors() = default;
  // All attempts the spool knows: running ones are adopted again, ended ones wait to be forgotten. An attempt whose
  // supervisor is gone without having written an end is first killed (what is left of it) and then ended as
  // SUPERVISOR_LOST.
  virtual std::vector<wire::AttemptStatus> adopt(SupervisorObserver& observer) = 0;
  // Launches an attempt the spool does not know yet; the caller has checked the credential. A failure to launch is
  // reported as an ended attempt (LAUNCH_FAILED), never as silence.
  virtual void launch(const wire::LaunchPlan& plan, const wire::Credential& credential) = 0;
  virtual void kill(const wire::Kill& kill) = 0;
  virtual void signal(const wire::SignalAttempt& signal) = 0;
  virtual void suspend(const wire::Suspend& suspend) = 0;  // stop its processes, or let them go on
  // To the supervisor of the attempt, which keeps the steps of its job if this is the job's first node.
  virtual void tell_step_manager(const wire::StepToNode& step) = 0;
  virtual void tell_step(const wire::StepOrder& order) = 0;
  virtual void forget(const wire::Forget& forget) = 0;  // only of an ended attempt
};

}  // namespace millrace
