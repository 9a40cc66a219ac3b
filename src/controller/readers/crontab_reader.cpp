// src/controller/readers/crontab_reader.cpp - see crontab_reader.h.
#include "controller/readers/crontab_reader.h"

#include <map>

#include "controller/readers/crontabs.h"

namespace millrace {

void CrontabReader::recovered(const State&) { look_at_all(); }
void CrontabReader::advanced(const Advance& step) { look_at(step.changes.jobs); }

void CrontabReader::time(Time) {
  if (waits_for_room_) look_at_all();
}

// They wait for a time of the clock, which may come earlier now.
void CrontabReader::clock_set(Duration by) {
  if (by < Duration{0})
    for (Event& event : decide_cron_times(c_.commit.decided(), c_.loop.now())) c_.commit.happen({std::move(event)});
}

// A job of a crontab that has ended is made to wait for its next time.
void CrontabReader::look_at(const std::set<JobKey>& jobs) {
  const State& state = c_.commit.decided();
  if (state.crontabs.empty()) return;
  std::map<UserId, std::set<JobKey>> ended;
  for (const JobKey key : jobs)
    if (const Job* job = state.find_job(key);
        job && job->state == JobState::ended && !job->spec->extra_request().cron.empty())
      ended[job->spec->owner->uid].insert(key);
  for (const auto& [uid, keys] : ended) {
    auto events = decide_next_runs(state, uid, keys, c_.loop.now());
    if (events.empty()) continue;
    if (c_.room.has_room_for(events))
      c_.commit.happen(std::move(events));
    else
      waits_for_room_ = true;
  }
}

// After a start, for those that ended just before it, and when there was no room for some.
void CrontabReader::look_at_all() {
  waits_for_room_ = false;
  std::set<JobKey> jobs;
  for (const auto& [uid, crontab] : c_.commit.decided().crontabs)
    for (const CrontabJob& entry : crontab->jobs) jobs.insert(entry.key);
  look_at(jobs);
}

}  // namespace millrace
