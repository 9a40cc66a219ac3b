// src/controller/requests/crontab_commands.cpp - crontabs that users leave with the controller.
#include <algorithm>

#include "controller/readers/crontabs.h"
#include "controller/requests/handlers.h"
#include "controller/requests/submission.h"

namespace millrace {

static constexpr const char* no_crontabs =
    "scrontab is disabled on this cluster; ScronParameters=enable would allow it";

void CrontabCommands::set(const wire::SetCrontab& ask) {
  if (!c_.settings.crontabs) return refuse_with(RefusalCode::not_supported, no_crontabs);
  const UserId uid = ask.has_uid() ? UserId{ask.uid()} : asker_.uid;
  if (std::ranges::any_of(ask.entries(), [&](const wire::CronEntry& entry) { return refuses_words(entry.job()); }))
    return;
  const bool for_another = uid != asker_.uid && !ask.entries().empty();
  if (for_another &&
      std::ranges::any_of(ask.entries(), [](const wire::CronEntry& entry) { return !entry.job().job().has_as_gid(); }))
    return refuse_with(RefusalCode::not_supported, "the group of the user is not said");
  const GroupId gid = for_another ? GroupId{ask.entries(0).job().job().as_gid()} : asker_.gid;
  c_.identities.find(uid, gid, [&c = c_, asker = asker_, request = request_, uid](Result<UserIdentity> identity) {
    CrontabCommands self{c, asker, request};
    if (!identity) return self.refuse_with(RefusalCode::invalid_user, identity.error().story);
    const wire::SetCrontab& ask = request.set_crontab();
    std::vector<CrontabLine> lines;
    std::size_t beyond = 0;
    for (const wire::CronEntry& entry : ask.entries()) {
      std::vector<SubmitJob> jobs = to_submit_jobs(entry.job(), *identity);
      (void)settle_extras(jobs, {c.settings.cluster.allow_spec_resources,
                                 c.hooks.site_programs().nodes_can_reboot});  // nobody reads what it would say
      if (jobs.size() != 1)
        return self.refuse_with({RefusalCode::not_het_job,
                                 {"line " + std::to_string(entry.line()) + ": a job of scrontab has one component"}});
      jobs.front().spec.submission = {};  // it is the crontab that is asked for, and asking twice gives the same
      jobs.front().spec.script = payload_id(entry.job().script()).digest;
      if (!entry.job().environment().empty())
        jobs.front().spec.environment = payload_id(entry.job().environment()).digest;
      beyond += StoredBytes::beyond_ordinary(jobs.front().spec);
      lines.push_back({entry.line(), entry.times(), std::move(jobs.front())});
    }
    if (self.refuses_bytes(uid, beyond)) return;
    auto decision = decide_crontab(c.commit.decided(), uid, ask.text(), std::move(lines),
                                   {uid, self.actor_.is_admin && uid == asker.uid}, c.loop.now());
    if (!decision) return self.refuse_with(decision.error());
    std::uint64_t payloads = 0;
    for (const wire::CronEntry& entry : ask.entries())
      payloads += entry.job().script().size() + entry.job().environment().size();
    if (self.refuses_for_room({*decision}, payloads)) return;
    for (const wire::CronEntry& entry : ask.entries()) {
      c.orders.payloads().remember(c.commit.add_payload(entry.job().script()), entry.job().script());
      if (!entry.job().environment().empty())
        c.orders.payloads().remember(c.commit.add_payload(entry.job().environment()), entry.job().environment());
    }
    wire::Reply out = self.reply();
    for (const JobSubmitted& job : decision->submitted) out.mutable_crontab()->add_job_ids(job.id.value);
    out.mutable_crontab()->set_known(!ask.text().empty());
    if (!self.commit({*std::move(decision)})) return;
    self.answer_when_durable(std::move(out));
  });
}

void CrontabCommands::query(const wire::QueryCrontab& ask) {
  if (!c_.settings.crontabs) return refuse_with(RefusalCode::not_supported, no_crontabs);
  const UserId uid = ask.has_uid() ? UserId{ask.uid()} : asker_.uid;
  wire::Reply out = reply();
  wire::CrontabView& view = *out.mutable_crontab();
  if (const auto* crontab = c_.commit.durable().crontabs.find(uid)) {
    view.set_known(true);
    view.set_text((*crontab)->text);
    for (const CrontabJob& entry : (*crontab)->jobs)
      if (const Job* job = c_.commit.durable().find_job(entry.key)) view.add_job_ids(job->id.value);
  }
  answer(out);
}

}  // namespace millrace
