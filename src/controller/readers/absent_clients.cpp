// src/controller/readers/absent_clients.cpp - see absent_clients.h.
#include "controller/readers/absent_clients.h"

#include <algorithm>

namespace millrace {
namespace {

// Not the components of a heterogeneous job: its leader speaks for them.
bool waits_for_client(const Job& job) {
  return job.state == JobState::pending && !job.is_component() && job.spec->rare_request().client_waits;
}

}  // namespace

void AbsentClients::left(const State& state, JobKey key, Time steady) {
  const Job* job = state.find_job(key);
  if (job && job->state != JobState::ended && (job->spec->interactive || job->spec->allocation_only))
    left_.try_emplace(key, Gone{steady});
}

void AbsentClients::expect(const State& state, JobKey key, Time steady) {
  if (const Job* job = state.find_job(key); job && waits_for_client(*job)) left_.try_emplace(key, Gone{steady});
}

void AbsentClients::expect_all(const State& state, Time steady) {
  for (const auto& [key, job] : state.jobs)
    if (waits_for_client(*job)) left_.try_emplace(key, Gone{steady, client_grace_at_start_seconds});
}

std::vector<JobKey> AbsentClients::take_abandoned(const State& state) {
  std::vector<JobKey> abandoned;
  for (auto it = left_.begin(); it != left_.end();) {
    if (it->second.grace_seconds > 0) --it->second.grace_seconds;
    const Job* job = state.find_job(it->first);
    const bool over = it->second.grace_seconds == 0 && job && waits_for_client(*job);
    if (over) abandoned.push_back(it->first);
    it = over ? left_.erase(it) : std::next(it);
  }
  return abandoned;
}

std::vector<JobKey> AbsentClients::take_due(const State& state, Duration limit, Time now, Time steady) {
  std::vector<JobKey> due;
  for (auto it = left_.begin(); it != left_.end();) {
    const Job* job = state.find_job(it->first);
    const bool runs = job && (job->state == JobState::running || job->state == JobState::suspended);
    const bool over = !job || job->state == JobState::completing || job->state == JobState::ended;
    // While it waited there was nothing to be inactive.
    const bool is_due = runs && limit.value > 0 && std::min(steady - it->second.since, now - job->started_at) >= limit;
    if (is_due) due.push_back(it->first);
    it = is_due || over ? left_.erase(it) : std::next(it);
  }
  return due;
}

}  // namespace millrace
