// src/core/ledger/licences.h - licences of the cluster: how many are free, which a job gets, and who holds them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/ledger/state.h"

namespace millrace {

// Of every configured licence what no job holds, sorted by name.
std::vector<LicenceAsk> licences_free(const State& state);
// What other reservations keep of them for their own jobs, where their time crosses that of a job which starts now and
// may hold its licences until `until`: such a job cannot have it. `own`: the reservation it runs in, or empty.
std::vector<LicenceAsk> licences_kept_from(const State& state, std::string_view own, Time now, Time until);
// Free, and not kept from this job.
std::vector<LicenceAsk> licences_free_for(const State& state, const Job& job, Time now);
// What the request would take of these: all of its list, or the first of a|b that is there. Nothing: not free now. An
// empty list is the answer for a request without licences.
std::optional<std::vector<LicenceAsk>> choose_licences(const ResourceRequest& request,
                                                       std::span<const LicenceAsk> free);
// Takes them out of a list of free ones, for who plans several jobs.
void subtract(std::vector<LicenceAsk>& free, std::span<const LicenceAsk> taken);

void take_licences(State& state, std::span<const LicenceAsk> licences);
void give_back_licences(State& state, std::span<const LicenceAsk> licences);

}  // namespace millrace
