// src/wire/standing_types.cpp - crontabs and triggers between core's types and the log's.
#include "wire/log_types.h"

namespace millrace {

void put(const Trigger& from, log::Trigger& to) {
  to.set_id(from.id.value);
  to.set_uid(from.uid.value);
  to.set_event(static_cast<std::uint32_t>(from.event));
  to.set_job(from.job.value);
  to.set_job_id(from.job_id.value);
  to.set_nodes(from.nodes);
  to.set_offset_seconds(from.offset_seconds);
  to.set_permanent(from.permanent);
  to.set_program(from.program);
  for (const TriggerDue& due : from.due) {
    auto* each = to.add_due();
    each->set_at(due.at.value);
    each->set_about(due.about);
  }
}

Trigger get(const log::Trigger& from) {
  Trigger to{.id = TriggerId{from.id()},
             .uid = UserId{from.uid()},
             .event = static_cast<TriggerEvent>(from.event()),
             .job = JobKey{from.job()},
             .job_id = JobId{from.job_id()},
             .nodes = from.nodes(),
             .offset_seconds = from.offset_seconds(),
             .permanent = from.permanent(),
             .program = from.program()};
  for (const log::TriggerDue& due : from.due()) to.due.push_back({Time{due.at()}, due.about()});
  return to;
}

void put(UserId uid, const Crontab& from, log::Crontab& to) {
  to.set_uid(uid.value);
  to.set_text(from.text);
  for (const CrontabJob& job : from.jobs) {
    auto* each = to.add_jobs();
    each->set_key(job.key.value);
    each->set_line(job.line);
  }
}

Crontab get(const log::Crontab& from) {
  Crontab to{.text = from.text(), .jobs = {}};
  for (const log::CrontabJob& job : from.jobs()) to.jobs.push_back({JobKey{job.key()}, job.line()});
  return to;
}

}  // namespace millrace
