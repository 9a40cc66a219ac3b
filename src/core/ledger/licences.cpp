// src/core/ledger/licences.cpp - see licences.h.
#include "core/ledger/licences.h"

#include <algorithm>

namespace millrace {
namespace {

template <class List>
auto find(List& list, std::string_view name) {
  const auto it =
      std::ranges::lower_bound(list, name, {}, [](const LicenceAsk& each) { return std::string_view{each.name}; });
  return it != list.end() && it->name == name ? it : list.end();
}

}  // namespace

std::vector<LicenceAsk> licences_free(const State& state) {
  std::vector<LicenceAsk> free = state.policy->licences;
  for (const LicenceAsk& used : *state.licences_used)
    if (const auto it = find(free, used.name); it != free.end()) it->count -= std::min(it->count, used.count);
  return free;
}

std::vector<LicenceAsk> licences_kept_from(const State& state, std::string_view own, Time now, Time until) {
  std::vector<LicenceAsk> out;
  for (const auto& [id, reservation] : state.reservations) {
    if (reservation->licences.empty() || reservation->name == own || !reservation->crosses(now, until, now)) continue;
    std::vector<LicenceAsk> kept = reservation->licences;
    // What its own jobs have is not free already, and what others give back before it begins need not be kept from now
    // on.
    for (const auto& [key, nothing] : state.active) {
      const Job& job = state.job(key);
      const bool given_back = job.time_limit_minutes != unlimited &&
                              job.started_at + minutes(job.time_limit_minutes) <= reservation->starts(now);
      if (job.placement && (given_back || job.spec->resource_request().reservation == reservation->name))
        subtract(kept, job.placement->licences);
    }
    for (const LicenceAsk& each : kept) {
      auto it = std::ranges::lower_bound(out, each.name, {}, &LicenceAsk::name);
      if (it == out.end() || it->name != each.name) it = out.insert(it, {each.name, 0});
      it->count += each.count;
    }
  }
  return out;
}

std::vector<LicenceAsk> licences_free_for(const State& state, const Job& job, Time now) {
  std::vector<LicenceAsk> free = licences_free(state);
  if (state.reservations.empty()) return free;
  const Time until = job.time_limit_minutes == unlimited ? never : now + minutes(job.time_limit_minutes);
  subtract(free, licences_kept_from(state, job.spec->resource_request().reservation, now, until));
  return free;
}

std::optional<std::vector<LicenceAsk>> choose_licences(const ResourceRequest& request,
                                                       std::span<const LicenceAsk> free) {
  std::vector<LicenceAsk> out;
  for (const LicenceAsk& ask : request.licences) {
    const auto it = find(free, ask.name);
    const bool there = it != free.end() && it->count >= ask.count;
    if (there && request.any_licence) return std::vector{ask};
    if (!there && !request.any_licence) return std::nullopt;
    if (there) out.push_back(ask);
  }
  if (request.any_licence && !request.licences.empty()) return std::nullopt;
  return out;
}

void subtract(std::vector<LicenceAsk>& free, std::span<const LicenceAsk> taken) {
  for (const LicenceAsk& each : taken)
    if (const auto it = find(free, each.name); it != free.end()) it->count -= std::min(it->count, each.count);
}

void take_licences(State& state, std::span<const LicenceAsk> licences) {
  if (licences.empty()) return;
  std::vector<LicenceAsk>& used = state.licences_used.edit();
  for (const LicenceAsk& each : licences) {
    auto it = std::ranges::lower_bound(used, each.name, {}, &LicenceAsk::name);
    if (it == used.end() || it->name != each.name) it = used.insert(it, {each.name, 0});
    it->count += each.count;
  }
}

void give_back_licences(State& state, std::span<const LicenceAsk> licences) {
  if (licences.empty()) return;
  std::vector<LicenceAsk>& used = state.licences_used.edit();
  for (const LicenceAsk& each : licences) {
    const auto it = find(used, each.name);
    MR_ASSERT(it != used.end() && it->count >= each.count);
    it->count -= each.count;
    if (it->count == 0) used.erase(it);
  }
}

}  // namespace millrace
