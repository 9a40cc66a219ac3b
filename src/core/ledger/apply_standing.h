// src/core/ledger/apply_standing.h - the part of apply that keeps what users leave with the controller: crontabs and
// triggers.
#pragma once

#include <vector>

#include "core/ledger/state.h"

namespace millrace {

// Jobs of the old crontab that the new one does not have: those that run end by themselves and do not come again; those
// that wait are to be cancelled.
std::vector<JobKey> leave_crontab(State& state, const CrontabSet& e);
void keep_crontab(State& state, const CrontabSet& e);
// A job that no crontab lists runs once more at most: it recurs only through one.
void recur_only_if_listed(State& state, JobKey key);
void forget_in_crontab(State& state, const Job& job);
void set_trigger(State& state, const TriggerSet& e);

}  // namespace millrace
