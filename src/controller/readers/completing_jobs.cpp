// src/controller/readers/completing_jobs.cpp - see completing_jobs.h.
#include "controller/readers/completing_jobs.h"

#include <algorithm>

namespace millrace {

void CompletingJobs::recovered(const State& state) {
  for (const auto& [key, nothing] : state.active) look_at(state, key, clock_.steady());
}

void CompletingJobs::advanced(const Advance& step) {
  for (const JobKey key : step.changes.jobs) look_at(step.now, key, clock_.steady());
}

void CompletingJobs::look_at(const State& state, JobKey key, Time now) {
  const Job* job = state.find_job(key);
  if (job && job->state == JobState::completing)
    since_.try_emplace(key, now);
  else
    since_.erase(key);
}

Duration CompletingJobs::wait(Duration limit, Time now) const {
  Duration longest{0};
  for (const auto& [key, since] : since_) longest = std::max(longest, since + limit - now);
  return longest;
}

}  // namespace millrace
