// src/controller/absent_clients.cpp - see absent_clients.h.
#include "controller/absent_clients.h"

#include <algorithm>

namespace millrace {

void AbsentClients::left(const State& state, JobKey key, Time now) {
  const Job* job = state.find_job(key);
  if (job && job->state != JobState::ended && (job->spec->interactive || job->spec->allocation_only))
    left_.try_emplace(key, now);
}

std::vector<JobKey> AbsentClients::take_due(const State& state, Duration limit, Time now) {
  std::vector<JobKey> due;
  for (auto it = left_.begin(); it != left_.end();) {
    const Job* job = state.find_job(it->first);
    const bool runs = job && (job->state == JobState::running || job->state == JobState::suspended);
    const bool over = !job || job->state == JobState::completing || job->state == JobState::ended;
    // While it waited there was nothing to be inactive.
    const bool is_due = runs && limit.value > 0 && now - std::max(it->second, job->started_at) >= limit;
    if (is_due) due.push_back(it->first);
    it = is_due || over ? left_.erase(it) : std::next(it);
  }
  return due;
}

}  // namespace millrace
