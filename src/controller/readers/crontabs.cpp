// src/controller/readers/crontabs.cpp - see crontabs.h.
#include "controller/readers/crontabs.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "controller/readers/cron_times.h"
#include "core/ledger/apply.h"

namespace millrace {
namespace {

// A line that is switched off stays in the file, so that its owner sees what became of it; so do its options, which
// would else be those of the next entry.
std::string with_lines_disabled(const Crontab& crontab, const std::set<std::uint32_t>& lines) {
  std::set<std::uint32_t> entries;
  for (const CrontabJob& entry : crontab.jobs) entries.insert(entry.line);
  std::string out;
  std::uint32_t number = 0;
  for (const std::string_view text : split(crontab.text, '\n')) {
    ++number;
    const auto next = entries.lower_bound(number);  // whose option it would be
    const bool its_option =
        next != entries.end() && *next > number && lines.contains(*next) && trim(text).starts_with("#SCRON");
    if (lines.contains(number) || its_option) out += "#DISABLED: ";
    out += text;
    out += '\n';
  }
  out.pop_back();  // the text had a line end less than it has lines
  return out;
}

}  // namespace

std::expected<CrontabSet, Refusal> decide_crontab(const State& state, UserId uid, std::string text,
                                                  std::vector<CrontabLine> lines, const Actor& actor, Time now) {
  if (text.empty() && !lines.empty())
    return refuse(RefusalCode::not_supported, "a crontab with entries needs its text, which scrontab -l shows again");
  CrontabSet out{.uid = uid, .crontab = {}, .at = now, .by = actor.uid};
  State trial =
      state;  // each entry is decided on what the ones before left, the first on what is left of the old crontab
  apply(trial, out);
  out.crontab.text = std::move(text);
  for (CrontabLine& line : lines) {
    const auto wrong = [&](RefusalCode code, const std::string& why) {
      return refuse(code, "line " + std::to_string(line.line) + ": " + why);
    };
    const auto times = parse_cron(line.times);
    if (!times) return wrong(RefusalCode::invalid_time, times.error().story);
    const auto next = next_cron_time(*times, now);
    if (!next)
      return wrong(RefusalCode::invalid_time,
                   "'" + line.times + "' never comes; a day that exists in the month would be right");
    if (!line.job.array.empty())
      return wrong(RefusalCode::not_supported, "an entry of a crontab is one job; without --array would be right");
    if (line.job.begin_at.is_set() || line.job.wishes.deadline)
      return wrong(RefusalCode::not_supported,
                   "the times of the entry say when it runs; without --begin and --deadline would be right");
    JobExtras extras = line.job.spec.extra_request();
    extras.cron = line.times;
    line.job.spec.extras = SharedValue(std::move(extras));
    line.job.requeue = true;  // that is how it comes again
    line.job.begin_at = *next;
    auto decision = decide(trial, line.job, actor, now);
    if (!decision) {
      Refusal refusal = std::move(decision).error();
      refusal.notes.insert(refusal.notes.begin(), "line " + std::to_string(line.line) + " is refused");
      return std::unexpected(std::move(refusal));
    }
    for (const Event& event : decision->events) {
      const auto* submitted = std::get_if<JobSubmitted>(&event);
      MR_ASSERT(submitted != nullptr);
      apply(trial, event);
      out.crontab.jobs.push_back({submitted->key, line.line});
      out.submitted.push_back(*submitted);
    }
  }
  return out;
}

std::vector<Event> decide_cron_times(const State& state, Time now) {
  std::vector<Event> events;
  for (const auto& [uid, crontab] : state.crontabs)
    for (const CrontabJob& entry : crontab->jobs) {
      const Job* job = state.find_job(entry.key);
      if (!job || job->state != JobState::pending) continue;
      const auto times = parse_cron(job->spec->extra_request().cron);
      const auto next = times ? next_cron_time(*times, now) : std::nullopt;
      if (!next || *next >= job->begin_at) continue;
      JobModified earlier;
      earlier.key = entry.key;
      earlier.begin_at = *next;
      earlier.at = now;
      events.emplace_back(std::move(earlier));
    }
  return events;
}

std::vector<Event> decide_next_runs(const State& state, UserId uid, const std::set<JobKey>& keys, Time now) {
  const auto* found = state.crontabs.find(uid);
  if (!found) return {};
  const Crontab& crontab = **found;
  std::vector<Event> events;
  std::set<std::uint32_t> over;
  CrontabSet rest{.uid = uid, .crontab = {}, .at = now, .by = uid};
  for (const CrontabJob& entry : crontab.jobs) {
    const Job* job = keys.contains(entry.key) ? state.find_job(entry.key) : nullptr;
    const bool has_ended = job && job->state == JobState::ended && !job->spec->extra_request().cron.empty();
    const bool comes_again = has_ended && job->outcome != Outcome::cancelled;
    const auto times = parse_cron(comes_again ? job->spec->extra_request().cron : "");
    const auto next = times ? next_cron_time(*times, now) : std::nullopt;
    if (next) events.emplace_back(JobRequeued{entry.key, false, UserId{0}, now, *next});
    if (has_ended && !next)
      over.insert(entry.line);
    else
      rest.crontab.jobs.push_back(entry);
  }
  if (over.empty()) return events;
  rest.crontab.text = with_lines_disabled(crontab, over);
  events.emplace_back(std::move(rest));
  return events;
}

std::vector<Event> decide_next_run(const State& state, JobKey key, Time now) {
  const Job* job = state.find_job(key);
  if (!job || job->state != JobState::ended || job->spec->extra_request().cron.empty()) return {};
  return decide_next_runs(state, job->spec->owner->uid, {key}, now);
}

}  // namespace millrace
