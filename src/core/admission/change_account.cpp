// src/core/admission/change_account.cpp - see change_account.h.
#include "core/admission/change_account.h"

#include <algorithm>

#include "base/text.h"
#include "core/admission/account_settings.h"
#include "core/admission/job_selection.h"
#include "core/ledger/apply.h"

namespace millrace {
namespace {

using Names = std::vector<std::string>;

// Everybody may say which of his own accounts and workload keys is meant where he names none.
bool chooses_own_default(const AccountChange& change, const Actor& actor) {
  if (change.action != AccountAction::modify || change.entity != AccountEntity::user || actor.name.empty() ||
      change.where.empty() || change.set.empty())
    return false;
  const auto himself = [&](const AccountSetting& s) {
    return (s.key == "name" || s.key == "user" || s.key == "users") && s.value == actor.name;
  };
  const auto a_default = [](const AccountSetting& s) { return s.key == "defaultaccount" || s.key == "defaultwckey"; };
  return std::ranges::all_of(change.where, himself) && std::ranges::all_of(change.set, a_default);
}

// Decides on a copy, so that each step sees what the one before did.
class Change {
 public:
  Change(const State& state, const AccountChange& ask, const Actor& actor, Time now)
      : state_(state), ask_(ask), actor_(actor), now_(now) {}

  Result<AccountDecision> run() {
    for (Event& event : decide_plant(state_, now_)) happen(std::move(event));
    const std::size_t planted = out_.events.size();
    switch (ask_.entity) {
      case AccountEntity::qos:
        MR_TRY_VOID(change_qos());
        break;
      case AccountEntity::account:
        MR_TRY_VOID(ask_.action == AccountAction::add ? add_accounts() : change_associations(false));
        break;
      case AccountEntity::user:
        MR_TRY_VOID(ask_.action == AccountAction::add ? add_users() : change_associations(true));
        break;
      case AccountEntity::coordinator:
        MR_TRY_VOID(change_coordinators());
        break;
    }
    if (out_.events.size() > planted)
      note_transaction();
    else
      out_.events.clear();  // what everybody takes to be there needs no fact as long as nothing hangs on it
    return std::move(out_);
  }

 private:
  void happen(Event event) {
    millrace::apply(state_, event);
    out_.events.push_back(std::move(event));
  }
  void put(const Association& association) {
    happen(AssociationChanged{association, now_});
    out_.associations.push_back({association.account, association.user, association.partition});
  }

  static bool is_key(const AccountSetting& s, std::initializer_list<std::string_view> names) {
    return std::ranges::any_of(names, [&](std::string_view name) { return s.key == name; });
  }
  Names values(const std::vector<AccountSetting>& list, std::initializer_list<std::string_view> names) const {
    Names out;
    for (const AccountSetting& s : list)
      if (is_key(s, names))
        for (const std::string_view word : split(s.value, ','))
          if (!trim(word).empty())
            out.emplace_back(ask_.entity == AccountEntity::user && s.key == "name" ? std::string{trim(word)}
                                                                                   : lower(trim(word)));
    return out;
  }
  std::optional<std::string> value(std::initializer_list<std::string_view> names) const {
    for (const AccountSetting& s : ask_.set)
      if (is_key(s, names)) return lower(s.value);
    return std::nullopt;
  }

  Result<void> set_all(Association& association, std::initializer_list<std::string_view> except) {
    for (const AccountSetting& s : ask_.set)
      if (!is_key(s, except)) MR_TRY_VOID(set_association(state_, s, association));
    return {};
  }

  Result<void> add_accounts() {
    const Names names = values(ask_.where, {"name", "account"});
    if (names.empty()) return fail(Errc::invalid, "Need name of account to add.");
    const std::string parent = value({"parent"}).value_or("root");
    const Association* above = state_.find_association(AssociationName{parent, {}, {}});
    if (!above) return fail(Errc::invalid, "This parent account '" + parent + "' doesn't exist.");
    const AssociationId above_id = above->id;
    for (const std::string& name : names) {
      if (state_.find_association(AssociationName{name, {}, {}})) continue;
      Association account;
      account.id = state_.next_association;
      account.parent = above_id;
      account.account = account.description = account.organization = name;
      MR_TRY_VOID(set_all(account, {"parent", "cluster", "clusters"}));
      MR_TRY_VOID(may_touch(account, parent));
      put(account);
      out_.names.push_back(name);
    }
    return {};
  }

  bool has_default(const std::string& user) const {
    return std::ranges::any_of(all(), [&](const Association& a) { return a.user == user && a.is_default; });
  }
  std::vector<Association> all() const {
    std::vector<Association> out;
    for (const auto& [id, association] : state_.associations) out.push_back(*association);
    return out;
  }

  void make_default(const std::string& user, const std::string& account) {
    for (Association each : all()) {
      if (each.user != user || each.is_default == (each.account == account)) continue;
      each.is_default = each.account == account;
      happen(AssociationChanged{each, now_});
    }
  }

  Result<void> add_users() {
    const Names names = values(ask_.where, {"name", "user"});
    if (names.empty()) return fail(Errc::invalid, "Need name of user to add.");
    const auto wanted_default = value({"defaultaccount"});
    Names accounts = values(ask_.set, {"account", "accounts", "acct"});
    if (accounts.empty() && wanted_default) accounts.push_back(*wanted_default);
    if (accounts.empty()) return fail(Errc::invalid, "Need name of account to add user to.");
    Names partitions = values(ask_.set, {"partition", "partitions"});
    if (partitions.empty()) partitions.emplace_back();
    for (const std::string& account : accounts)
      if (!state_.find_association(AssociationName{account, {}, {}}))
        return fail(Errc::invalid, "This account '" + account + "' doesn't exist.");
    for (const std::string& name : names) {
      bool fresh = false;
      for (const std::string& account : accounts)
        for (const std::string& partition : partitions) {
          if (state_.find_association(AssociationName{account, name, partition})) continue;
          Association user;
          user.id = state_.next_association;
          user.parent = state_.find_association(AssociationName{account, {}, {}})->id;
          user.account = account;
          user.user = name;
          user.partition = partition;
          user.is_default = !has_default(name);
          MR_TRY_VOID(set_all(user, {"account", "accounts", "acct", "partition", "partitions", "defaultaccount",
                                     "cluster", "clusters", "adminlevel", "admin", "wckey", "wckeys", "defaultwckey"}));
          MR_TRY_VOID(may_touch(user, account));
          put(user);
          fresh = true;
        }
      if (wanted_default) make_default(name, *wanted_default);
      MR_TRY(const bool person_changed, change_person(name));
      fresh = fresh || person_changed;
      if (fresh) out_.names.push_back(name);
    }
    return {};
  }

  Result<std::vector<Association>> matching(bool users) const {
    const Names names = values(ask_.where, {"name", users ? "user" : "account", users ? "users" : "accounts"});
    const Names accounts = users ? values(ask_.where, {"account", "accounts", "acct"}) : Names{};
    const Names partitions = values(ask_.where, {"partition", "partitions"});
    for (const AccountSetting& s : ask_.where)
      if (!is_key(s, {"name", "user", "users", "account", "accounts", "acct", "partition", "partitions", "cluster",
                      "clusters"}))
        return fail(Errc::invalid, "Unknown condition: " + s.key + "=" + s.value);
    if (names.empty() && accounts.empty())
      return fail(Errc::invalid, "No conditions given to change, not changing all of them");
    const auto in = [](const Names& list, const std::string& word) {
      return list.empty() || std::ranges::find(list, word) != list.end();
    };
    std::vector<Association> out;
    for (const Association& each : all()) {
      if (each.user.empty() == users) continue;
      if (in(names, users ? each.user : each.account) && in(accounts, each.account) && in(partitions, each.partition))
        out.push_back(each);
    }
    return out;
  }

  Result<void> change_associations(bool users) {
    MR_TRY(const std::vector<Association> chosen, matching(users));
    if (ask_.action == AccountAction::remove) return remove(chosen);
    if (ask_.set.empty()) return fail(Errc::invalid, "You didn't give me anything to set");
    if (const auto account = value({"defaultaccount"}); account && users) {
      for (const Association& each : chosen) {
        if (!std::ranges::any_of(all(),
                                 [&](const Association& a) { return a.user == each.user && a.account == *account; }))
          return fail(Errc::invalid, "User " + each.user + " is not in account " + *account);
        make_default(each.user, *account);
      }
    }
    if (users)
      for (const Association& each : chosen) MR_TRY_VOID(change_person(each.user));
    for (const Association& each : chosen) {
      Association changed = *state_.find_association(each.id);
      MR_TRY_VOID(may_touch(changed, changed.user.empty() ? account_above(changed) : changed.account));
      if (const auto parent = value({"parent"}); parent && !users) MR_TRY_VOID(move_below(changed, *parent));
      MR_TRY_VOID(set_all(changed, {"parent", "defaultaccount", "rawusage", "cluster", "adminlevel", "admin", "wckey",
                                    "wckeys", "defaultwckey"}));
      if (!(changed == *state_.find_association(each.id))) happen(AssociationChanged{changed, now_});
      if (const auto usage = value({"rawusage"})) {
        if (*usage != "0") return fail(Errc::invalid, "RawUsage can only be set to 0");
        happen(UsageReset{each.id, now_});
      }
      note(each);
    }
    return {};
  }

  Result<void> move_below(Association& account, const std::string& parent) {
    const Association* above = state_.find_association(AssociationName{parent, {}, {}});
    if (!above) return fail(Errc::invalid, "This parent account '" + parent + "' doesn't exist.");
    for (const Association* a = above; a; a = state_.find_association(a->parent))
      if (a->id == account.id)
        return fail(Errc::invalid, "Account " + account.account + " can not be moved below itself");
    account.parent = above->id;
    return {};
  }

  void note(const Association& each) {
    out_.associations.push_back({each.account, each.user, each.partition});
    const std::string& name = each.user.empty() ? each.account : each.user;
    if (std::ranges::find(out_.names, name) == out_.names.end()) out_.names.push_back(name);
  }

  bool lies_below(AssociationId id, AssociationId above) const {
    for (const Association* a = state_.find_association(id); a; a = state_.find_association(a->parent))
      if (a->id == above) return true;
    return false;
  }

  // Who stays in other accounts needs a default there before the present one goes; who is in no other goes with it.
  Result<void> keeps_defaults(const std::vector<Association>& going) const {
    std::vector<Association> staying;
    for (const Association& each : all())
      if (!each.user.empty() && std::ranges::none_of(going, [&](const Association& a) { return a.id == each.id; }))
        staying.push_back(each);
    std::string left;
    for (const Association& each : going) {
      if (each.user.empty() || !each.is_default) continue;
      const auto stays = [&](const Association& a) { return a.user == each.user; };
      const auto stays_here = [&](const Association& a) { return a.user == each.user && a.account == each.account; };
      if (std::ranges::any_of(staying, stays) && std::ranges::none_of(staying, stays_here))
        left += "\n  A = " + each.account + " U = " + each.user;
    }
    if (!left.empty()) return fail(Errc::refused, std::string{default_account_stays} + left);
    return {};
  }

  Result<void> remove(const std::vector<Association>& chosen) {
    std::vector<Association> going;
    for (const Association& each : all())
      if (std::ranges::any_of(chosen, [&](const Association& top) { return lies_below(each.id, top.id); }))
        going.push_back(each);
    if (std::ranges::any_of(going, [](const Association& a) { return a.parent.value == 0; }))
      return fail(Errc::invalid, "The root account can not be removed");
    for (const Association& top : chosen)
      MR_TRY_VOID(may_touch(top, top.user.empty() ? account_above(top) : top.account));
    const auto goes = [&](AssociationId id) {
      return std::ranges::any_of(going, [&](const Association& a) { return a.id == id; });
    };
    MR_TRY_VOID(keeps_defaults(going));
    std::string jobs;
    for (const auto& [key, job] : state_.jobs)
      if (job->state != JobState::ended && goes(job->association))
        jobs += "\n  JobID = " + shown_name(state_, *job) + " A = " + job->spec->account +
                " U = " + job->spec->owner->user_name;
    if (!jobs.empty()) return fail(Errc::refused, std::string{slurm_text(RefusalCode::jobs_on_association)} + jobs);
    // Children before their parents.
    std::ranges::sort(going, [&](const Association& a, const Association& b) {
      return depth(a.id) != depth(b.id) ? depth(a.id) > depth(b.id) : a.id < b.id;
    });
    for (const Association& each : going) {
      happen(AssociationRemoved{each.id, now_});
      if (each.user.empty() || !each.is_default) continue;
      // A user may stay in the account for other partitions.
      for (const Association& other : all()) {
        if (other.user != each.user) continue;
        make_default(each.user, other.account);
        break;
      }
    }
    for (const Association& each : chosen) note(each);
    for (const Association& each : going)
      if (!each.user.empty()) forget_person(each.user);
    return {};
  }

  // Who is in no account any more coordinates none, and has neither level nor keys.
  void forget_person(const std::string& user) {
    const std::vector<Association> left = all();
    if (std::ranges::any_of(left, [&](const Association& a) { return a.user == user; })) return;
    if (state_.find_account_user(user)) happen(AccountUserChanged{{.name = user}, now_});
    for (Association each : left)
      if (std::erase(each.coordinators, user) > 0) happen(AssociationChanged{each, now_});
  }

  // A coordinator changes what is in the accounts coordinated, and nothing else.
  Result<void> may_touch(const Association& association, const std::string& account) const {
    if (actor_.is_admin || chooses_own_default(ask_, actor_)) return {};
    const bool own = std::ranges::binary_search(actor_.accounts, account);
    if (!own || (!association.user.empty() && !association.partition.empty() && account.empty()))
      return fail(Errc::refused, "Access/permission denied");
    return {};
  }
  std::string account_above(const Association& account) const {
    const Association* above = state_.find_association(account.parent);
    return above ? above->account : std::string{};
  }

  // What is said of the user as a person: AdminLevel, workload keys. True when something of it is new.
  Result<bool> change_person(const std::string& name) {
    const AccountUser* known = state_.find_account_user(name);
    AccountUser user = known ? *known : AccountUser{.name = name};
    for (const AccountSetting& s : ask_.set) {
      if (is_key(s, {"adminlevel", "admin"})) {
        if (!actor_.is_admin || actor_.is_operator) return fail(Errc::refused, "Access/permission denied");
        const std::string word = lower(s.value);
        if (word == "none" || word == "-1" || word.empty())
          user.admin_level = AdminLevel::none;
        else if (std::string_view{"operator"}.starts_with(word))
          user.admin_level = AdminLevel::operates;
        else if (std::string_view{"administrator"}.starts_with(word))
          user.admin_level = AdminLevel::administers;
        else
          return fail(Errc::invalid,
                      "'" + s.value + "' is not right for AdminLevel; None, Operator or Administrator is");
      } else if (is_key(s, {"wckey", "wckeys", "defaultwckey"})) {
        const bool own_default = s.key == "defaultwckey" && chooses_own_default(ask_, actor_);
        if (!actor_.is_admin && !own_default) return fail(Errc::refused, "Access/permission denied");
        if (!actor_.is_admin && std::ranges::find(user.wckeys, s.value) == user.wckeys.end())
          return fail(Errc::invalid, "User " + name + " has no workload key " + s.value);
        if (!state_.policy->track_wckeys)
          return fail(Errc::invalid, s.key + ": workload keys are not tracked; TrackWCKey=yes in slurm.conf does that");
        change_wckeys(s, user);
      }
    }
    if (user == (known ? *known : AccountUser{.name = name})) return false;
    happen(AccountUserChanged{std::move(user), now_});
    return true;
  }
  static void change_wckeys(const AccountSetting& s, AccountUser& user) {
    if (s.key != "defaultwckey" && s.op == '=' && !user.wckeys.empty() && s.value.empty()) user.wckeys.clear();
    for (const std::string_view word : split(s.value, ',')) {
      const std::string key{trim(word)};
      if (key.empty()) continue;
      std::erase(user.wckeys, key);
      if (s.op != '-') user.wckeys.insert(std::ranges::lower_bound(user.wckeys, key), key);
      if (s.key == "defaultwckey") user.default_wckey = key;
    }
    if (s.key == "defaultwckey" && trim(s.value).empty()) user.default_wckey.clear();
    if (std::ranges::find(user.wckeys, user.default_wckey) == user.wckeys.end()) user.default_wckey.clear();
    if (user.default_wckey.empty() && s.key != "defaultwckey" && !user.wckeys.empty())
      user.default_wckey = user.wckeys.front();
  }

  Result<void> change_coordinators() {
    if (ask_.action == AccountAction::modify)
      return fail(Errc::invalid, "Coordinators are added and deleted, not modified");
    std::vector<AccountSetting> said = ask_.where;
    said.insert(said.end(), ask_.set.begin(), ask_.set.end());
    for (const AccountSetting& s : said)
      if (!is_key(s, {"name", "user", "users", "account", "accounts", "acct"}))
        return fail(Errc::invalid, "Unknown option: " + s.key + "=" + s.value);
    Names names, accounts = values(said, {"account", "accounts", "acct"});
    for (const AccountSetting& s : said)
      if (is_key(s, {"name", "user", "users"}))
        for (const std::string_view word : split(s.value, ','))
          if (!trim(word).empty()) names.emplace_back(trim(word));
    const bool adds = ask_.action == AccountAction::add;
    if (adds && (names.empty() || accounts.empty()))
      return fail(Errc::invalid, "You need to specify conditions to to add the coordinator.");
    if (names.empty() && accounts.empty()) return fail(Errc::invalid, "No conditions given to remove, not executing.");
    const std::vector<Association> before = all();
    for (const std::string& name : names)
      if (adds && std::ranges::none_of(before, [&](const Association& a) { return a.user == name; }))
        return fail(Errc::invalid, "This user '" + name + "' doesn't exist.");
    for (const std::string& account : accounts)
      if (!state_.find_association(AssociationName{account, {}, {}}))
        return fail(Errc::invalid, "This account '" + account + "' doesn't exist.");
    for (Association each : before) {
      if (!each.user.empty() || (!accounts.empty() && std::ranges::find(accounts, each.account) == accounts.end()))
        continue;
      const Names had = each.coordinators;
      for (const std::string& name : names.empty() ? had : names) {
        const auto at = std::ranges::lower_bound(each.coordinators, name);
        const bool is_one = at != each.coordinators.end() && *at == name;
        if (is_one == adds) continue;
        if (adds)
          each.coordinators.insert(at, name);
        else
          each.coordinators.erase(at);
        if (std::ranges::find(out_.names, name) == out_.names.end()) out_.names.push_back(name);
      }
      if (each.coordinators == had) continue;
      MR_TRY_VOID(may_touch(each, each.account));
      put(each);
    }
    return {};
  }

  // In the words of slurmdbd.
  void note_transaction() {
    constexpr const char* kinds[] = {"Accounts", "Users", "QOS", "Account Coordinators"};
    constexpr const char* verbs[] = {"Add ", "Modify ", "Remove "};
    Transaction note;
    note.id = state_.next_transaction;
    note.at = now_;
    note.actor = actor_.name.empty() ? std::to_string(actor_.uid.value) : actor_.name;
    note.action =
        verbs[static_cast<std::size_t>(ask_.action)] + std::string{kinds[static_cast<std::size_t>(ask_.entity)]};
    const auto list = [](std::string& out, const std::string& word, const char* gap) {
      if (!word.empty() && (gap + out + gap).find(gap + word + gap) == std::string::npos)
        out += (out.empty() ? "" : gap) + word;
    };
    for (const std::string& name : out_.names) list(note.where, "name='" + name + "'", ",");
    for (const AssociationName& each : out_.associations) {
      list(note.accounts, each.account, ",");
      list(note.users, each.user, ",");
    }
    if (ask_.entity != AccountEntity::account && ask_.entity != AccountEntity::qos)
      for (const std::string& name : out_.names) list(note.users, name, ",");
    if (ask_.entity == AccountEntity::user || ask_.entity == AccountEntity::coordinator)
      for (const std::string_view account : split(note.accounts, ','))
        list(note.info, account.empty() ? std::string{} : "acct='" + std::string{account} + "'", ",");
    for (const AccountSetting& s : ask_.set)
      if (!is_key(s, {"name", "user", "users", "account", "accounts", "acct", "cluster", "clusters"}))
        list(note.info, s.key + (s.op == '=' ? "" : std::string(1, s.op)) + "='" + s.value + "'", ",");
    happen(TransactionNoted{std::move(note), now_});
  }

  std::uint32_t depth(AssociationId id) const {
    std::uint32_t count = 0;
    for (const Association* a = state_.find_association(id); a; a = state_.find_association(a->parent)) ++count;
    return count;
  }

  Result<void> change_qos() {
    const Names names = values(ask_.where, {"name", "qos"});
    if (!actor_.is_admin) return fail(Errc::refused, "Access/permission denied");
    if (names.empty())
      return fail(Errc::invalid, ask_.action == AccountAction::add
                                     ? "Need name of qos to add."
                                     : "No conditions given to change, not changing all of them");
    if (ask_.action == AccountAction::modify && ask_.set.empty())
      return fail(Errc::invalid, "You didn't give me anything to set");
    for (const std::string& name : names) {
      const Qos* known = state_.find_qos(name);
      if ((ask_.action == AccountAction::add) == (known != nullptr)) continue;
      if (ask_.action == AccountAction::remove) {
        MR_TRY_VOID(remove_one_qos(*known));
      } else {
        Qos qos = known ? *known : Qos{};
        if (!known) {
          qos.id = state_.next_qos;
          qos.name = qos.description = name;
        }
        for (const AccountSetting& s : ask_.set) MR_TRY_VOID(set_qos(state_, s, qos));
        happen(QosChanged{qos, now_});
      }
      out_.names.push_back(name);
    }
    return {};
  }

  Result<void> remove_one_qos(const Qos& qos) {
    for (const auto& [key, job] : state_.jobs)
      if (job->state != JobState::ended && job->qos == qos.id)
        return fail(Errc::refused, std::string{slurm_text(RefusalCode::jobs_on_association)} +
                                       "\n  JobID = " + shown_name(state_, *job) + " Q = " + qos.name);
    for (const auto& [id, association] : state_.associations)
      if (association->default_qos == qos.id)
        return fail(Errc::refused,
                    "This request would make it so some associations would not have access to their default qos.");
    happen(QosRemoved{qos.id, now_});
    return {};
  }

  State state_;
  const AccountChange& ask_;
  const Actor& actor_;
  Time now_;
  AccountDecision out_;
};

}  // namespace

std::vector<Event> decide_plant(const State& state, Time now) {
  std::vector<Event> out;
  const Qos* known = state.find_qos("normal");
  Qos normal = known ? *known : Qos{};
  if (!known) {
    normal.id = state.next_qos;
    normal.name = "normal";
    normal.description = "Normal QOS default";
    out.emplace_back(QosChanged{normal, now});
  }
  if (state.find_association(AssociationName{"root", {}, {}})) return out;
  Association root;
  root.id = state.next_association;
  root.account = "root";
  root.description = "default root account";
  root.organization = "root";
  root.qos = {normal.id.value};
  out.emplace_back(AssociationChanged{root, now});
  Association user;
  user.id = AssociationId{root.id.value + 1};
  user.parent = root.id;
  user.account = user.user = "root";
  user.is_default = true;
  out.emplace_back(AssociationChanged{user, now});
  return out;
}

Result<AccountDecision> decide_accounts(const State& state, const AccountChange& change, const Actor& actor, Time now) {
  if (!actor.is_admin && actor.accounts.empty() && !chooses_own_default(change, actor))
    return fail(Errc::refused, "Access/permission denied");
  return Change(state, change, actor, now).run();
}

}  // namespace millrace
