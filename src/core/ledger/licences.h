// src/core/ledger/licences.h - licences of the cluster: how many are free, which a job gets, and who holds them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/ledger/state.h"

namespace millrace {

// Of every configured licence what no job holds, sorted by name.
std::vector<LicenceAsk> licences_free(const State& state);
// What the request would take of these: all of its list, or the first of a|b that is there. Nothing: not free now. An empty list is
// the answer for a request without licences.
std::optional<std::vector<LicenceAsk>> choose_licences(const ResourceRequest& request, std::span<const LicenceAsk> free);
// Takes them out of a list of free ones, for who plans several jobs.
void subtract(std::vector<LicenceAsk>& free, std::span<const LicenceAsk> taken);

void take_licences(State& state, std::span<const LicenceAsk> licences);
void give_back_licences(State& state, std::span<const LicenceAsk> licences);

}  // namespace millrace
