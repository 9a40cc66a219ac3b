// src/controller/readers/job_mail.cpp - see job_mail.h.
#include "controller/readers/job_mail.h"

#include <algorithm>

#include "base/shown_text.h"
#include "base/text.h"
#include "controller/views/views.h"

namespace millrace {
namespace {

constexpr std::uint32_t of_time_limit = mail_time_limit_50 | mail_time_limit_80 | mail_time_limit_90 | mail_time_limit;

struct TypeRow {
  MailType type;
  const char* word;  // in the subject
  const char* name;  // SLURM_JOB_MAIL_TYPE
};
constexpr TypeRow types[] = {
    {mail_begin, "Began", "Began"},
    {mail_end, "Ended", "Ended"},
    {mail_fail, "Failed", "Failed"},
    {mail_requeue, "Requeued", "Requeued"},
    {mail_invalid_depend, "Invalid dependency", "Invalid dependency"},
    {mail_time_limit_50, "Reached 50% of time limit", "Reached 50% of time limit"},
    {mail_time_limit_80, "Reached 80% of time limit", "Reached 80% of time limit"},
    {mail_time_limit_90, "Reached 90% of time limit", "Reached 90% of time limit"},
    {mail_time_limit, "Reached time limit", "Reached time limit"},
};

const TypeRow& row_of(MailType type) {
  for (const TypeRow& row : types)
    if (row.type == type) return row;
  return types[0];
}

std::string state_word(const Job& job) { return wire::JobStateName_Name(shown_state(job)); }

bool is_well(const Job& job) { return job.outcome == Outcome::completed || job.outcome == Outcome::cancelled; }

struct ExitCodes {
  std::uint32_t least = 0, most = 0, signal = 0;
  bool well = true;
};

// Of all its tasks that are still known.
ExitCodes codes_of_array(const State& state, JobKey array) {
  ExitCodes out{UINT32_MAX, 0, 0, true};
  for (const auto& [key, job] : state.jobs) {
    if (job->array != array || job->state != JobState::ended || job->is_array_rest()) continue;
    out.least = std::min(out.least, job->exit_code);
    out.most = std::max(out.most, job->exit_code);
    out.signal = std::max(out.signal, job->exit_signal);
    out.well = out.well && is_well(*job);
  }
  if (out.least == UINT32_MAX) out.least = 0;
  return out;
}

JobMail make(const State& state, const Job& job, MailType type, bool whole_array, Time now) {
  JobMail out{.key = job.key, .type = type, .whole_array = whole_array, .subject = {}, .variables = {}};
  const auto variable = [&](const char* name, const std::string& value) {
    out.variables.push_back(std::string{name} + "=" + value);
  };
  const ArrayState* array = state.find_array(job.array);
  std::string name = "Slurm Job_id=" + std::to_string(job.id.value);
  if (array && whole_array)
    name =
        "Slurm Array Summary Job_id=" + std::to_string(array->id.value) + "_* (" + std::to_string(job.id.value) + ")";
  else if (array && job.array_task)
    name = "Slurm Array Task Job_id=" + std::to_string(array->id.value) + "_" + std::to_string(*job.array_task) + " (" +
           std::to_string(job.id.value) + ")";
  out.subject = name + " Name=" + shown_text(job.spec->name) + " " + row_of(type).word;  // one line
  variable("SLURM_JOB_STATE", state_word(job));
  variable("SLURM_JOB_MAIL_TYPE", row_of(type).name);
  if (type == mail_begin) {
    const Time since = std::max(job.submitted_at, job.begin_at);
    const std::string queued = format_duration(std::max<std::int64_t>((job.started_at - since).value / 1'000'000, 0));
    out.subject += ", Queued time " + queued;
    variable("SLURM_JOB_QUEUED_TIME", queued);
  } else if (type != mail_invalid_depend) {
    const bool ran = job.started_at.is_set();
    const std::string time = format_duration(ran ? job.ran_until(now).value / 1'000'000 : 0);
    out.subject += ", Run time " + time;
    variable("SLURM_JOB_RUN_TIME", time);
  }
  if (type != mail_end && type != mail_fail) return out;
  const ExitCodes codes = array && whole_array ? codes_of_array(state, job.array)
                                               : ExitCodes{job.exit_code, job.exit_code, job.exit_signal, true};
  const bool mixed = array && whole_array && codes.least == 0 && (codes.most > 0 || !codes.well);
  out.subject += ", " + (mixed ? std::string{"Mixed"} : state_word(job));
  if (codes.signal != 0 && array && whole_array)
    out.subject += ", MaxSignal [" + std::to_string(codes.signal) + "]";
  else if (array && whole_array)
    out.subject += ", ExitCode [" + std::to_string(codes.least) + "-" + std::to_string(codes.most) + "]";
  else if (codes.signal == 0)
    out.subject += ", ExitCode " + std::to_string(codes.most);
  variable("SLURM_JOB_EXIT_CODE_MAX", std::to_string(codes.most));
  variable("SLURM_JOB_EXIT_CODE_MIN", std::to_string(codes.least));
  if (codes.signal != 0) variable("SLURM_JOB_TERM_SIGNAL_MAX", std::to_string(codes.signal));
  return out;
}

// One mail for an end: of a failure where that is wanted, else of the end.
std::optional<MailType> type_of_end(std::uint32_t wanted, bool well) {
  if (!well && (wanted & mail_fail) != 0) return mail_fail;
  if ((wanted & mail_end) != 0) return mail_end;
  return std::nullopt;
}

bool has_begun(const Job& job) {
  return job.is_on_nodes() || (job.state == JobState::ended && job.started_at.is_set());
}

bool is_mailed(const Job& job) { return job.spec->extras && job.spec->extras->mail_types != 0 && !job.is_component(); }

}  // namespace

std::string mail_recipient(const JobSpec& spec, const std::string& domain) {
  std::string out = spec.extra_request().mail_user.empty() ? spec.owner->user_name : spec.extra_request().mail_user;
  if (!domain.empty() && out.find('@') == std::string::npos) out += "@" + domain;
  return out;
}

void JobMails::remember(const State& state, Time now) {
  for (const auto& [key, job] : state.jobs)
    if (is_mailed(*job)) look(state, key, now);
  std::vector<JobMail> old = time_passed(state, now);
}

void JobMails::look_at_array(const State& state, const Job& job, bool began, bool ended, Time now,
                             std::vector<JobMail>& out) {
  const ArrayState* array = state.find_array(job.array);
  if (!array) return;
  const std::uint32_t wanted = job.spec->extras->mail_types;
  SeenArray& seen = arrays_[job.array];
  if (began && !seen.begun) {
    seen.begun = true;
    if ((wanted & mail_begin) != 0) out.push_back(make(state, job, mail_begin, true, now));
  }
  if (ended && !seen.ended && array->ended >= array->spec.tasks.size()) {
    seen.ended = true;
    if (const auto type = type_of_end(wanted, codes_of_array(state, job.array).well))
      out.push_back(make(state, job, *type, true, now));
  }
}

void JobMails::look_at_clock(const Job& job, Seen& seen, Time now, const State& state, std::vector<JobMail>& out) {
  const std::uint32_t wanted = job.spec->extras->mail_types & of_time_limit & ~seen.told;
  if (wanted == 0 || job.time_limit_minutes == unlimited || !has_begun(job)) return;
  const std::int64_t limit = minutes(job.time_limit_minutes).value, ran = job.ran_until(now).value;
  struct Mark {
    MailType type;
    std::int64_t percent;
  };
  std::optional<MailType> highest;
  for (const Mark& mark : {Mark{mail_time_limit_50, 50}, Mark{mail_time_limit_80, 80}, Mark{mail_time_limit_90, 90},
                           Mark{mail_time_limit, 100}}) {
    const bool reached =
        mark.percent == 100 ? job.outcome == Outcome::timeout || ran >= limit : ran >= limit / 100 * mark.percent;
    if (!reached || (wanted & mark.type) == 0) continue;
    seen.told |= mark.type;
    highest = mark.type;
  }
  if (highest && job.state != JobState::ended)
    out.push_back(make(state, job, *highest, false, now));
  else if (highest == mail_time_limit)
    out.push_back(make(state, job, mail_time_limit, false, now));
}

std::vector<JobMail> JobMails::look(const State& state, JobKey key, Time now) {
  std::vector<JobMail> out;
  const Job* job = state.find_job(key);
  if (!job) {
    seen_.erase(key);
    arrays_.erase(key);
    return out;
  }
  if (!is_mailed(*job) || job->is_array_rest()) return out;
  const std::uint32_t wanted = job->spec->extras->mail_types;
  const auto [it, fresh] = seen_.try_emplace(key, Seen{.attempt = job->attempt});
  Seen& seen = it->second;
  // A job of its own is first seen when it is submitted; one that is seen later was given its --mail-type then.
  if (fresh && !job->array_task && job->state != JobState::pending) seen.begun = true;
  const bool as_array = job->array_task && (wanted & mail_array_tasks) == 0;
  if (seen.attempt != job->attempt) {
    seen = Seen{.attempt = job->attempt};
    if ((wanted & mail_requeue) != 0) out.push_back(make(state, *job, mail_requeue, false, now));
  }
  const bool began = !seen.begun && has_begun(*job), ended = !seen.ended && job->state == JobState::ended;
  seen.begun = seen.begun || began;
  seen.ended = seen.ended || ended;
  if (as_array) {
    look_at_array(state, *job, began, ended, now, out);
    return out;
  }
  if (!seen.never && job->dependency_never && job->state == JobState::pending) {
    seen.never = true;
    if ((wanted & mail_invalid_depend) != 0) out.push_back(make(state, *job, mail_invalid_depend, false, now));
  }
  if (began && (wanted & mail_begin) != 0) out.push_back(make(state, *job, mail_begin, false, now));
  look_at_clock(*job, seen, now, state, out);
  if (ended)
    if (const auto type = type_of_end(wanted, is_well(*job))) out.push_back(make(state, *job, *type, false, now));
  return out;
}

std::vector<JobMail> JobMails::time_passed(const State& state, Time now) {
  std::vector<JobMail> out;
  for (auto& [key, seen] : seen_) {
    const Job* job = seen.begun && !seen.ended ? state.find_job(key) : nullptr;
    if (job && is_mailed(*job) && job->state == JobState::running) look_at_clock(*job, seen, now, state, out);
  }
  return out;
}

}  // namespace millrace
