// src/sim/sim_crontab.cpp - see sim_crontab.h.
#include "sim/sim_crontab.h"

#include "wire/frame.h"

namespace millrace {

wire::Request SimCrontab::next(Prng& random, std::uint64_t number, bool take_away) {
  wire::Request request;
  request.set_protocol(protocol_version);
  request.set_number(number);
  wire::SetCrontab& ask = *request.mutable_set_crontab();
  if (!take_away) {
    std::string text = "# " + std::to_string(++texts_) + "\n";
    for (std::uint64_t i = random.below(3); i < 3; ++i) {
      wire::CronEntry& entry = *ask.add_entries();
      entry.set_line(static_cast<std::uint32_t>(ask.entries_size()) + 1);
      entry.set_times(random.chance(1, 3) ? "*/2 * * * *" : "* * * * *");
      wire::JobDescription& job = *entry.mutable_job()->mutable_job();
      job.set_name("cron");
      job.set_work_dir("/tmp");
      job.set_cpus_per_task(1);
      entry.mutable_job()->set_script("#!/bin/sh\n# cron\n");
      entry.mutable_job()->set_environment("PATH=/bin");
      text += entry.times() + " true\n";
    }
    ask.set_text(text);
  }
  possible_[ask.text()] = static_cast<std::size_t>(ask.entries_size());
  asked_[number] = ask.text();
  return request;
}

std::optional<std::string> SimCrontab::hear(const wire::Reply& answer, const State& durable) {
  const auto found = asked_.find(answer.number());
  const std::string text = found->second;
  asked_.erase(found);
  if (answer.has_failure())
    return answer.failure().code() == 2019 ? std::nullopt
                                           : std::optional("a crontab was refused: " + answer.failure().text());
  const auto* crontab = durable.crontabs.find(user);
  if ((crontab ? (*crontab)->text : "") != text) return "a crontab was acknowledged before it was durable";
  possible_ = {{text, possible_.at(text)}};
  gone_ = text.empty();
  return std::nullopt;
}

std::optional<std::string> SimCrontab::wrong_in(const State& durable) {
  const auto* found = durable.crontabs.find(user);
  const Crontab crontab = found ? **found : Crontab{};
  const auto known = possible_.find(crontab.text);
  if (known == possible_.end()) return "an acknowledged crontab is gone";
  if (crontab.jobs.size() != known->second) return "a crontab has another number of jobs than of entries";
  std::map<JobKey, Last> now;
  for (const CrontabJob& entry : crontab.jobs) {
    const Job& job = durable.job(entry.key);
    now[entry.key] = {job.attempt, job.state == JobState::ended ? job.ended_at : Time{}};
    const auto before = last_.find(entry.key);
    if (before == last_.end() || before->second.attempt == job.attempt || !before->second.ended_at.is_set()) continue;
    ++returns_;
    const std::string who = "job " + std::to_string(job.id.value) + " of a crontab ";
    if (job.attempt.value != before->second.attempt.value + 1) return who + "came again twice";
    if (job.begin_at <= before->second.ended_at || job.begin_at.value % 60'000'000 != 0)
      return who + "came again at a time that is not one of its own";
  }
  last_ = std::move(now);
  return std::nullopt;
}

std::optional<std::string> SimCrontab::lost_in(const State& durable, Time now) const {
  const auto* crontab = durable.crontabs.find(user);
  for (const CrontabJob& entry : crontab ? (*crontab)->jobs : std::vector<CrontabJob>{}) {
    const Job& job = durable.job(entry.key);
    const std::string who = "job " + std::to_string(job.id.value) + " of a crontab ";
    if (job.state == JobState::ended && job.ended_at + seconds(5) < now) return who + "does not come again";
    if (job.state == JobState::pending && job.begin_at > now + seconds(120)) return who + "waits for a time far away";
  }
  return std::nullopt;
}

}  // namespace millrace
