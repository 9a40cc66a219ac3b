// src/core/model/job_state.cpp - Slurm's word for every reason.
#include "core/model/job_state.h"

#include "core/model/limit_reason.h"

namespace millrace {

const char* slurm_word(Reason reason) {
  if (is_limit(reason)) return limit_word(reason);
  switch (reason) {
    case Reason::none:
      return "None";
    case Reason::priority:
      return "Priority";
    case Reason::resources:
      return "Resources";
    case Reason::dependency:
      return "Dependency";
    case Reason::dependency_never_satisfied:
      return "DependencyNeverSatisfied";
    case Reason::begin_time:
      return "BeginTime";
    case Reason::held_by_user:
      return "JobHeldUser";
    case Reason::held_by_admin:
      return "JobHeldAdmin";
    case Reason::partition_down:
      return "PartitionDown";
    case Reason::partition_inactive:
      return "PartitionInactive";
    case Reason::partition_node_limit:
      return "PartitionNodeLimit";
    case Reason::partition_time_limit:
      return "PartitionTimeLimit";
    case Reason::required_node_not_available:
      return "ReqNodeNotAvail";
    case Reason::array_task_limit:
      return "JobArrayTaskLimit";
    case Reason::non_zero_exit_code:
      return "NonZeroExitCode";
    case Reason::time_limit:
      return "TimeLimit";
    case Reason::node_down:
      return "NodeDown";
    case Reason::launch_failure:
      return "JobLaunchFailure";
    case Reason::raised_signal:
      return "RaisedSignal";
    case Reason::reservation:
      return "Reservation";
    case Reason::reservation_deleted:
      return "ReservationDeleted";
    case Reason::reservation_invalid:
      return "ReservationInvalid";
    case Reason::requeued_held:
      return "job_requeued_in_held_state";
    case Reason::licenses:
      return "Licenses";
    case Reason::deadline:
      return "DeadLine";
    case Reason::bad_constraints:
      return "BadConstraints";
    case Reason::out_of_memory:
      return "OutOfMemory";
    case Reason::prolog:
      return "Prolog";
    case Reason::launch_failed_held:
      return "launch_failed_requeued_held";
    case Reason::requeued_too_often:
      return "JobHoldMaxRequeue";
    case Reason::inactive_limit:
      return "InactiveLimit";
    case Reason::first_limit:
      break;
  }
  return "None";
}

}  // namespace millrace
