// src/core/admission/reserve.cpp - see reserve.h.
#include "core/admission/reserve.h"

#include <algorithm>

#include "base/text.h"
#include "core/admission/submit_job.h"
#include "core/ledger/licences.h"
#include "core/model/features.h"
#include "core/model/gres_text.h"

namespace millrace {
namespace {

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string_view word : split(text, ','))
    if (!trim(word).empty()) out.emplace_back(trim(word));
  return out;
}

std::expected<void, Refusal> read_flags(const std::string& text, Reservation& out) {
  static constexpr std::pair<const char*, std::uint32_t> known[] = {
      {"maint", reserve_maint},         {"ignore_jobs", reserve_ignore_jobs}, {"hourly", reserve_hourly},
      {"daily", reserve_daily},         {"weekly", reserve_weekly},           {"weekday", reserve_weekday},
      {"weekend", reserve_weekend},     {"flex", reserve_flex},               {"overlap", reserve_overlap},
      {"spec_nodes", reserve_spec_nodes}, {"time_float", reserve_time_float}, {"all_nodes", reserve_all_nodes},
      {"static_alloc", reserve_static_alloc},
  };
  for (const std::string& word : names_in(text)) {
    const bool off = word.starts_with('-');
    const std::string name = lower(word.starts_with('+') || off ? std::string_view{word}.substr(1) : std::string_view{word});
    const auto it = std::ranges::find(known, name, [](const auto& row) { return std::string{row.first}; });
    if (it == std::end(known))
      return refuse(RefusalCode::not_supported,
                    "reservation flag '" + word + "' is not one of MAINT, IGNORE_JOBS, HOURLY, DAILY, WEEKLY, WEEKDAY, WEEKEND, FLEX, OVERLAP, "
                    "SPEC_NODES, ALL_NODES, TIME_FLOAT, STATIC_ALLOC; others are not built yet");
    out.flags = off ? out.flags & ~it->second : out.flags | it->second;
  }
  return {};
}

std::expected<void, Refusal> read_licences(const State& state, const std::string& text, Reservation& out) {
  auto list = parse_licences(text);
  if (!list) return refuse(RefusalCode::invalid_licenses, list.error().story);
  if (list->any) return refuse(RefusalCode::invalid_licenses, "a reservation keeps all licences it names; separate them with ','");
  std::ranges::sort(list->asks, {}, &LicenceAsk::name);
  for (const LicenceAsk& ask : list->asks) {
    const auto it = std::ranges::find(state.policy->licences, ask.name, &LicenceAsk::name);
    if (it == state.policy->licences.end()) return refuse(RefusalCode::invalid_licenses, "no licence " + ask.name + " is configured");
    if (it->count < ask.count)
      return refuse(RefusalCode::invalid_licenses, "there are " + std::to_string(it->count) + " of licence " + ask.name + ", not " + std::to_string(ask.count));
  }
  out.licences = std::move(list->asks);
  return {};
}

// The licence that it and others in the same time would keep more of than there are.
std::string licence_kept_twice(const State& state, const Reservation& one, Time now) {
  std::vector<LicenceAsk> left = state.policy->licences;
  for (const auto& [id, other] : state.reservations)
    if (id != one.id && other->crosses(one.starts(now), one.ends(now), now)) subtract(left, other->licences);
  for (const LicenceAsk& ask : one.licences)
    if (const auto it = std::ranges::find(left, ask.name, &LicenceAsk::name); it == left.end() || it->count < ask.count) return ask.name;
  return {};
}

bool share_a_node(const Reservation& a, const Reservation& b) {
  return std::ranges::any_of(a.nodes, [&](std::uint32_t node) { return std::ranges::binary_search(b.nodes, node); });
}

// The one it may not lie over: times cross, a node is in both, and neither is meant to overlap.
const Reservation* overlapped(const State& state, const Reservation& one, Time now) {
  if (one.has(reserve_overlap) || one.has(reserve_maint)) return nullptr;
  for (const auto& [id, other] : state.reservations) {
    if (id == one.id || other->has(reserve_overlap) || other->has(reserve_maint)) continue;
    if (one.starts(now) >= other->ends(now) || other->starts(now) >= one.ends(now)) continue;
    if (share_a_node(one, *other)) return other.get();
  }
  return nullptr;
}

// A job on this node that is planned to run into the window.
const Job* job_in_the_way(const State& state, std::uint32_t node, const Reservation& one, Time now) {
  for (const JobKey key : state.node(NodeIndex{node}).jobs) {
    const Job& job = state.job(key);
    const bool ends_before = job.time_limit_minutes != unlimited && job.started_at + minutes(job.time_limit_minutes) <= one.starts(now);
    if (!ends_before) return &job;
  }
  return nullptr;
}

std::expected<void, Refusal> choose_reserved(const State& state, const Reserve& ask, Reservation& out, Time now) {
  const auto pool = [&]() -> std::vector<NodeIndex> {
    if (out.partition != unlimited) return state.partition(PartitionIndex{out.partition}).nodes;
    for (const Partition& partition : *state.partitions)
      if (partition.configured && partition.def.is_default) return partition.nodes;
    return {};
  };
  if (ask.nodes && !equals_ignoring_case(*ask.nodes, "ALL")) {
    auto nodes = resolve_nodes(state, *ask.nodes);
    if (!nodes) return std::unexpected(std::move(nodes).error());
    out.nodes = *std::move(nodes);
  } else if (ask.nodes || out.has(reserve_all_nodes)) {
    out.nodes.clear();
    if (out.partition != unlimited) {
      for (const NodeIndex index : pool()) out.nodes.push_back(index.value);
    } else {
      for (const auto& [index, node] : state.nodes)
        if (node->configured && !node->future) out.nodes.push_back(index.value);
    }
  } else if (ask.node_count) {
    out.nodes.clear();
    const auto wanted = parse_features(out.features);
    if (!wanted) return refuse(RefusalCode::invalid_feature, wanted.error().story);
    for (const NodeIndex index : pool()) {
      if (out.nodes.size() == *ask.node_count) break;
      Reservation alone = out;
      alone.nodes = {index.value};
      if (!wanted->admits(features_of(*state.node(index).def))) continue;
      if (!state.node(index).is_usable() || overlapped(state, alone, now) || job_in_the_way(state, index.value, alone, now)) continue;
      out.nodes.push_back(index.value);
    }
    if (out.nodes.size() < *ask.node_count)
      return refuse(RefusalCode::nodes_busy, "only " + std::to_string(out.nodes.size()) + " of " + std::to_string(*ask.node_count) +
                                                 " nodes" + (out.features.empty() ? "" : " with " + out.features) + " are free of jobs and other reservations in that time");
  }
  std::ranges::sort(out.nodes);
  return {};
}

std::expected<void, Refusal> fill(const State& state, const Reserve& ask, Reservation& out, Time now) {
  if (ask.flags)
    if (auto read = read_flags(*ask.flags, out); !read) return read;
  if (ask.partition) {
    const auto partition = state.find_partition(*ask.partition);
    if (!partition) return refuse(RefusalCode::invalid_partition, "invalid partition specified: " + *ask.partition);
    out.partition = partition->value;
  }
  if (ask.users) out.users = names_in(*ask.users);
  if (ask.accounts) out.accounts = names_in(*ask.accounts);
  if (ask.groups) out.groups = names_in(*ask.groups);
  if (ask.comment) out.comment = *ask.comment;
  if (ask.features) out.features = *ask.features;
  if (ask.licences)
    if (auto read = read_licences(state, *ask.licences, out); !read) return read;
  const Duration length = ask.duration.value_or(out.end - out.start);
  if (ask.start) out.start = out.has(reserve_time_float) ? Time{(*ask.start - now).value} : *ask.start;
  if (ask.end) out.end = out.has(reserve_time_float) ? Time{(*ask.end - now).value} : *ask.end;
  else if (ask.start || ask.duration) out.end = out.start + length;
  return choose_reserved(state, ask, out, now);
}

std::expected<void, Refusal> check(const State& state, const Reservation& one, Time now) {
  if (one.end <= one.start) return refuse(RefusalCode::reservation_invalid, "its end is not after its start; Duration= or EndTime= says how long it lasts");
  if (one.ends(now) <= now) return refuse(RefusalCode::reservation_invalid, "its end has passed already");
  if (one.users.empty() && one.accounts.empty() && one.groups.empty()) return refuse(RefusalCode::reservation_empty, "Users=, Accounts= or Groups= says who may use it");
  if (!one.users.empty() && !one.groups.empty()) return refuse(RefusalCode::reservation_user_group);
  if (one.nodes.empty() && one.licences.empty()) return refuse(RefusalCode::reservation_invalid, "Nodes=, NodeCnt= or Licenses= says what is kept");
  if (const std::string licence = licence_kept_twice(state, one, now); !licence.empty() && !one.has(reserve_overlap))
    return refuse(RefusalCode::reservation_overlap, "other reservations keep licence " + licence + " in that time; Flags=OVERLAP allows that");
  if (const Reservation* other = overlapped(state, one, now))
    return refuse(RefusalCode::reservation_overlap, "it lies over reservation " + other->name + "; Flags=OVERLAP allows that");
  if (!one.has(reserve_ignore_jobs) && !one.has(reserve_maint))
    for (const std::uint32_t node : one.nodes)
      if (const Job* job = job_in_the_way(state, node, one, now))
        return refuse(RefusalCode::nodes_busy, "job " + std::to_string(job->id.value) + " on " + state.node(NodeIndex{node}).def->name +
                                                   " may run into it; Flags=IGNORE_JOBS takes the node nevertheless");
  return {};
}

}  // namespace

std::expected<Reserved, Refusal> decide_reserve(const State& state, const Reserve& ask, const Actor& actor, Time now) {
  if (!actor.is_admin) return refuse(RefusalCode::access_denied);
  Reservation made;
  made.id = state.next_reservation;
  made.name = ask.name.empty() ? ask.asker + "_" + std::to_string(made.id.value) : ask.name;
  if (state.find_reservation(made.name)) return refuse(RefusalCode::reservation_name_taken, "reservation " + made.name + " is there already");
  made.made_by = actor.uid;
  made.start = now;
  made.end = now + seconds(365LL * 24 * 3600);
  if (auto filled = fill(state, ask, made, now); !filled) return std::unexpected(std::move(filled).error());
  if (auto right = check(state, made, now); !right) return std::unexpected(std::move(right).error());
  return Reserved{made.name, {ReservationSet{made, now}}};
}

std::expected<Reserved, Refusal> decide_change_reservation(const State& state, const Reserve& ask, const Actor& actor, Time now) {
  if (!actor.is_admin) return refuse(RefusalCode::access_denied);
  const Reservation* found = state.find_reservation(ask.name);
  if (!found) return refuse(RefusalCode::reservation_invalid, "no reservation " + ask.name);
  Reservation changed = *found;
  if (auto filled = fill(state, ask, changed, now); !filled) return std::unexpected(std::move(filled).error());
  if (auto right = check(state, changed, now); !right) return std::unexpected(std::move(right).error());
  return Reserved{changed.name, {ReservationSet{changed, now}}};
}

Decision decide_remove_reservation(const State& state, const std::string& name, const Actor& actor, Time now) {
  if (!actor.is_admin) return refuse(RefusalCode::access_denied);
  const Reservation* found = state.find_reservation(name);
  if (!found) return refuse(RefusalCode::reservation_invalid, "no reservation " + name);
  for (const auto& [key, nothing] : state.active)
    if (state.job(key).spec->resource_request().reservation == name)
      return refuse(RefusalCode::reservation_busy, "job " + std::to_string(state.job(key).id.value) + " runs in it");
  return std::vector<Event>{ReservationRemoved{found->id, now}};
}

std::expected<void, Refusal> check_reservation(const State& state, const JobSpec& spec) {
  const std::string& name = spec.resource_request().reservation;
  if (name.empty()) return {};
  const Reservation* found = state.find_reservation(name);
  if (!found) return refuse(RefusalCode::reservation_invalid, "no reservation " + name);
  if (!may_use(*found, *spec.owner, spec.account)) return refuse(RefusalCode::reservation_access);
  return {};
}

}  // namespace millrace
