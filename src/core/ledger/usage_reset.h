// src/core/ledger/usage_reset.h - PriorityUsageResetPeriod: when all past usage is to be forgotten next.
#pragma once

#include "core/ledger/state.h"

namespace millrace {

// The first day, Sunday, month, quarter or year that begins after `since`, in UTC; never without a period.
Time next_usage_reset(ResetPeriod period, Time since);
// As the policy says; never where nothing is to be forgotten.
Time next_usage_reset(const State& state);

}  // namespace millrace
