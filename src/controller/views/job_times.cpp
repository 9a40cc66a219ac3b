// src/controller/views/job_times.cpp - see job_times.h.
#include "controller/views/job_times.h"

namespace millrace {
namespace {

JobTimes expected_times(const ReadView& snapshot, const Job& job) {
  JobTimes out;
  if (const auto it = snapshot.plan->findings.find(job.key); it != snapshot.plan->findings.end())
    out.start = it->second.planned_start;
  else if (job.begin_at > snapshot.now)
    out.start = job.begin_at;
  if (out.start.is_set() && job.time_limit_minutes != unlimited) out.end = out.start + minutes(job.time_limit_minutes);
  return out;
}

}  // namespace

JobTimes times_of(const ReadView& snapshot, const Job& job) {
  const Time over = job.over_at();
  const bool limited = job.time_limit_minutes != unlimited;
  switch (job.state) {
    case JobState::pending:
      return expected_times(snapshot, job);
    case JobState::suspended:  // if it went on now
      return {job.started_at,
              limited ? snapshot.now + minutes(job.time_limit_minutes) - job.suspension->ran_before : over};
    case JobState::completing:  // its processes have ended; in logs of old nobody said when
      return {job.started_at, over.is_set() ? over : snapshot.now};
    case JobState::ended:  // one cancelled while it waited neither started nor ran
      return {job.started_at.is_set() ? job.started_at : over, over};
    case JobState::running:
      break;
  }
  return {job.started_at, limited ? limit_end(job) : over};
}

}  // namespace millrace
