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
}

Trigger get(const log::Trigger& from) {
  return {.id = TriggerId{from.id()},
          .uid = UserId{from.uid()},
          .event = static_cast<TriggerEvent>(from.event()),
          .job = JobKey{from.job()},
          .job_id = JobId{from.job_id()},
          .nodes = from.nodes(),
          .offset_seconds = from.offset_seconds(),
          .permanent = from.permanent(),
          .program = from.program()};
}

void put(UserId uid, const Crontab& from, log::Crontab& to) {
  to.set_uid(uid.value);
  to.set_text(from.text);
  for (const JobKey key : from.jobs) to.add_jobs(key.value);
}

Crontab get(const log::Crontab& from) {
  Crontab to{.text = from.text(), .jobs = {}};
  for (const std::uint64_t key : from.jobs()) to.jobs.push_back(JobKey{key});
  return to;
}

}  // namespace millrace
