// src/controller/readers/due_signals.cpp - see due_signals.h.
#include "controller/readers/due_signals.h"

namespace millrace {

void DueSignals::forget(JobKey key) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return;
  order_.erase({found->second.at, key});
  waiting_.erase(found);
}

void DueSignals::look_at(const State& state, JobKey key) {
  forget(key);
  const Job* job = state.find_job(key);
  if (job == nullptr || job->state != JobState::running) {
    if (job == nullptr || job->state != JobState::suspended) sent_.erase(key);
    return;
  }
  const std::string& options = job->spec->rare_request().step_options;
  wire::StepOptions read;
  if (options.empty() || job->time_limit_minutes == unlimited || !read.ParseFromString(options) || !read.has_signal())
    return;
  if (const auto sent = sent_.find(key); sent != sent_.end() && sent->second == job->attempt) return;
  const Time at = job->ran_from() + minutes(job->time_limit_minutes) - seconds(read.signal().seconds());
  waiting_[key] = {job->attempt, at, read.signal()};
  order_.insert({at, key});
}

void DueSignals::look_at_all(const State& state) {
  for (const auto& [key, job] : state.jobs)
    if (job->state == JobState::running) look_at(state, key);
}

void DueSignals::put_off(const State& state, JobKey key, Time until) {
  sent_.erase(key);
  look_at(state, key);
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return;
  order_.erase({found->second.at, key});
  found->second.at = until;
  order_.insert({until, key});
}

Time DueSignals::next() const { return order_.empty() ? never : order_.begin()->first; }

std::vector<DueSignals::Due> DueSignals::take(Time now) {
  std::vector<Due> out;
  while (!order_.empty() && order_.begin()->first <= now) {
    const JobKey key = order_.begin()->second;
    const Entry entry = waiting_.at(key);
    forget(key);
    sent_[key] = entry.attempt;
    out.push_back({key, entry.signal});
  }
  return out;
}

}  // namespace millrace
