// src/core/admission/account_settings.h - every option of accounts, users and QOS that sacctmgr can set: one row each.
#pragma once

#include "core/admission/refusal.h"
#include "core/ledger/state.h"
#include "core/model/account_change.h"

namespace millrace {

// An error says what would be right. Not found: no such option.
Result<void> set_association(const State& state, const AccountSetting& setting, Association& out);
Result<void> set_qos(const State& state, const AccountSetting& setting, Qos& out);

struct QosFlagWord {
  std::string_view word;
  std::uint32_t flag;
};
std::span<const QosFlagWord> qos_flag_words();

}  // namespace millrace
