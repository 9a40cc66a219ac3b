// src/controller/readers/crontabs.h - jobs of scrontab: what a new crontab comes to, and when a job of one comes again.
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

// On what is left without the old one's jobs. A refusal names the line.
std::expected<CrontabSet, Refusal> decide_crontab(const State& state, UserId uid, std::string text,
                                                  std::vector<CrontabLine> lines, const Actor& actor, Time now);

// One that has ended waits for its next time; the line of one that was cancelled is switched off. Nothing: it is in no
// crontab, or has not ended.
// The clock was set back: those whose time comes earlier than they were to begin.
std::vector<Event> decide_cron_times(const State& state, Time now);
std::vector<Event> decide_next_run(const State& state, JobKey key, Time now);

}  // namespace millrace
