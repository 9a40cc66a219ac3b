// src/core/model/job_state.h - the life of a job as a table; the picture is docs/spec/job-states.md.
#pragma once

#include <cstdint>
#include <optional>

namespace millrace {

// The values are in snapshots: new ones come at the end.
enum class JobState : std::uint8_t { pending, running, completing, ended, suspended };

// What moves a job on. `stopped` is any decision to end a running attempt: cancel, time limit, requeue, a lost node.
enum class Cause : std::uint8_t { placed, cancelled, stopped, exited, released, requeued, suspended, resumed };

struct Transition {
  JobState from;
  Cause cause;
  JobState to;
};

constexpr Transition transitions[] = {
    {JobState::pending, Cause::placed, JobState::running},
    {JobState::pending, Cause::cancelled, JobState::ended},
    {JobState::running, Cause::stopped, JobState::completing},
    {JobState::running, Cause::exited, JobState::completing},
    {JobState::running, Cause::suspended, JobState::suspended},
    {JobState::suspended, Cause::suspended,
     JobState::suspended},  // an administrator keeps one that would have gone on by itself
    {JobState::suspended, Cause::resumed, JobState::running},
    {JobState::suspended, Cause::stopped, JobState::completing},
    {JobState::suspended, Cause::exited, JobState::completing},
    {JobState::completing, Cause::stopped, JobState::completing},  // a second reason while the first is carried out
    {JobState::completing, Cause::exited, JobState::completing},   // another of its nodes reported
    {JobState::completing, Cause::released, JobState::ended},
    {JobState::completing, Cause::requeued, JobState::pending},
    {JobState::ended, Cause::requeued, JobState::pending},
};

constexpr std::optional<JobState> next_state(JobState from, Cause cause) {
  for (const auto& row : transitions)
    if (row.from == from && row.cause == cause) return row.to;
  return std::nullopt;
}

static_assert(next_state(JobState::pending, Cause::placed) == JobState::running);
static_assert(!next_state(JobState::ended, Cause::placed), "the dead do not run");

// How an ended job ended; while it completes, how it will have ended.
enum class Outcome : std::uint8_t {
  none,
  completed,
  failed,
  cancelled,
  timeout,
  node_fail,
  preempted,
  deadline,
  out_of_memory
};

enum class Hold : std::uint8_t { none, user, admin };

// Why a job waits or how it came to its end, told by Slurm's words (core/model/reason.h).
enum class Reason : std::uint8_t {
  none,
  priority,
  resources,
  dependency,
  dependency_never_satisfied,
  begin_time,
  held_by_user,
  held_by_admin,
  partition_down,
  partition_inactive,
  partition_node_limit,
  partition_time_limit,
  required_node_not_available,
  array_task_limit,
  non_zero_exit_code,
  time_limit,
  node_down,
  launch_failure,
  raised_signal,
  requeued_held,
  reservation,
  reservation_deleted,
  reservation_invalid,
  licenses,
  deadline,
  bad_constraints,
  out_of_memory,
  prolog = 64,         // what runs before it is not done yet
  launch_failed_held,  // it went back to the queue because that failed
  requeued_too_often,  // MaxBatchRequeue
  inactive_limit,      // whoever asked for the nodes is gone
  first_limit = 110,   // from here on: limits of associations and QOS, numbered by core/model/limit_reason
};
const char* slurm_word(Reason reason);

}  // namespace millrace
