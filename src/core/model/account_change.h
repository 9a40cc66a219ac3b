// src/core/model/account_change.h - a change of accounts, users or QOS as an administrator writes it: sacctmgr's words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

enum class AccountAction : std::uint8_t { add, modify, remove };
enum class AccountEntity : std::uint8_t { account, user, qos, coordinator };

struct AccountSetting {
  std::string key;  // lower case
  char op = '=';    // '+' and '-' edit lists
  std::string value;
};

struct AccountChange {
  AccountAction action{};
  AccountEntity entity{};
  std::vector<AccountSetting> where;  // names are conditions of the key "name"
  std::vector<AccountSetting> set;
};

// key=value, key+=value, key-=value; a word without '=' is a name.
AccountSetting parse_account_setting(std::string_view word);
// "add user alice account=physics", "modify qos high set priority=10", "delete account name=physics".
Result<AccountChange> parse_account_change(std::span<const std::string_view> words);
// The entity a word names, prefixes included: accounts, acc, user, qos.
Result<AccountEntity> parse_account_entity(std::string_view word);

}  // namespace millrace
