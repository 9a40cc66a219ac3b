// src/controller/account_commands.cpp - sacctmgr's changes: decided, made durable, answered with what was changed.
#include "controller/commands.h"
#include "core/admission/change_account.h"

namespace millrace {

void Commands::change_accounts(const wire::ChangeAccounts& ask) {
  AccountChange change;
  change.action = static_cast<AccountAction>(ask.action());
  change.entity = static_cast<AccountEntity>(ask.entity());
  if (ask.action() > static_cast<std::uint32_t>(AccountAction::remove) || ask.entity() > static_cast<std::uint32_t>(AccountEntity::qos))
    return refuse_with(2036, "Requested operation not supported on this system", "unknown change");
  const auto settings = [](const auto& from) {
    std::vector<AccountSetting> out;
    for (const auto& each : from) out.push_back({each.key(), each.op().empty() ? '=' : each.op()[0], each.value()});
    return out;
  };
  change.where = settings(ask.where());
  change.set = settings(ask.set());
  auto decision = decide_accounts(c_.commit_.decided(), change, actor_, c_.loop_.now());
  if (!decision) return refuse_with(decision.error().code == Errc::refused ? 2002 : 2036, decision.error().story);
  wire::Reply out = reply();
  wire::AccountsChanged& changed = *out.mutable_accounts_changed();
  for (const std::string& name : decision->names) changed.add_names(name);
  for (const AssociationName& name : decision->associations) {
    auto* added = changed.add_associations();
    added->set_account(name.account);
    added->set_user(name.user);
    added->set_partition(name.partition);
  }
  if (ask.try_only()) return answer(std::move(out));
  // Where there is nothing to change, that may rest on a change which is not durable yet: this answer waits for it too.
  if (!decision->events.empty()) c_.commit_.happen(std::move(decision->events));
  answer_when_durable(std::move(out));
}

}  // namespace millrace
