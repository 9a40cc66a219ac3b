// src/controller/requests/trigger_commands.cpp - triggers: programs that run when something happens to nodes and jobs.
#include <algorithm>

#include "controller/requests/handlers.h"
#include "core/admission/report_node.h"
#include "wire/record_message.h"

namespace millrace {

static constexpr std::size_t triggers_max = 1000;
static constexpr std::size_t triggers_of_user_max = 100;

void TriggerCommands::set(const wire::SetTrigger& ask) {
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

void TriggerCommands::clear(const wire::ClearTriggers& ask) {
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

void TriggerCommands::query() {
  wire::Reply out = reply();
  wire::Triggers& list = *out.mutable_triggers();
  for (const auto& [id, trigger] : c_.commit.durable().triggers) put(*trigger, *list.add_triggers());
  answer(out);
}

}  // namespace millrace
