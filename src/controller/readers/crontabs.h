// src/controller/readers/crontabs.h - jobs of scrontab: what a new crontab comes to, and when a job of one comes again.
#pragma once

#include <set>

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

// The clock was set back: those whose time comes earlier than they were to begin.
std::vector<Event> decide_cron_times(const State& state, Time now);
// Of the jobs of one crontab: one that has ended waits for its next time; lines of those that were cancelled are
// switched off, all by one fact, which has the whole text. Nothing: they are in no crontab, or have not ended.
std::vector<Event> decide_next_runs(const State& state, UserId uid, const std::set<JobKey>& keys, Time now);
std::vector<Event> decide_next_run(const State& state, JobKey key, Time now);

}  // namespace millrace
