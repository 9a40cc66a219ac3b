// src/controller/requests/account_commands.cpp - sacctmgr's changes: decided, made durable, answered with what was
// changed; the rights it gives.
#include <algorithm>
#include <set>

#include "controller/requests/handlers.h"
#include "core/admission/change_account.h"
#include "core/ledger/apply_account.h"
#include "core/ledger/kept_jobs.h"

namespace millrace {
namespace {

constexpr std::size_t annotations_bytes_max = 4u << 20;  // of one request: its words are kept for each job it names

// Slurm's number for it.
std::uint32_t code_of(const Error& error) {
  if (error.code != Errc::refused) return 2036;
  if (error.story.starts_with(default_account_stays)) return 7009;
  const RefusalCode code = error.story.starts_with(slurm_text(RefusalCode::jobs_on_association))
                               ? RefusalCode::jobs_on_association
                               : RefusalCode::access_denied;
  return static_cast<std::uint32_t>(code);
}

}  // namespace

void AccountCommands::change(const wire::ChangeAccounts& ask) {
  AccountChange change;
  change.action = static_cast<AccountAction>(ask.action());
  change.entity = static_cast<AccountEntity>(ask.entity());
  if (ask.action() > static_cast<std::uint32_t>(AccountAction::remove) ||
      ask.entity() > static_cast<std::uint32_t>(AccountEntity::coordinator))
    return refuse_with(RefusalCode::not_supported, "unknown change");
  const auto settings = [](const auto& from) {
    std::vector<AccountSetting> out;
    for (const auto& each : from) out.push_back({each.key(), each.op().empty() ? '=' : each.op()[0], each.value()});
    return out;
  };
  change.where = settings(ask.where());
  change.set = settings(ask.set());
  // The name of who did it stays with what was done.
  if (actor_.name.empty())
    return c_.identities.find(asker_.uid, asker_.gid,
                              [&c = c_, asker = asker_, request = request_, change](Result<UserIdentity> identity) {
                                AccountCommands self{c, asker, request};
                                self.actor_.name = identity ? identity->user_name : std::to_string(asker.uid.value);
                                self.decide(change);
                              });
  decide(change);
}

void AccountCommands::decide(const AccountChange& change) {
  const wire::ChangeAccounts& ask = request_.change_accounts();
  auto decision = decide_accounts(c_.commit.decided(), change, actor_, c_.loop.now());
  wire::Reply out = reply();
  if (!decision) {
    out.mutable_failure()->set_code(code_of(decision.error()));
    out.mutable_failure()->set_text(decision.error().story);
    return answer(out);
  }
  wire::AccountsChanged& changed = *out.mutable_accounts_changed();
  for (const std::string& name : decision->names) changed.add_names(name);
  for (const AssociationName& name : decision->associations) {
    auto* added = changed.add_associations();
    added->set_account(name.account);
    added->set_user(name.user);
    added->set_partition(name.partition);
  }
  if (ask.try_only()) return answer(out);
  // Where there is nothing to change, that may rest on a change which is not durable yet: this answer waits for it too.
  if (!decision->events.empty() && !happen(std::move(decision->events))) return;
  answer_when_durable(std::move(out));
}

// sacctmgr modify job: the owner's words, and an administrator's about all.
void AccountCommands::annotate_record(const wire::AnnotateRecord& ask) {
  const State& state = c_.commit.decided();
  std::vector<Event> events;
  wire::Reply out = reply();
  wire::AccountsChanged& changed = *out.mutable_accounts_changed();
  const std::size_t bytes_of_each = 128 + ask.comment().size() + ask.admin_comment().size() +
                                    ask.system_comment().size() + ask.extra().size() + ask.wckey().size() +
                                    ask.derived_exit().size();
  for (const std::uint32_t number : std::set<std::uint32_t>(ask.job_ids().begin(), ask.job_ids().end())) {
    if (events.size() * bytes_of_each > annotations_bytes_max) return refuse_with(JobSelector::refusal());
    const Job* job = state.find_job(JobId{number});
    const KeptJob* kept = job ? nullptr : newest_kept(state, JobId{number});
    if (kept) job = kept->job.get();
    if (!job) continue;
    if (!ask.user().empty() && job->spec->owner->user_name != ask.user()) continue;
    if (job->state != JobState::ended)
      return refuse_with({RefusalCode::not_supported,
                          {"job " + std::to_string(number) + " has not ended; scontrol update changes it"}});
    const bool of_administrators = ask.has_admin_comment() || ask.has_system_comment() || ask.has_wckey();
    if (!may_change(*job, actor_) || (of_administrators && !actor_.is_admin))
      return refuse_with({RefusalCode::access_denied, {}});
    RecordAnnotated event{.key = job->key,
                          .comment = {},
                          .admin_comment = {},
                          .system_comment = {},
                          .extra = {},
                          .wckey = {},
                          .derived_exit = {},
                          .at = c_.loop.now()};
    if (ask.has_comment()) event.comment = ask.comment();
    if (ask.has_admin_comment()) event.admin_comment = ask.admin_comment();
    if (ask.has_system_comment()) event.system_comment = ask.system_comment();
    if (ask.has_extra()) event.extra = ask.extra();
    if (ask.has_wckey()) event.wckey = ask.wckey();
    if (ask.has_derived_exit()) event.derived_exit = ask.derived_exit();
    events.emplace_back(std::move(event));
    changed.add_names(std::to_string(number));
  }
  if (ask.try_only()) return answer(out);
  if (!events.empty() && !happen(std::move(events))) return;
  answer_when_durable(std::move(out));
}

}  // namespace millrace
