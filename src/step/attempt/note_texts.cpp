// src/step/attempt/note_texts.cpp - see note_texts.h.
#include "step/attempt/note_texts.h"

#include <ctime>

#include "step/environment/environment.h"

namespace millrace {

std::string oom_note(const wire::LaunchPlan& plan, std::uint64_t kills) {
  return "slurmstepd: error: Detected " + std::to_string(kills) + " oom_kill event" + (kills == 1 ? "" : "s") +
         " in StepId=" + step_name(plan) + ". Some of the step tasks have been OOM Killed.";
}

std::string kill_note(const wire::LaunchPlan& plan, wire::Kill::Why why, std::int64_t at_seconds) {
  const time_t at = at_seconds;
  tm local{};
  localtime_r(&at, &local);
  char time[32];
  strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &local);
  std::string line = "slurmstepd: error: *** ";
  line += plan.job().interactive() ? "STEP " + step_name(plan) : "JOB " + std::to_string(plan.job_id());
  line += " ON " + plan.node_name() + " CANCELLED AT " + time;
  switch (why) {
    case wire::Kill::TIME_LIMIT:
      line += " DUE TO TIME LIMIT";
      break;
    case wire::Kill::REQUEUED:
      line += " DUE TO JOB REQUEUE";
      break;
    case wire::Kill::PREEMPTED_BY_JOB:
      line += " DUE TO PREEMPTION";
      break;
    case wire::Kill::NODE_FAILED:
      line += " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS";
      break;
    case wire::Kill::CANCELLED_BY_USER:
      line += " DUE to SIGNAL Terminated";
      break;
    default:
      break;
  }
  return line + " ***";
}

}  // namespace millrace
