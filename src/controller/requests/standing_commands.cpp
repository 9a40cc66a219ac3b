// src/controller/requests/standing_commands.cpp - requests about crontabs and triggers: what users leave with the
// controller.
#include <algorithm>

#include "base/text.h"
#include "controller/readers/crontabs.h"
#include "controller/requests/handlers.h"
#include "controller/requests/submission.h"
#include "wire/record_message.h"

namespace millrace {
namespace {

constexpr std::size_t triggers_max = 1000;
constexpr std::size_t triggers_of_user_max = 100;

constexpr const char* no_crontabs = "scrontab is disabled on this cluster; ScronParameters=enable would allow it";

}  // namespace

void StandingCommands::set_crontab(const wire::SetCrontab& ask) {
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
    StandingCommands self{c, asker, request};
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

void StandingCommands::query_crontab(const wire::QueryCrontab& ask) {
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
  answer(std::move(out));
}

void StandingCommands::set_trigger(const wire::SetTrigger& ask) {
  // An operator's runs as that user, too: it is root's and SlurmUser's that run as the controller.
  if (!actor_.is_super && !c_.settings.user_triggers)
    return refuse_with({RefusalCode::access_denied,
                        {"only root and SlurmUser may set triggers; SlurmctldParameters=allow_user_triggers would let "
                         "users set some of their own"}});
  if (!actor_.is_super && !c_.settings.is_root)
    return refuse_with(
        {RefusalCode::access_denied,
         {"triggers of users need a controller that is root (SlurmUser=root): they run as the user who set them"}});
  const State& state = c_.commit.decided();
  if (ask.trigger().event() > static_cast<std::uint32_t>(TriggerEvent::controller_started) ||
      !ask.trigger().program().starts_with('/'))
    return refuse_with(RefusalCode::not_supported, "a known event and an absolute path of a program would be right");
  auto trigger = get<Trigger>(ask.trigger());
  trigger.due.clear();
  trigger.id = state.next_trigger;
  trigger.uid = asker_.uid;
  trigger.job = JobKey{};
  if (!actor_.is_admin &&
      (trigger.event == TriggerEvent::reconfigured || trigger.event == TriggerEvent::controller_started))
    return refuse_with({RefusalCode::access_denied, {"triggers of the controller are an administrator's"}});
  if (trigger.job_id.value != 0) {
    const Job* job = state.find_job(trigger.job_id);
    if (!job) return refuse_with({RefusalCode::invalid_job_id, {}});
    if (!actor_.is_admin && job->spec->owner->uid != asker_.uid)
      return refuse_with({RefusalCode::access_denied, {"the job is another user's"}});
    if (job->state == JobState::ended) return refuse_with({RefusalCode::already_done, {}});
    trigger.job = job->key;
  }
  if (!trigger.nodes.empty())
    if (const auto nodes = resolve_nodes(state, trigger.nodes); !nodes) return refuse_with(nodes.error());
  for (const auto& [id, other] : state.triggers) {
    Trigger same = *other;
    same.id = trigger.id;
    same.due.clear();
    if (same == trigger) return refuse_with({RefusalCode::duplicate_trigger, {}});
  }
  std::size_t own = 0;
  for (const auto& [id, other] : state.triggers) own += other->uid == asker_.uid ? 1 : 0;
  if (!actor_.is_admin && own >= triggers_of_user_max)
    return refuse_with(RefusalCode::not_supported,
                       "a user has at most " + std::to_string(triggers_of_user_max) + " triggers");
  if (state.triggers.size() >= triggers_max)
    return refuse_with(RefusalCode::not_supported, "there are " + std::to_string(triggers_max) + " triggers already");
  if (!happen({TriggerSet{std::move(trigger), c_.loop.now()}})) return;
  done_when_durable();
}

void StandingCommands::clear_triggers(const wire::ClearTriggers& ask) {
  if (!actor_.is_admin && !c_.settings.user_triggers) return refuse_with({RefusalCode::access_denied, {}});
  std::vector<Event> events;
  for (const auto& [id, trigger] : c_.commit.decided().triggers)
    if ((ask.id() == 0 || ask.id() == id.value) && (ask.job_id() == 0 || ask.job_id() == trigger->job_id.value) &&
        (!ask.has_uid() || ask.uid() == trigger->uid.value) && (actor_.is_admin || trigger->uid == asker_.uid))
      events.emplace_back(TriggerRemoved{id, c_.loop.now()});
  if (events.empty()) return refuse_with(RefusalCode::no_such_process, "no trigger matches");
  if (!happen(std::move(events))) return;
  done_when_durable();
}

void StandingCommands::query_triggers() {
  wire::Reply out = reply();
  wire::Triggers& list = *out.mutable_triggers();
  for (const auto& [id, trigger] : c_.commit.durable().triggers) put(*trigger, *list.add_triggers());
  answer(std::move(out));
}

}  // namespace millrace
