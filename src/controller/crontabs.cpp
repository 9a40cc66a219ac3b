// src/controller/crontabs.cpp - see crontabs.h.
#include "controller/crontabs.h"

#include <algorithm>

#include "base/text.h"
#include "controller/cron_times.h"
#include "core/ledger/apply.h"

namespace millrace {
namespace {

// One that waits goes; one that runs may end, and does not come again.
void retire(const Job& job, UserId by, Time now, std::vector<Event>& out) {
  if (job.state == JobState::pending) return out.emplace_back(JobCancelled{job.key, by, now}), void();
  if (job.state == JobState::ended) return;
  JobModified change;
  change.key = job.key;
  change.extras = job.spec->extra_request();
  change.extras->cron.clear();
  change.at = now;
  out.emplace_back(std::move(change));
}

// A line that is switched off stays in the file, so that its owner sees what became of it.
std::string without_line(const std::string& text, std::size_t entry) {
  std::string out;
  std::size_t seen = 0;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view bare = trim(line);
    const bool is_entry = !bare.empty() && bare[0] != '#' && (bare[0] == '@' || bare.find('=') == std::string_view::npos || bare.find('=') > bare.find_first_of(" \t"));
    if (is_entry && seen++ == entry) out += "#DISABLED: ";
    out += std::string{line} + '\n';
  }
  if (out.ends_with("\n\n") && !text.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace

std::expected<CrontabDecision, Refusal> decide_crontab(const State& state, UserId uid, std::string text, std::vector<CrontabLine> lines, const Actor& actor, Time now) {
  CrontabDecision out;
  State trial = state;
  const auto happen = [&](Event event) {
    apply(trial, event);
    out.events.push_back(std::move(event));
  };
  if (const auto* old = state.crontabs.find(uid))
    for (const JobKey key : (*old)->jobs)
      if (const Job* job = state.find_job(key)) {
        std::vector<Event> events;
        retire(*job, actor.uid, now, events);
        for (Event& event : events) happen(std::move(event));
      }
  CrontabSet set{.uid = uid, .crontab = {.text = std::move(text), .jobs = {}}, .at = now};
  for (CrontabLine& line : lines) {
    const auto wrong = [&](RefusalCode code, const std::string& why) { return refuse(code, "line " + std::to_string(line.line) + ": " + why); };
    const auto times = parse_cron(line.times);
    if (!times) return wrong(RefusalCode::invalid_time, times.error().story);
    const auto next = next_cron_time(*times, now);
    if (!next) return wrong(RefusalCode::invalid_time, "'" + line.times + "' never comes");
    JobExtras extras = line.job.spec.extra_request();
    extras.cron = line.times;
    line.job.spec.extras = SharedValue(std::move(extras));
    line.job.begin_at = *next;
    line.job.requeue = true;  // that is how it comes again
    auto decision = decide(trial, line.job, actor, now);
    if (!decision) {
      Refusal refusal = std::move(decision).error();
      refusal.notes.insert(refusal.notes.begin(), "line " + std::to_string(line.line) + ":");
      return std::unexpected(std::move(refusal));
    }
    out.jobs.push_back(decision->id);
    for (Event& event : decision->events) happen(std::move(event));
    set.crontab.jobs.push_back(trial.find_job(out.jobs.back())->key);
  }
  happen(std::move(set));
  return out;
}

std::vector<Event> decide_next_run(const State& state, JobKey key, Time now) {
  const Job* job = state.find_job(key);
  if (!job || job->state != JobState::ended || job->spec->extra_request().cron.empty()) return {};
  const UserId uid = job->spec->owner->uid;
  const auto* crontab = state.crontabs.find(uid);
  if (!crontab) return {};
  const auto place = std::ranges::find((*crontab)->jobs, key);
  if (place == (*crontab)->jobs.end()) return {};
  if (job->outcome == Outcome::cancelled) {
    Crontab rest = **crontab;
    rest.text = without_line(rest.text, static_cast<std::size_t>(place - (*crontab)->jobs.begin()));
    std::erase(rest.jobs, key);
    return {CrontabSet{uid, std::move(rest), now}};
  }
  const auto times = parse_cron(job->spec->extra_request().cron);
  const auto next = times ? next_cron_time(*times, now) : std::nullopt;
  if (!next) return {};
  JobModified when;
  when.key = key;
  when.begin_at = *next;
  when.at = now;
  return {JobRequeued{key, false, UserId{0}, now}, when};
}

}  // namespace millrace
