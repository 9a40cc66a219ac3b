// src/core/admission/reserve.cpp - see reserve.h.
#include "core/admission/reserve.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"
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

constexpr std::int64_t purge_default_seconds = 300;

std::expected<void, Refusal> read_flags(const std::string& text, char op, Reservation& out) {
  static constexpr std::pair<const char*, std::uint32_t> known[] = {
      {"maint", reserve_maint},
      {"ignore_jobs", reserve_ignore_jobs},
      {"hourly", reserve_hourly},
      {"daily", reserve_daily},
      {"weekly", reserve_weekly},
      {"weekday", reserve_weekday},
      {"weekend", reserve_weekend},
      {"flex", reserve_flex},
      {"overlap", reserve_overlap},
      {"spec_nodes", reserve_spec_nodes},
      {"time_float", reserve_time_float},
      {"all_nodes", reserve_all_nodes},
      {"static_alloc", reserve_static_alloc},
      {"any_nodes", reserve_any_nodes},
      {"license_only", reserve_any_nodes},
      {"no_hold_jobs_after", reserve_no_hold_after},
      {"no_hold_jobs_after_end", reserve_no_hold_after},
      {"magnetic", reserve_magnetic},
      {"replace", reserve_replace},
      {"replace_down", reserve_replace_down},
      {"user_delete", reserve_user_delete},
  };
  for (const std::string& word : names_in(text)) {
    const bool off = word.starts_with('-') || op == '-';
    const std::string name = lower(word.starts_with('+') || word.starts_with('-') ? std::string_view{word}.substr(1)
                                                                                  : std::string_view{word});
    if (name == "purge_comp" || name.starts_with("purge_comp=")) {
      const auto after = name == "purge_comp" ? std::optional{ParsedDuration{false, purge_default_seconds}}
                                              : parse_duration(std::string_view{name}.substr(11));
      if (!after || after->unlimited || after->seconds <= 0)
        return refuse(RefusalCode::invalid_time, "'" + word + "': PURGE_COMP=10 or PURGE_COMP=1:00:00 would be right");
      out.purge_after_idle_seconds =
          off ? 0 : static_cast<std::uint32_t>(std::min<std::int64_t>(after->seconds, INT32_MAX));
      continue;
    }
    const auto it = std::ranges::find(known, name, [](const auto& row) { return std::string{row.first}; });
    if (it == std::end(known))
      return refuse(RefusalCode::not_supported,
                    "reservation flag '" + word +
                        "' is not one of MAINT, IGNORE_JOBS, HOURLY, DAILY, WEEKLY, WEEKDAY, WEEKEND, FLEX, OVERLAP, "
                        "SPEC_NODES, ALL_NODES, ANY_NODES, TIME_FLOAT, STATIC_ALLOC, MAGNETIC, REPLACE, REPLACE_DOWN, "
                        "PURGE_COMP, NO_HOLD_JOBS_AFTER, USER_DELETE; "
                        "others are not built yet");
    out.flags = off ? out.flags & ~it->second : out.flags | it->second;
  }
  return {};
}

std::expected<void, Refusal> read_licences(const State& state, const std::string& text, Reservation& out) {
  auto list = parse_licences(text);
  if (!list) return refuse(RefusalCode::invalid_licenses, list.error().story);
  if (list->any)
    return refuse(RefusalCode::invalid_licenses, "a reservation keeps all licences it names; separate them with ','");
  std::ranges::sort(list->asks, {}, &LicenceAsk::name);
  for (const LicenceAsk& ask : list->asks) {
    const auto it = std::ranges::find(state.policy->licences, ask.name, &LicenceAsk::name);
    if (it == state.policy->licences.end())
      return refuse(RefusalCode::invalid_licenses, "no licence " + ask.name + " is configured");
    if (it->count < ask.count)
      return refuse(RefusalCode::invalid_licenses, "there are " + std::to_string(it->count) + " of licence " +
                                                       ask.name + ", not " + std::to_string(ask.count));
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
    if (const auto it = std::ranges::find(left, ask.name, &LicenceAsk::name); it == left.end() || it->count < ask.count)
      return ask.name;
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
    if (job.spec->resource_request().reservation == one.name) continue;
    const bool ends_before =
        job.time_limit_minutes != unlimited && job.started_at + minutes(job.time_limit_minutes) <= one.starts(now);
    if (!ends_before) return &job;
  }
  return nullptr;
}

// The nodes it may be given where it names none.
std::vector<NodeIndex> pool_of(const State& state, const Reservation& reservation) {
  if (reservation.partition != unlimited) return state.partition(PartitionIndex{reservation.partition}).nodes;
  for (const Partition& partition : *state.partitions)
    if (partition.configured && partition.def.is_default) return partition.nodes;
  return {};
}

bool holds_node(const Reservation& reservation, std::uint32_t node) {
  return std::ranges::find(reservation.nodes, node) != reservation.nodes.end();
}

// Usable, with its features, free of other reservations in its time.
bool could_hold(const State& state, const Reservation& reservation, const FeatureExpression& wanted, NodeIndex index,
                Time now) {
  if (holds_node(reservation, index.value)) return false;
  Reservation alone = reservation;
  alone.nodes = {index.value};
  return wanted.admits(features_of(*state.node(index).def)) && state.node(index).is_usable() &&
         !overlapped(state, alone, now);
}

// Keeps what it has; more are chosen, or some given back: those out of order first, then those that nobody uses.
std::expected<void, Refusal> resize(const State& state, Reservation& out, std::size_t count, Time now) {
  const auto wanted = parse_features(out.features);
  if (!wanted) return refuse(RefusalCode::invalid_feature, wanted.error().story);
  for (const int round : {0, 1, 2})
    for (std::size_t i = out.nodes.size(); i > 0 && out.nodes.size() > count; --i) {
      const Node& node = state.node(NodeIndex{out.nodes[i - 1]});
      if (round == 2 || !node.is_usable() || (round == 1 && node.jobs.empty()))
        out.nodes.erase(out.nodes.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
  for (const NodeIndex index : pool_of(state, out)) {
    if (out.nodes.size() >= count) break;
    if (could_hold(state, out, *wanted, index, now) && !job_in_the_way(state, index.value, out, now))
      out.nodes.push_back(index.value);
  }
  if (out.nodes.size() < count)
    return refuse(RefusalCode::nodes_busy, "only " + std::to_string(out.nodes.size()) + " of " + std::to_string(count) +
                                               " nodes" + (out.features.empty() ? "" : " with " + out.features) +
                                               " are free of jobs and other reservations in that time");
  return {};
}

// Whether its nodes were named, and whether they are all there are.
void note_choice(const Reserve& ask, Reservation& out) {
  if (ask.nodes || ask.node_count || ask.node_count_change != 0) out.flags &= ~std::uint32_t{reserve_all_nodes};
  if (ask.node_count || ask.node_count_change != 0) out.flags &= ~std::uint32_t{reserve_spec_nodes};
  if (ask.nodes) out.flags |= reserve_spec_nodes;
  if (ask.nodes && equals_ignoring_case(*ask.nodes, "ALL")) out.flags |= reserve_all_nodes;
}

std::expected<void, Refusal> choose_reserved(const State& state, const Reserve& ask, Reservation& out, Time now) {
  note_choice(ask, out);
  if (ask.nodes && !equals_ignoring_case(*ask.nodes, "ALL")) {
    auto nodes = resolve_nodes(state, *ask.nodes);
    if (!nodes) return std::unexpected(std::move(nodes).error());
    if (ask.nodes_op == '=')
      out.nodes = *std::move(nodes);
    else
      for (const std::uint32_t node : *nodes) {
        if (ask.nodes_op == '-')
          std::erase(out.nodes, node);
        else if (!holds_node(out, node))
          out.nodes.push_back(node);
      }
  } else if (ask.nodes || out.has(reserve_all_nodes)) {
    out.nodes.clear();
    if (out.partition != unlimited) {
      for (const NodeIndex index : pool_of(state, out)) out.nodes.push_back(index.value);
    } else {
      for (const auto& [index, node] : state.nodes)
        if (node->configured && !node->future) out.nodes.push_back(index.value);
    }
  } else if (ask.node_count || ask.node_count_change != 0) {
    const std::int64_t count = ask.node_count ? std::int64_t{*ask.node_count}
                                              : static_cast<std::int64_t>(out.nodes.size()) + ask.node_count_change;
    if (count < 1)
      return refuse(RefusalCode::invalid_node_count, "a reservation of " + std::to_string(out.nodes.size()) +
                                                         " nodes can not lose " +
                                                         std::to_string(-std::int64_t{ask.node_count_change}));
    if (auto resized = resize(state, out, static_cast<std::size_t>(count), now); !resized) return resized;
  }
  std::ranges::sort(out.nodes);
  return {};
}

void edit_names(const std::string& text, char op, std::vector<std::string>& list) {
  if (op == '=') list.clear();
  for (std::string& name : names_in(text)) {
    std::erase(list, name);
    if (op != '-') list.push_back(std::move(name));
  }
}

std::expected<void, Refusal> fill(const State& state, const Reserve& ask, Reservation& out, Time now) {
  if (ask.flags)
    if (auto read = read_flags(*ask.flags, ask.flags_op, out); !read) return read;
  if (ask.nodes && (out.has(reserve_replace) || out.has(reserve_replace_down)) && ask.nodes_op == '=')
    return refuse(RefusalCode::reservation_invalid,
                  "REPLACE and REPLACE_DOWN choose the nodes: NodeCnt= says how many, Nodes= would say which");
  if (ask.partition) {
    const auto partition = state.find_partition(*ask.partition);
    if (!partition) return refuse(RefusalCode::invalid_partition, "invalid partition specified: " + *ask.partition);
    out.partition = partition->value;
  }
  if (ask.users) edit_names(*ask.users, ask.users_op, out.users);
  if (ask.accounts) edit_names(*ask.accounts, ask.accounts_op, out.accounts);
  if (ask.groups) edit_names(*ask.groups, ask.groups_op, out.groups);
  if (ask.max_start_delay_seconds) out.max_start_delay_seconds = *ask.max_start_delay_seconds;
  if (ask.comment) out.comment = *ask.comment;
  if (ask.features) out.features = *ask.features;
  if (ask.licences)
    if (auto read = read_licences(state, *ask.licences, out); !read) return read;
  const Duration length = ask.duration.value_or(out.end - out.start);
  if (ask.start) out.start = out.has(reserve_time_float) ? Time{(*ask.start - now).value} : *ask.start;
  if (ask.end)
    out.end = out.has(reserve_time_float) ? Time{(*ask.end - now).value} : *ask.end;
  else if (ask.start || ask.duration)
    out.end = out.start + length;
  out.start = out.start + ask.start_change;
  out.end = out.end + ask.end_change + ask.duration_change;
  if (ask.start_change.value != 0 && ask.end_change.value == 0) out.end = out.end + ask.start_change;
  return choose_reserved(state, ask, out, now);
}

// `before`: what it was, of one that is changed.
std::expected<void, Refusal> check(const State& state, const Reservation& one, const Reservation* before, Time now) {
  if (one.end <= one.start)
    return refuse(RefusalCode::reservation_invalid,
                  "its end is not after its start; Duration= or EndTime= says how long it lasts");
  if (one.recurs() && one.end == never)
    return refuse(RefusalCode::reservation_invalid,
                  "it comes again and never ends; Duration= or EndTime= says how long each turn lasts");
  if (one.ends(now) <= now) return refuse(RefusalCode::reservation_invalid, "its end has passed already");
  if (one.users.empty() && one.accounts.empty() && one.groups.empty())
    return refuse(RefusalCode::reservation_empty, "Users=, Accounts= or Groups= says who may use it");
  if (!one.users.empty() && !one.groups.empty()) return refuse(RefusalCode::reservation_user_group);
  if (one.nodes.empty() && one.licences.empty())
    return refuse(RefusalCode::reservation_invalid, "Nodes=, NodeCnt= or Licenses= says what is kept");
  if (const std::string licence = licence_kept_twice(state, one, now); !licence.empty() && !one.has(reserve_overlap))
    return refuse(RefusalCode::reservation_overlap,
                  "other reservations keep licence " + licence + " in that time; Flags=OVERLAP allows that");
  if (const Reservation* other = overlapped(state, one, now))
    return refuse(RefusalCode::reservation_overlap,
                  "it lies over reservation " + other->name + "; Flags=OVERLAP allows that");
  if (!one.has(reserve_ignore_jobs) && !one.has(reserve_maint))
    for (const std::uint32_t node : one.nodes) {
      if (before && one.start >= before->start && holds_node(*before, node)) continue;
      if (const Job* job = job_in_the_way(state, node, one, now))
        return refuse(RefusalCode::nodes_busy, "job " + std::to_string(job->id.value) + " on " +
                                                   state.node(NodeIndex{node}).def->name +
                                                   " may run into it; Flags=IGNORE_JOBS takes the node nevertheless");
    }
  return {};
}

}  // namespace

std::expected<Reserved, Refusal> decide_reserve(const State& state, const Reserve& ask, const Actor& actor, Time now) {
  if (!actor.is_admin) return refuse(RefusalCode::access_denied);
  Reservation made;
  made.id = state.next_reservation;
  made.name = ask.name.empty() ? ask.asker + "_" + std::to_string(made.id.value) : ask.name;
  if (state.find_reservation(made.name))
    return refuse(RefusalCode::reservation_name_taken, "reservation " + made.name + " is there already");
  made.made_by = actor.uid;
  made.start = now;
  made.end = now + seconds(365LL * 24 * 3600);
  made.start_awaited = true;
  if (auto filled = fill(state, ask, made, now); !filled) return std::unexpected(std::move(filled).error());
  if (auto right = check(state, made, nullptr, now); !right) return std::unexpected(std::move(right).error());
  return Reserved{made.name, {ReservationSet{made, now}}};
}

std::expected<Reserved, Refusal> decide_change_reservation(const State& state, const Reserve& ask, const Actor& actor,
                                                           Time now) {
  if (!actor.is_admin) return refuse(RefusalCode::access_denied);
  const Reservation* found = state.find_reservation(ask.name);
  if (!found) return refuse(RefusalCode::reservation_invalid, "no reservation " + ask.name);
  Reservation changed = *found;
  if (ask.skip) {
    if (!found->recurs())
      return refuse(RefusalCode::reservation_invalid,
                    "only a reservation that comes again can skip a turn; scontrol delete takes one away");
    return Reserved{found->name, {ReservationSet{next_turn(*found, now), now}}};
  }
  if (auto filled = fill(state, ask, changed, now); !filled) return std::unexpected(std::move(filled).error());
  if (auto right = check(state, changed, found, now); !right) return std::unexpected(std::move(right).error());
  changed.start_awaited = changed.start_awaited || changed.start > now;  // put off
  if (changed.purge_after_idle_seconds > 0 && !changed.idle_since.is_set()) changed.idle_since = now;
  return Reserved{changed.name, {ReservationSet{changed, now}}};
}

namespace {

// Jobs that wait for it and are not to wait for ever (NO_HOLD_JOBS_AFTER): they ask for it no more.
void let_go(const State& state, const Reservation& reservation, Time now, std::vector<Event>& events) {
  if (!reservation.has(reserve_no_hold_after)) return;
  for (const auto& [key, job] : state.jobs) {
    if (job->state != JobState::pending || job->spec->resource_request().reservation != reservation.name) continue;
    ResourceRequest request = job->spec->resource_request();
    request.reservation.clear();
    JobModified change;
    change.key = key;
    change.resources = std::move(request);
    change.at = now;
    events.emplace_back(std::move(change));
  }
}

// USER_DELETE: whoever may use it may take it back.
bool may_remove(const State& state, const Reservation& reservation, const Actor& actor) {
  if (actor.is_admin) return true;
  if (!reservation.has(reserve_user_delete)) return false;
  const auto* known = state.owners.find(actor.uid);
  Owner owner = known ? **known : Owner{};
  if (!known) owner.uid = actor.uid, owner.user_name = actor.name;
  if (reservation.accounts.empty()) return may_use(reservation, owner, {});
  for (const auto& [id, each] : state.associations)
    if (each->user == owner.user_name && may_use(reservation, owner, each->account)) return true;
  return false;
}

// When somebody had to do with it the last time; now, where a job waits for it or runs in it.
Time last_use(const State& state, const Reservation& reservation, Time now) {
  Time last = std::max(reservation.start, reservation.idle_since);
  const auto look = [&](const Job& job) {
    if (job.spec->resource_request().reservation == reservation.name)
      last = std::max(last, job.state == JobState::ended ? job.ended_at : now);
  };
  for (const auto& [key, job] : state.jobs) look(*job);
  for (const auto& [number, kept] : state.kept)
    if (kept->job->ended_at > last) look(*kept->job);
  return last;
}

}  // namespace

Decision decide_remove_reservation(const State& state, const std::string& name, const Actor& actor, Time now) {
  const Reservation* found = state.find_reservation(name);
  if (!actor.is_admin && (!found || !may_remove(state, *found, actor))) return refuse(RefusalCode::access_denied);
  if (!found) return refuse(RefusalCode::reservation_invalid, "no reservation " + name);
  for (const auto& [key, nothing] : state.active)
    if (state.job(key).spec->resource_request().reservation == name)
      return refuse(RefusalCode::reservation_busy, "job " + std::to_string(state.job(key).id.value) + " runs in it");
  std::vector<Event> events;
  let_go(state, *found, now, events);
  events.emplace_back(ReservationRemoved{found->id, now});
  return events;
}

std::vector<Event> decide_reservation_due(const State& state, ReservationId id, Time now) {
  std::vector<Event> events;
  const Reservation& reservation = *state.reservations.at(id);
  if (reservation.end > now) {
    Reservation next = reservation;
    const bool starts = std::exchange(next.start_awaited, false);
    if (reservation.purge_after_idle_seconds > 0) next.idle_since = last_use(state, reservation, now);
    if (starts || next.idle_since + seconds(reservation.purge_after_idle_seconds) > now)
      return {ReservationSet{next, now}};
  } else if (!reservation.has(reserve_flex)) {
    // Those still running in it have to go; components first: with their leader they would stop too.
    for (const bool component : {true, false})
      for (const auto& [key, nothing] : state.active) {
        const Job& job = state.job(key);
        if (job.is_component() == component && (job.state == JobState::running || job.state == JobState::suspended) &&
            job.spec->resource_request().reservation == reservation.name)
          events.emplace_back(JobTimedOut{key, now});
      }
  }
  if (reservation.recurs()) {
    events.emplace_back(ReservationSet{next_turn(reservation, now), now});
  } else {
    let_go(state, reservation, now, events);
    events.emplace_back(ReservationRemoved{id, now});
  }
  return events;
}

std::vector<Event> decide_replacements(const State& state, Time now) {
  std::vector<Event> events;
  bool any = false;
  for (const auto& [id, each] : state.reservations)
    any = any || each->has(reserve_replace) || each->has(reserve_replace_down);
  if (!any) return events;
  State after = state;  // each choice sees the one before
  for (const auto& [id, held] : state.reservations) {
    if ((!held->has(reserve_replace) && !held->has(reserve_replace_down)) || held->ends(now) <= now) continue;
    const auto wanted = parse_features(held->features);
    if (!wanted) continue;
    Reservation changed = *held;
    const bool active = held->starts(now) <= now;
    for (const std::uint32_t index : held->nodes) {
      const Node& node = state.node(NodeIndex{index});
      if (node.is_usable() && !(held->has(reserve_replace) && active && !node.jobs.empty())) continue;
      const std::vector<NodeIndex> pool = pool_of(state, changed);
      const auto other = std::ranges::find_if(pool, [&](NodeIndex each) {
        return state.node(each).jobs.empty() && could_hold(after, changed, *wanted, each, now);
      });
      if (other == pool.end()) continue;  // nothing is better than what it has
      std::erase(changed.nodes, index);
      changed.nodes.push_back(other->value);
    }
    std::ranges::sort(changed.nodes);
    if (changed == *held) continue;
    events.emplace_back(ReservationSet{changed, now});
    millrace::apply(after, events.back());
  }
  return events;
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
