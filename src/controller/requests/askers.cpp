// src/controller/requests/askers.cpp - see askers.h.
#include "controller/requests/askers.h"

#include <algorithm>
#include <memory>

#include "core/ledger/apply_account.h"

namespace millrace {

static constexpr std::size_t plain_lookups_max = 16;

bool Askers::knows(const Asker& asker) {
  const bool known = asker.plain_user || asker.uid.value == 0 || asker.uid == c_.settings.slurm_user ||
                     !names_.wants(asker.uid, c_.loop.steady());
  return known || !has_offices();
}

void Askers::learn(const Asker& asker, Task then) {
  look_up(asker, asker.uid, asker.gid,
          [this, uid = asker.uid, then = std::move(then)](const Result<UserIdentity>& identity) mutable {
            // Else an ordinary user, and asked for again. Where nobody answers, who was known before stays so.
            if (identity)
              names_.learn(uid, identity->user_name, c_.loop.steady());
            else if (identity.error().code == Errc::not_found)
              names_.forget(uid);
            else
              names_.postpone(uid, c_.loop.steady());
            then();
          });
}

void Askers::look_up(const Asker& asker, UserId uid, GroupId gid,
                     std::move_only_function<void(const Result<UserIdentity>&)> then) {
  const auto at_once = std::make_shared<bool>(true);
  c_.identities.find(uid, gid,
                     [this, at_once, whose = Turn(asker), client = asker.client,
                      then = std::move(then)](Result<UserIdentity> identity) mutable {
                       if (*at_once) return then(identity);
                       turns_.add(whose, client, [then = std::move(then), identity = std::move(identity)]() mutable {
                         then(identity);
                         return false;
                       });
                     });
  *at_once = false;
}

bool Askers::name(const Asker& asker, std::move_only_function<void(const UserIdentity&)> then) {
  if (asker.plain_user && plain_lookups_ >= plain_lookups_max) return false;
  if (asker.plain_user) ++plain_lookups_;
  c_.identities.find(asker.uid, asker.gid, [this, asker, then = std::move(then)](Result<UserIdentity> found) mutable {
    if (asker.plain_user) --plain_lookups_;
    then(found ? *found : UserIdentity{asker.uid, asker.gid, {}, {}, {}});
  });
  return true;
}

// Asked with every request, so that it is counted again only when an account has changed.
bool Askers::has_offices() {
  const State& state = c_.commit.decided();
  if (offices_ && offices_->first == state.accounts_version) return offices_->second;
  bool any = std::ranges::any_of(*state.account_users,
                                 [](const AccountUser& user) { return user.admin_level != AdminLevel::none; });
  for (const auto& [id, each] : state.associations) any = any || !each->coordinators.empty();
  offices_ = {state.accounts_version, any};
  return any;
}

Actor Askers::actor_of(const Asker& asker, bool operators_too) const {
  Actor out{.uid = asker.uid};
  out.is_super = out.is_admin = asker.uid.value == 0 || asker.uid == c_.settings.slurm_user;
  const std::string* known = names_.find(asker.uid);
  if (!known || asker.plain_user) return out;
  out.name = *known;
  const AccountUser* user = c_.commit.decided().find_account_user(out.name);
  if (user && !out.is_admin) {
    out.is_operator = user->admin_level == AdminLevel::operates;
    out.is_admin = user->admin_level == AdminLevel::administers || (out.is_operator && operators_too);
  }
  if (!out.is_admin) out.accounts = coordinated_by(c_.commit.decided(), out.name);
  return out;
}

}  // namespace millrace
