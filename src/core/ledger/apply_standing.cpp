// src/core/ledger/apply_standing.cpp - see apply_standing.h.
#include "core/ledger/apply_standing.h"

#include <algorithm>

namespace millrace {
namespace {

void stop_recurring(State& state, JobKey key) {
  JobExtras extras = state.job(key).spec->extra_request();
  extras.cron.clear();
  state.edit_job(key).spec.edit().extras = SharedValue(std::move(extras));
}

}  // namespace

std::vector<JobKey> leave_crontab(State& state, const CrontabSet& e) {
  std::vector<JobKey> waiting;
  const auto* known = state.crontabs.find(e.uid);
  if (!known) return waiting;
  const SharedValue<Crontab> before = *known;
  for (const CrontabJob& entry : before->jobs) {
    const Job* job = state.find_job(entry.key);
    const bool stays = std::ranges::find(e.crontab.jobs, entry.key, &CrontabJob::key) != e.crontab.jobs.end();
    if (!job || job->state == JobState::ended || stays) continue;
    if (job->state == JobState::pending) {
      waiting.push_back(entry.key);
      continue;
    }
    stop_recurring(state, entry.key);
  }
  return waiting;
}

void recur_only_if_listed(State& state, JobKey key) {
  const Job& job = state.job(key);
  if (job.spec->extra_request().cron.empty()) return;
  const auto* crontab = state.crontabs.find(job.spec->owner->uid);
  const bool listed = crontab && std::ranges::find((*crontab)->jobs, key, &CrontabJob::key) != (*crontab)->jobs.end();
  if (!listed) stop_recurring(state, key);
}

void keep_crontab(State& state, const CrontabSet& e) {
  if (e.crontab.text.empty())
    state.crontabs.erase(e.uid);
  else
    state.crontabs.set(e.uid, SharedValue(e.crontab));
}

void forget_in_crontab(State& state, const Job& job) {
  const auto* found = state.crontabs.find(job.spec->owner->uid);
  if (!found) return;
  Crontab rest = **found;
  if (std::erase_if(rest.jobs, [&](const CrontabJob& entry) { return entry.key == job.key; }) > 0)
    state.crontabs.set(job.spec->owner->uid, SharedValue(std::move(rest)));
}

void set_trigger(State& state, const TriggerSet& e) {
  state.triggers.set(e.trigger.id, SharedValue(e.trigger));
  state.next_trigger = std::max(state.next_trigger, TriggerId{e.trigger.id.value + 1});
}

}  // namespace millrace
