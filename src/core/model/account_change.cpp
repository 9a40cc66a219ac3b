// src/core/model/account_change.cpp - see account_change.h.
#include "core/model/account_change.h"

#include "base/text.h"

namespace millrace {
namespace {

bool is_prefix(std::string_view word, std::string_view of, std::size_t least) {
  return word.size() >= least && word.size() <= of.size() && equals_ignoring_case(word, of.substr(0, word.size()));
}

}  // namespace

AccountSetting parse_account_setting(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return {"name", '=', std::string{word}};
  char op = '=';
  std::string_view key = word.substr(0, equals);
  if (!key.empty() && (key.back() == '+' || key.back() == '-')) op = key.back(), key.remove_suffix(1);
  std::string_view value = word.substr(equals + 1);
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
    value = value.substr(1, value.size() - 2);
  std::string name = lower(trim(key));
  if (name == "names") name = "name";
  return {std::move(name), op, std::string{value}};
}

Result<AccountEntity> parse_account_entity(std::string_view word) {
  if (is_prefix(word, "accounts", 3)) return AccountEntity::account;
  if (is_prefix(word, "users", 1)) return AccountEntity::user;
  if (is_prefix(word, "qos", 1)) return AccountEntity::qos;
  if (is_prefix(word, "coordinators", 2)) return AccountEntity::coordinator;
  if (is_prefix(word, "wckeys", 1))
    return fail(Errc::invalid,
                "Workload keys are a user's: modify user NAME set wckeys+=KEY adds one, wckeys-=KEY takes it away");
  if (is_prefix(word, "federations", 1))
    return fail(Errc::invalid, "There are no federations here: one cluster is all");
  if (is_prefix(word, "resources", 3))
    return fail(Errc::invalid, "Licences are those of slurm.conf (Licenses=): sacctmgr keeps none");
  return fail(Errc::invalid, "No valid entity: '" + std::string{word} +
                                 "'; account, cluster, coordinator, job, qos and user can be changed");
}

Result<AccountChange> parse_account_change(std::span<const std::string_view> words) {
  AccountChange out;
  if (words.size() < 2) return fail(Errc::invalid, "what is to be changed? For example: add account physics");
  if (is_prefix(words[0], "add", 3) || is_prefix(words[0], "create", 2))
    out.action = AccountAction::add;
  else if (is_prefix(words[0], "modify", 1) || is_prefix(words[0], "update", 2))
    out.action = AccountAction::modify;
  else if (is_prefix(words[0], "delete", 3) || is_prefix(words[0], "remove", 3))
    out.action = AccountAction::remove;
  else
    return fail(Errc::invalid, "'" + std::string{words[0]} + "' is neither add, modify nor delete");
  MR_TRY(out.entity, parse_account_entity(words[1]));
  bool setting = false;
  for (const std::string_view word : words.subspan(2)) {
    if (equals_ignoring_case(word, "where")) {
      setting = false;
    } else if (equals_ignoring_case(word, "set")) {
      setting = true;
    } else {
      AccountSetting item = parse_account_setting(word);
      const bool names = item.key == "name" && !setting;
      (setting || (out.action == AccountAction::add && !names) ? out.set : out.where).push_back(std::move(item));
    }
  }
  return out;
}

}  // namespace millrace
