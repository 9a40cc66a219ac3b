// src/core/admission/refusal.cpp - Slurm's text for every refusal.
#include "core/admission/refusal.h"

namespace millrace {

const char* slurm_text(RefusalCode code) {
  switch (code) {
    case RefusalCode::invalid_partition:
      return "Invalid partition name specified";
    case RefusalCode::no_default_partition:
      return "No partition specified or system default partition";
    case RefusalCode::access_denied:
      return "Access/permission denied";
    case RefusalCode::group_not_permitted:
      return "User's group not permitted to use this partition";
    case RefusalCode::nodes_not_in_partition:
      return "Requested nodes not in this partition";
    case RefusalCode::invalid_node_count:
      return "Node count specification invalid";
    case RefusalCode::too_many_jobs:
      return "MaxJobCount limit reached";
    case RefusalCode::script_missing:
      return "Job script not specified";
    case RefusalCode::node_configuration_unavailable:
      return "Requested node configuration is not available";
    case RefusalCode::invalid_job_id:
      return "Invalid job id specified";
    case RefusalCode::invalid_node_name:
      return "Invalid node name specified";
    case RefusalCode::already_done:
      return "Job/step already completing or completed";
    case RefusalCode::bad_distribution:
      return "Task distribution specification invalid";
    case RefusalCode::bad_task_count:
      return "Task count specification invalid";
    case RefusalCode::invalid_node_state:
      return "Invalid node state specified";
    case RefusalCode::invalid_feature:
      return "Invalid feature specification";
    case RefusalCode::active_not_available:
      return "Active features not subset of available features";
    case RefusalCode::not_supported:
      return "Requested operation not supported on this system";
    case RefusalCode::disabled:
      return "Requested operation is presently disabled";
    case RefusalCode::dependency:
      return "Job dependency problem";
    case RefusalCode::invalid_task_memory:
      return "Memory required by task is not available";
    case RefusalCode::invalid_account:
      return "Invalid account or account/partition combination specified";
    case RefusalCode::invalid_licenses:
      return "Invalid license specification";
    case RefusalCode::accounting_policy:
      return "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)";
    case RefusalCode::topology_unavailable:
      return "Requested topology configuration is not available";
    case RefusalCode::segment_does_not_fit:
      return "No suitable topology unit found for segment";
    case RefusalCode::missing_time_limit:
      return "Time limit specification required, but not provided";
    case RefusalCode::invalid_time_limit:
      return "Requested time limit is invalid (missing or exceeds some limit)";
    case RefusalCode::invalid_time:
      return "Invalid time specified";
    case RefusalCode::missing_work_dir:
      return "Job cannot be submitted without the current working directory specified.";
    case RefusalCode::invalid_qos:
      return "Invalid qos specification";
    case RefusalCode::invalid_cpu_count:
      return "CPU count specification invalid";
    case RefusalCode::invalid_sluid:
      return "SLUID is invalid";
    case RefusalCode::partition_not_available:
      return "Required partition not available (inactive or drain)";
    case RefusalCode::circular_dependency:
      return "Circular job dependency";
    case RefusalCode::invalid_gres:
      return "Invalid generic resource (gres) specification";
    case RefusalCode::not_pending:
      return "Job is no longer pending execution";
    case RefusalCode::partition_in_use:
      return "Partition is in use";
    case RefusalCode::suspended:
      return "Job is current suspended, requested operation disabled";
    case RefusalCode::not_suspended:
      return "Job is not suspended";
    case RefusalCode::invalid_array:
      return "Invalid job array specification";
    case RefusalCode::already_finished:
      return "Job has already finished";
    case RefusalCode::not_running:
      return "Job is not running";
    case RefusalCode::job_held:
      return "Job is in held state, pending scheduler release";
    case RefusalCode::job_pending:
      return "Job is pending execution";
    case RefusalCode::not_pending_nor_running:
      return "Job is not pending nor running";
    case RefusalCode::nodes_busy:
      return "Requested nodes are busy";
    case RefusalCode::reservation_access:
      return "Access denied to requested reservation";
    case RefusalCode::reservation_invalid:
      return "Requested reservation is invalid";
    case RefusalCode::invalid_wckey:
      return "Invalid wckey specification";
    case RefusalCode::reservation_busy:
      return "Requested reservation is in use";
    case RefusalCode::reservation_overlap:
      return "Requested reservation overlaps with another reservation";
    case RefusalCode::reservation_empty:
      return "Reservation request lacks users, groups or accounts";
    case RefusalCode::reservation_name_taken:
      return "Duplicate reservation name";
    case RefusalCode::reservation_user_group:
      return "Reservations can't have users and groups specified, only one or the other";
    case RefusalCode::invalid_tres:
      return "Invalid Trackable RESource (TRES) specification";
    case RefusalCode::invalid_nice:
      return "Invalid --nice value";
    case RefusalCode::invalid_time_min:
      return "Invalid time-min specification (exceeds job's time or other limits)";
    case RefusalCode::invalid_prefer:
      return "Invalid preferred feature specification";
    case RefusalCode::duplicate_trigger:
      return "Duplicate event trigger";
    case RefusalCode::cannot_modify_cron:
      return "Cannot modify scrontab jobs through scontrol";
    case RefusalCode::cannot_cancel_cron:
      return "Cannot cancel scrontab jobs without --cron flag.";
    case RefusalCode::batch_constraint:
      return "Job --batch option is invalid or not a subset of --constraint";
    case RefusalCode::not_het_job:
      return "Job not heterogeneous job";
    case RefusalCode::not_whole_het_job:
      return "Operation not permitted on individual component of heterogeneous job";
    case RefusalCode::too_many_components:
      return "HetJob component larger than acceptable range";
    case RefusalCode::jobs_on_association:
      return "Job(s) active, cancel job(s) before remove";
    case RefusalCode::default_account_needed:
      return "You can not remove the default account of a user";
  }
  return "Unspecified error";
}

}  // namespace millrace
