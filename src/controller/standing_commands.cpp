// src/controller/standing_commands.cpp - crontabs: what users leave with the controller, and what follows from it when their jobs end.
#include <algorithm>

#include "base/text.h"
#include "controller/commands.h"
#include "controller/crontabs.h"
#include "controller/submission.h"

namespace millrace {
namespace {

// A word of a key of slurm.conf whose value is a list.
bool is_configured(const ControllerHooks& hooks, std::string_view key, std::string_view wanted) {
  wire::Config config;
  hooks.show_config(config);
  for (const auto& entry : config.entries())
    if (entry.key() == key)
      for (const std::string_view word : split(entry.value(), ','))
        if (equals_ignoring_case(trim(word), wanted)) return true;
  return false;
}

}  // namespace

void Commands::set_crontab(const wire::SetCrontab& ask) {
  if (!is_configured(c_.hooks_, "ScronParameters", "enable")) return refuse_with(2036, "Requested operation not supported on this system", "scrontab is disabled on this cluster; ScronParameters=enable would allow it");
  const UserId uid = ask.has_uid() ? UserId{ask.uid()} : asker_.uid;
  if (uid != asker_.uid && !actor_.is_admin) return refuse_with({RefusalCode::access_denied, {"only an administrator may change another user's crontab"}});
  std::uint64_t bytes = ask.text().size();
  for (const wire::CronEntry& entry : ask.entries()) bytes += entry.job().script().size() + entry.job().environment().size() + 8192;
  if (c_.log_.room(bytes) != Room::enough) return refuse_with(2019, "I/O error writing script/environment to file", "the controller's disk has no room for new jobs; try again later");
  const GroupId gid = uid == asker_.uid ? asker_.gid : GroupId{UINT32_MAX};
  c_.identities_.find(uid, gid, [&c = c_, asker = asker_, request = request_, uid](Result<UserIdentity> identity) {
    Commands self{c, asker, request};
    if (!identity) return self.refuse_with(2010, "Invalid user id", identity.error().story);
    const wire::SetCrontab& ask = request.set_crontab();
    std::vector<CrontabLine> lines;
    for (const wire::CronEntry& entry : ask.entries()) {
      std::vector<SubmitJob> jobs = to_submit_jobs(entry.job(), *identity);
      if (jobs.size() != 1) return self.refuse_with({RefusalCode::not_het_job, {"line " + std::to_string(entry.line()) + ": a job of scrontab has one component"}});
      jobs.front().spec.script = payload_id(entry.job().script()).digest;
      if (!entry.job().environment().empty()) jobs.front().spec.environment = payload_id(entry.job().environment()).digest;
      lines.push_back({entry.line(), entry.times(), std::move(jobs.front())});
    }
    auto decision = decide_crontab(c.commit_.decided(), uid, ask.text(), std::move(lines), {uid, self.actor_.is_admin && uid == asker.uid}, c.loop_.now());
    if (!decision) return self.refuse_with(decision.error());
    for (const wire::CronEntry& entry : ask.entries()) {
      c.payloads_.remember(c.commit_.add_payload(entry.job().script()), entry.job().script());
      if (!entry.job().environment().empty()) c.payloads_.remember(c.commit_.add_payload(entry.job().environment()), entry.job().environment());
    }
    wire::Reply out = self.reply();
    for (const JobId id : decision->jobs) out.mutable_crontab()->add_job_ids(id.value);
    out.mutable_crontab()->set_known(!ask.text().empty());
    c.commit_.happen(std::move(decision->events));
    self.answer_when_durable(std::move(out));
  });
}

void Commands::query_crontab(const wire::QueryCrontab& ask) {
  if (!is_configured(c_.hooks_, "ScronParameters", "enable")) return refuse_with(2036, "Requested operation not supported on this system", "scrontab is disabled on this cluster; ScronParameters=enable would allow it");
  const UserId uid = ask.has_uid() ? UserId{ask.uid()} : asker_.uid;
  if (uid != asker_.uid && !actor_.is_admin) return refuse_with({RefusalCode::access_denied, {"only an administrator may see another user's crontab"}});
  wire::Reply out = reply();
  wire::CrontabView& view = *out.mutable_crontab();
  if (const auto* crontab = c_.commit_.durable().crontabs.find(uid)) {
    view.set_known(true);
    view.set_text((*crontab)->text);
    for (const JobKey key : (*crontab)->jobs)
      if (const Job* job = c_.commit_.durable().find_job(key)) view.add_job_ids(job->id.value);
  }
  answer(std::move(out));
}

// A job of a crontab that has ended is made to wait for its next time; also after a start, for those that ended just before.
void Controller::see_to_crontabs(const std::set<JobKey>& jobs) {
  for (const JobKey key : jobs)
    if (auto events = decide_next_run(commit_.decided(), key, loop_.now()); !events.empty()) commit_.happen(std::move(events));
}

}  // namespace millrace
