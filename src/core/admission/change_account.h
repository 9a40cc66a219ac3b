// src/core/admission/change_account.h - sacctmgr add, modify, delete: which associations and QOS become what.
#pragma once

#include "core/admission/refusal.h"
#include "core/ledger/state.h"
#include "core/model/account_change.h"

namespace millrace {

struct AccountDecision {
  std::vector<Event> events;
  std::vector<std::string> names;             // of what is added, changed or removed
  std::vector<AssociationName> associations;  // likewise
};

// The tree has an account and a user `root` and a QOS `normal` from the start: the facts that make them, where there
// are none yet. They are shown before they are facts, and become facts with the first change.
std::vector<Event> decide_plant(const State& state, Time now);

// How the refusal begins when a user would stay in other accounts without a default; Slurm's error 7009.
inline constexpr std::string_view default_account_stays = "You can not remove the default account of a user";

// An error's story is a line as sacctmgr prints it. Refused: not an administrator, or jobs are in the way (then the
// story names them).
Result<AccountDecision> decide_accounts(const State& state, const AccountChange& change, const Actor& actor, Time now);

}  // namespace millrace
