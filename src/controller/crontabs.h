// src/controller/crontabs.h - jobs of scrontab: what a new crontab comes to, and when a job of one comes again.
#pragma once

#include "core/admission/refusal.h"
#include "core/admission/submit_job.h"
#include "core/ledger/state.h"

namespace millrace {

struct CrontabLine {
  std::uint32_t line = 0;
  std::string times;
  SubmitJob job;
};

// All events of it, on the state as it is: those of the old jobs, of the new ones, and the crontab's. A refusal names the line.
struct CrontabDecision {
  std::vector<Event> events;
  std::vector<JobId> jobs;
};
std::expected<CrontabDecision, Refusal> decide_crontab(const State& state, UserId uid, std::string text, std::vector<CrontabLine> lines, const Actor& actor, Time now);

// One that has ended waits for its next time; nothing: it was cancelled, or is in no crontab.
std::vector<Event> decide_next_run(const State& state, JobKey key, Time now);

}  // namespace millrace
