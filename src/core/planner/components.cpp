// src/core/planner/components.cpp - the part of a pass about heterogeneous jobs: all components start at one moment, or
// wait for one.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/ledger/apply_account.h"
#include "core/ledger/licences.h"
#include "core/ledger/obstacle.h"
#include "core/planner/pass.h"

namespace millrace {

constexpr std::size_t times_tried = 32;         // one after the other; then by halves
constexpr std::size_t components_permuted = 3;  // so many are tried in every order
// Looks at nodes that one job may have for other orders of its components than the usual one, and for the moments that
// are tried one after the other; half a million of them take some milliseconds. Beyond that it is tried in the usual
// order alone, and moments by halves: whoever can start so does not wait for more. Those of a whole pass are in pass.h.
constexpr std::int64_t looks_of_a_job = 1'000'000;

// The leader in the partition of this entry, the others in any of theirs. Empty: something keeps one of them, whatever
// is free.
std::vector<Pass::Part> Pass::parts_of(const QueueEntry& entry) {
  const State& state = memo_->state();
  std::vector<Part> parts;
  std::map<std::vector<std::int64_t>, std::uint32_t> kinds;
  for (const JobKey key : whole_of(*entry.job)) {
    ++tried_;
    const Job& job = state.job(key);
    Part part{&job, planned_span(job, settings_), {}};
    const auto add = [&](PartitionIndex partition) {
      if (standing_obstacle(state, job, plan_.made_at, 0, partition) != Reason::none) return;
      part.places.push_back(
          {partition, memo_->shapes().shape_of(state, job.spec, partition, memo_->timeline().classes())});
      part.span = span_within(memo_->shapes().at(part.places.back().shape), plan_.made_at,
                              part.span);  // the same reservation in all of them
    };
    add(key == entry.job->key ? entry.partition : job.spec->partition);
    if (key != entry.job->key)
      for (const std::uint32_t more : job.spec->resource_request().more_partitions) add(PartitionIndex{more});
    if (part.places.empty() || part.span <= Duration{0}) return {};
    std::vector<std::int64_t> kind{part.span.value, job.eligible_at.value,
                                   job.spec->resource_request().switches_wait_seconds};
    for (const Place& place : part.places) {
      kind.push_back(place.shape);
      const Shape& shape = memo_->shapes().at(place.shape);
      part.nodes += static_cast<std::int64_t>(shape.own_nodes ? shape.nodes.size()
                                                              : state.partition(place.partition).nodes.size());
    }
    part.kind = kinds.try_emplace(std::move(kind), static_cast<std::uint32_t>(kinds.size())).first->second;
    parts.push_back(std::move(part));
  }
  return parts;
}

// Limits count all components together. With the shares found, what they take counts from now on unless one is too
// much.
bool Pass::are_limited(const std::vector<Part>& parts, const std::vector<Fit>* fits) {
  if (limits_->is_idle()) return false;
  const State& state = memo_->state();
  auto before = limits_->taken();
  bool hit = false;
  for (std::size_t i = 0; i < parts.size() && !hit; ++i) {
    const Job job =
        in_partition(state, *parts[i].job, fits ? (*fits)[i].place.partition : parts[i].places.front().partition);
    const JobSize size = fits ? placed_size(state, job, (*fits)[i].shares) : requested_size(state, job);
    hit = limits_->blocks(job, size) != Reason::none;
    if (!hit) limits_->take(job, size);
  }
  if (hit || !fits) limits_->restore(std::move(before));
  return hit;
}

bool Pass::lack_licences(const std::vector<Part>& parts) {
  if (std::ranges::all_of(parts, [](const Part& part) { return part.job->spec->resource_request().licences.empty(); }))
    return false;
  if (!licences_) licences_ = licences_free(memo_->state());
  std::vector<LicenceAsk> free = *licences_;
  for (const Part& part : parts) {
    const auto taken = licences_for(part.job->spec->resource_request(), part.span, free);
    if (!taken) return true;
    subtract(free, *taken);
  }
  return false;
}

// In the first of its partitions that has room for it, beside what is laid already.
std::optional<Pass::Fit> Pass::fit_part(const Part& part, Time at, bool starting_now) {
  Timeline& timeline = memo_->timeline();
  for (const Place& place : part.places) {
    Shape& shape = shape_at(place.shape);
    if (at < shape.window_start || plus(at, part.span) > shape.window_end) continue;
    ask_for(*part.job, place.partition, shape);
    if (shape.reservation.value != 0 && part.span <= shape.opens_for) timeline.open_window(shape.reservation, true);
    const std::size_t cursor =
        shape.cursor;  // what other components hold for the moment says nothing about the rest of the pass
    if (all_nodes_anew_) shape.cursor = 0;
    bool ignored = false;
    auto shares = timeline.fit(shape, at, part.span, starting_now, ignored);
    shape.cursor = cursor;
    if (shape.reservation.value != 0 && part.span <= shape.opens_for) timeline.open_window(shape.reservation, false);
    if (shares) return Fit{place, *std::move(shares)};
  }
  return std::nullopt;
}

// Who has few nodes to choose from comes first, else the leader; where that fails, other orders. Few components in
// every order, many with the largest first, and with each of them first once. Orders in which components of the same
// kind change places are the same.
std::vector<std::vector<std::size_t>> Pass::orders_of(const std::vector<Part>& parts) {
  const auto choice = [&](std::size_t i) { return std::pair{parts[i].nodes, i}; };
  std::vector<std::size_t> first(parts.size());
  std::iota(first.begin(), first.end(), std::size_t{0});
  std::ranges::sort(first, {}, choice);
  std::vector<std::vector<std::size_t>> out;
  std::set<std::vector<std::uint32_t>> known;
  const auto add = [&](std::vector<std::size_t> order) {
    std::vector<std::uint32_t> kinds;
    for (const std::size_t i : order) kinds.push_back(parts[i].kind);
    if (known.insert(std::move(kinds)).second) out.push_back(std::move(order));
  };
  add(first);
  if (parts.size() <= components_permuted) {
    std::vector<std::size_t> places(parts.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    while (std::next_permutation(places.begin(), places.end())) {
      std::vector<std::size_t> order;
      for (const std::size_t place : places) order.push_back(first[place]);
      add(std::move(order));
    }
  } else {
    std::vector<std::size_t> by_size = first;
    std::ranges::stable_sort(by_size, std::greater{},
                             [&](std::size_t i) { return requested_cpus(*parts[i].job->spec).value; });
    add(std::move(by_size));
    for (std::size_t i = 1; i < parts.size(); ++i) {
      std::vector<std::size_t> order = first;
      std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i),
                  order.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      add(std::move(order));
    }
  }
  return out;
}

// Those that have one partition to choose from need more CPUs in all than it has free, however they are placed.
bool Pass::lack_cpus(const std::vector<Part>& parts, Time at) {
  std::map<PartitionIndex, std::int64_t> needed;
  for (const Part& part : parts)
    if (part.places.size() == 1 && memo_->shapes().at(part.places.front().shape).reservation.value == 0)
      needed[part.places.front().partition] += requested_cpus(*part.job->spec).value;
  return std::ranges::any_of(
      needed, [&](const auto& each) { return memo_->timeline().free_cpus_at(each.first, at) < each.second; });
}

bool Pass::fit_alone(const std::vector<Part>& parts, Time at, bool starting_now) {
  std::set<std::uint32_t> known;
  return std::ranges::all_of(
      parts, [&](const Part& part) { return !known.insert(part.kind).second || fit_part(part, at, starting_now); });
}

std::optional<std::vector<Pass::Fit>> Pass::fit_in_order(Whole& whole, const std::vector<std::size_t>& order, Time at,
                                                         bool starting_now) {
  Timeline& timeline = memo_->timeline();
  std::vector<Fit> fits(order.size());
  std::vector<Timeline::Trying> laid;
  for (const std::size_t i : order) {
    const Part& part = whole.parts[i];
    whole.looks -= part.nodes;
    looks_ -= part.nodes;
    auto fit = fit_part(part, at, starting_now);
    if (!fit) break;
    laid.push_back(
        timeline.lay(memo_->shapes().at(fit->place.shape), fit->shares, at, plus(at, part.span), starting_now));
    fits[i] = *std::move(fit);
  }
  const bool all = laid.size() == order.size();
  for (auto it = laid.rbegin(); it != laid.rend(); ++it) timeline.take_back(*it);
  return all ? std::optional{std::move(fits)} : std::nullopt;
}

// A start now: looks are counted only where each of them fits alone, so that a pass which knows from the last that one
// does not has as many left.
std::optional<std::vector<Pass::Fit>> Pass::fit_parts(Whole& whole, Time at, bool starting_now) {
  if (lack_cpus(whole.parts, at) || (starting_now && !fit_alone(whole.parts, at, true))) return std::nullopt;
  for (std::size_t i = 0; i < whole.orders.size() && (i == 0 || may_look(whole)); ++i) {
    if (i == 1 && !starting_now && !fit_alone(whole.parts, at, false)) break;
    if (auto fits = fit_in_order(whole, whole.orders[i], at, starting_now)) return fits;
  }
  return std::nullopt;
}

// The first counts, of several partitions.
void Pass::note_alone(JobKey key, Time start) {
  if (std::ranges::find(plan_.alone, key, [](const auto& each) { return each.first; }) == plan_.alone.end())
    plan_.alone.emplace_back(key, start == never ? Time{} : start);
}

Time Pass::soonest_alone(const Part& part) {
  Timeline& timeline = memo_->timeline();
  Time soonest = never;
  for (const Place& place : part.places) {
    Shape& shape = shape_at(place.shape);
    ask_for(*part.job, place.partition, shape);
    if (shape.reservation.value != 0 && part.span <= shape.opens_for) timeline.open_window(shape.reservation, true);
    const auto claim = timeline.earliest(shape, std::max(plan_.made_at, shape.window_start), part.span);
    if (shape.reservation.value != 0 && part.span <= shape.opens_for) timeline.open_window(shape.reservation, false);
    if (claim && plus(claim->start, part.span) <= shape.window_end) soonest = std::min(soonest, claim->start);
  }
  return soonest;
}

// When the last of them could start alone; never: one could not.
Time Pass::all_alone(const std::vector<Part>& parts) {
  Time from_the_head = plan_.made_at;
  for (const Part& part : parts)
    for (const Place& place : part.places) from_the_head = std::max(from_the_head, not_before(place.partition));
  Time from = from_the_head;
  const bool watched = parts.front().job->key == settings_.watched;
  std::map<std::uint32_t, Time> known;
  for (const Part& part : parts) {
    const auto [soonest, fresh] = known.try_emplace(part.kind, never);
    if (fresh) soonest->second = soonest_alone(part);
    if (watched) note_alone(part.job->key, std::max(soonest->second, from_the_head));
    from = std::max(from, soonest->second);
    if (from == never && !watched) break;
  }
  return from;
}

// Not before each of them could start alone; then whenever something changes on the nodes of one of them.
std::optional<std::pair<Time, std::vector<Pass::Fit>>> Pass::earliest_parts(Whole& whole) {
  const Time from = all_alone(whole.parts);
  if (from == never) return std::nullopt;
  std::vector<Time> times{from};
  std::set<std::uint32_t> seen;
  for (const Part& part : whole.parts)
    for (const Place& place : part.places)
      memo_->timeline().add_changes(memo_->shapes().at(place.shape), from, times, seen);
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::optional<std::pair<Time, std::vector<Fit>>> found;
  std::size_t low = 0, high = times.size();
  for (; low < std::min(times_tried, times.size()) && (low == 0 || may_look(whole)); ++low)
    if (auto fits = fit_parts(whole, times[low], false)) return std::pair{times[low], *std::move(fits)};
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (auto fits = fit_parts(whole, times[middle], false)) {
      found = std::pair{times[middle], *std::move(fits)};
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return found;
}

void Pass::start_parts(const QueueEntry& entry, const std::vector<Part>& parts, std::vector<Fit> fits) {
  Proposal whole;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Job& job = *parts[i].job;
    const Shape& shape = memo_->shapes().at(fits[i].place.shape);
    const Time until = plus(plan_.made_at, parts[i].span);
    memo_->timeline().set_asker(job, fits[i].place.partition);
    memo_->timeline().place(shape, fits[i].shares, until);
    memo_->timeline().expect(job.key, until);
    if (licences_)
      if (const auto taken = licences_for(job.spec->resource_request(), parts[i].span, *licences_))
        subtract(*licences_, *taken);
    Proposal one{job.key, job.attempt, std::move(fits[i].shares), anyone_blocked_, fits[i].place.partition, 0};
    if (settings_.order == OrderPolicy::priority)
      one.priority = static_cast<std::uint32_t>(-to_integer(entry.score.value));
    if (i == 0)
      whole = std::move(one);
    else
      whole.with.push_back(std::move(one));
  }
  placed_.insert(entry.job->key);
  if (entry.job->key == settings_.watched) watched_done_ = true;
  plan_.placements.push_back(std::move(whole));
}

void Pass::block_parts(const QueueEntry& entry, Whole& whole) {
  const std::vector<Part>& parts = whole.parts;
  const Reason reason = blocked_[entry.partition.value] != 0 ? Reason::priority : Reason::resources;
  whole.looks = looks_of_a_job;  // whatever the tries to start it now took
  auto found = earliest_parts(whole);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Finding finding{parts[i].job->key, reason, {}, {}, parts[i].places.front().partition};
    if (found) {
      const Fit& fit = found->second[i];
      finding.promised = has_promise(entry);
      finding.planned_start = found->first;
      finding.planned_shares = fit.shares;
      finding.partition = fit.place.partition;
    }
    plan_.findings.push_back(std::move(finding));
  }
  if (!found) return;
  count_.give(entry.partition, entry.node_set);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Fit& fit = found->second[i];
    blocked_[fit.place.partition.value] = 1;
    note_head(fit.place.partition, found->first);
    if (settings_.backfill != Backfill::strict && settings_.backfill != Backfill::none)
      promise({found->first, fit.shares}, fit.place.partition, parts[i].span);
  }
  if (settings_.backfill == Backfill::strict) shadow_ = std::min(shadow_, found->first);
}

bool Pass::preempt_parts(const QueueEntry& entry, Whole& whole) {
  if (!preempts_) return false;
  const std::vector<Part>& parts = whole.parts;
  std::vector<Wanting> wanting;  // who yields to one yields to all of the same QOS in that partition
  std::set<std::pair<QosId, PartitionIndex>> known;
  for (const Part& part : parts)
    for (const Place& place : part.places)
      if (known.emplace(part.job->qos, place.partition).second) wanting.push_back({part.job, place.partition});
  std::vector<Fit> fits;
  const auto room = make_room(wanting, [&]() -> std::optional<std::vector<NodeShare>> {
    all_nodes_anew_ = true;
    auto found = fit_parts(whole, plan_.made_at, true);
    all_nodes_anew_ = false;
    if (!found) return std::nullopt;
    fits = *std::move(found);
    std::vector<NodeShare> together;
    for (const Fit& fit : fits) add_shares(together, fit.shares);
    return together;
  });
  if (!room) return false;
  // Whoever comes later finds the nodes taken.
  for (std::size_t i = 0; i < parts.size(); ++i) {
    take_until(fits[i].shares, fits[i].place.partition, plus(plan_.made_at, parts[i].span));
    plan_.findings.push_back(
        {parts[i].job->key, Reason::resources, plan_.made_at + seconds(1), fits[i].shares, fits[i].place.partition});
    blocked_[fits[i].place.partition.value] = 1;
  }
  blocked_[entry.partition.value] = 1;
  return true;
}

Pass::Tried Pass::try_parts(const QueueEntry& entry, bool leader_fails) {
  const bool watched = entry.job->key == settings_.watched;
  Whole whole{parts_of(entry), {}, looks_of_a_job};
  const std::vector<Part>& parts = whole.parts;
  if (parts.empty() || are_limited(parts, nullptr) || lack_licences(parts)) return Tried::skipped;
  const bool behind = std::ranges::any_of(parts, [&](const Part& part) {
    return std::ranges::all_of(part.places, [&](const Place& place) { return blocked_[place.partition.value] != 0; });
  });
  const Duration longest = std::ranges::max_element(parts, {}, &Part::span)->span;
  const bool in_line = behind && settings_.backfill == Backfill::none;
  if (in_line && !watched) return Tried::blocked;
  if (behind && settings_.backfill == Backfill::strict && plus(plan_.made_at, longest) >= shadow_ && !watched)
    return Tried::blocked;
  whole.orders = orders_of(parts);
  if (!leader_fails && !in_line) {
    if (auto fits = fit_parts(whole, plan_.made_at, true)) {
      if (are_limited(parts, &*fits)) return Tried::skipped;
      start_parts(entry, parts, *std::move(fits));
      return Tried::placed;
    }
  }
  if ((in_line || !preempt_parts(entry, whole)) && may_claim(entry)) block_parts(entry, whole);
  if (watched && entry.job->spec->resource_request().more_partitions.empty()) watched_done_ = true;
  return Tried::blocked;
}

}  // namespace millrace
