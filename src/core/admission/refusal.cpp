// src/core/admission/refusal.cpp - Slurm's text for every refusal.
#include "core/admission/refusal.h"

#include <algorithm>
#include <iterator>

namespace millrace {

namespace {

struct Text {
  RefusalCode code;
  const char* text;
};

constexpr Text texts[] = {
    {RefusalCode::unspecified, "Unspecified error"},
    {RefusalCode::invalid_partition, "Invalid partition name specified"},
    {RefusalCode::no_default_partition, "No partition specified or system default partition"},
    {RefusalCode::access_denied, "Access/permission denied"},
    {RefusalCode::group_not_permitted, "User's group not permitted to use this partition"},
    {RefusalCode::nodes_not_in_partition, "Requested nodes not in this partition"},
    {RefusalCode::invalid_node_count, "Node count specification invalid"},
    {RefusalCode::too_many_jobs, "MaxJobCount limit reached"},
    {RefusalCode::too_long, "Pathname of a file, directory or other parameter too long"},
    {RefusalCode::no_such_process, "No such process"},
    {RefusalCode::no_room, "I/O error writing script/environment to file"},  // the disk of the controller is full
    {RefusalCode::invalid_user, "Invalid user id"},
    {RefusalCode::too_few_ports, "Requires more ports than can be reserved"},
    {RefusalCode::prolog_running, "PrologSlurmctld is still running"},
    {RefusalCode::no_token, "Token Generation failed."},
    {RefusalCode::script_missing, "Job script not specified"},
    {RefusalCode::node_configuration_unavailable, "Requested node configuration is not available"},
    {RefusalCode::invalid_job_id, "Invalid job id specified"},
    {RefusalCode::invalid_node_name, "Invalid node name specified"},
    {RefusalCode::already_done, "Job/step already completing or completed"},
    {RefusalCode::bad_distribution, "Task distribution specification invalid"},
    {RefusalCode::bad_task_count, "Task count specification invalid"},
    {RefusalCode::invalid_node_state, "Invalid node state specified"},
    {RefusalCode::invalid_feature, "Invalid feature specification"},
    {RefusalCode::active_not_available, "Active features not subset of available features"},
    {RefusalCode::not_supported, "Requested operation not supported on this system"},
    {RefusalCode::disabled, "Requested operation is presently disabled"},
    {RefusalCode::dependency, "Job dependency problem"},
    {RefusalCode::invalid_task_memory, "Memory required by task is not available"},
    {RefusalCode::invalid_account, "Invalid account or account/partition combination specified"},
    {RefusalCode::invalid_licenses, "Invalid license specification"},
    {RefusalCode::accounting_policy,
     "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"},
    {RefusalCode::topology_unavailable, "Requested topology configuration is not available"},
    {RefusalCode::segment_does_not_fit, "No suitable topology unit found for segment"},
    {RefusalCode::missing_time_limit, "Time limit specification required, but not provided"},
    {RefusalCode::invalid_time_limit, "Requested time limit is invalid (missing or exceeds some limit)"},
    {RefusalCode::invalid_time, "Invalid time specified"},
    {RefusalCode::missing_work_dir, "Job cannot be submitted without the current working directory specified."},
    {RefusalCode::invalid_qos, "Invalid qos specification"},
    {RefusalCode::invalid_cpu_count, "CPU count specification invalid"},
    {RefusalCode::invalid_sluid, "SLUID is invalid"},
    {RefusalCode::partition_not_available, "Required partition not available (inactive or drain)"},
    {RefusalCode::circular_dependency, "Circular job dependency"},
    {RefusalCode::invalid_gres, "Invalid generic resource (gres) specification"},
    {RefusalCode::not_pending, "Job is no longer pending execution"},
    {RefusalCode::partition_in_use, "Partition is in use"},
    {RefusalCode::suspended, "Job is current suspended, requested operation disabled"},
    {RefusalCode::not_suspended, "Job is not suspended"},
    {RefusalCode::invalid_array, "Invalid job array specification"},
    {RefusalCode::already_finished, "Job has already finished"},
    {RefusalCode::not_running, "Job is not running"},
    {RefusalCode::job_held, "Job is in held state, pending scheduler release"},
    {RefusalCode::job_pending, "Job is pending execution"},
    {RefusalCode::not_pending_nor_running, "Job is not pending nor running"},
    {RefusalCode::nodes_busy, "Requested nodes are busy"},
    {RefusalCode::reservation_access, "Access denied to requested reservation"},
    {RefusalCode::reservation_invalid, "Requested reservation is invalid"},
    {RefusalCode::invalid_wckey, "Invalid wckey specification"},
    {RefusalCode::reservation_busy, "Requested reservation is in use"},
    {RefusalCode::reservation_overlap, "Requested reservation overlaps with another reservation"},
    {RefusalCode::reservation_empty, "Reservation request lacks users, groups or accounts"},
    {RefusalCode::reservation_name_taken, "Duplicate reservation name"},
    {RefusalCode::reservation_user_group, "Reservations can't have users and groups specified, only one or the other"},
    {RefusalCode::invalid_tres, "Invalid Trackable RESource (TRES) specification"},
    {RefusalCode::invalid_nice, "Invalid --nice value"},
    {RefusalCode::invalid_time_min, "Invalid time-min specification (exceeds job's time or other limits)"},
    {RefusalCode::invalid_prefer, "Invalid preferred feature specification"},
    {RefusalCode::duplicate_trigger, "Duplicate event trigger"},
    {RefusalCode::cannot_modify_cron, "Cannot modify scrontab jobs through scontrol"},
    {RefusalCode::cannot_cancel_cron, "Cannot cancel scrontab jobs without --cron flag."},
    {RefusalCode::batch_constraint, "Job --batch option is invalid or not a subset of --constraint"},
    {RefusalCode::not_het_job, "Job not heterogeneous job"},
    {RefusalCode::not_whole_het_job, "Operation not permitted on individual component of heterogeneous job"},
    {RefusalCode::too_many_components, "HetJob component larger than acceptable range"},
    {RefusalCode::jobs_on_association, "Job(s) active, cancel job(s) before remove"},
    {RefusalCode::default_account_needed, "You can not remove the default account of a user"},
};

}  // namespace

const char* slurm_text(RefusalCode code) {
  const auto* row = std::ranges::find(texts, code, &Text::code);
  return row == std::end(texts) ? "Unspecified error" : row->text;
}

}  // namespace millrace
