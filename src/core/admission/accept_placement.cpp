// src/core/admission/accept_placement.cpp - see accept_placement.h.
#include "core/admission/accept_placement.h"

#include <algorithm>

#include "core/admission/job_selection.h"
#include "core/ledger/apply.h"
#include "core/ledger/apply_account.h"
#include "core/ledger/cpu_holders.h"
#include "core/ledger/licences.h"
#include "core/ledger/limits.h"
#include "core/ledger/sharing.h"
#include "core/model/assign.h"
#include "core/model/features.h"

namespace millrace {
namespace {

bool share_fits(const State& state, const Partition& partition, const NodeShare& share) {
  if (std::ranges::find(partition.nodes, share.node) == partition.nodes.end()) return false;
  const auto* found = state.nodes.find(share.node);
  if (!found || !(*found)->is_usable()) return false;
  const Node& node = **found;
  const Amounts all = working_of(*node.def);
  if (share.detail)
    for (std::size_t slot = 0; slot < gres_kinds_max; ++slot) {
      const std::int64_t total = all.gres[slot];
      if (share.detail->gres[slot] > 0 && node.used_gres[slot] + share.detail->gres[slot] > total) return false;
    }
  return !state.policy->memory_is_consumable || node.used_memory + share.memory <= node.def->usable_memory();
}

// MaxCPUsPerNode: with those that jobs of the partition have there already.
bool within_cap(const State& state, PartitionIndex where, const NodeShare& share) {
  const std::uint32_t most = state.partition(where).def.max_cpus_per_node;
  if (most == unlimited) return true;
  std::int64_t cpus = share.cpus.value;
  for (const CpuHolder& holder : cpu_holders(state, share.node))
    if (holder.partition == where) cpus += holder.cpus;
  return cpus <= most;
}

enum class Fill : std::uint8_t { filled, too_few, not_in_this_way };

Fill fill_from(const State& state, const JobSpec& spec, const NodeUse& use, std::int64_t closed, bool shared,
               NodeShare& share) {
  const Node& node = state.node(share.node);
  if (closed + share.cpus.value > node.def->usable_cpus().value) return Fill::too_few;
  if (!is_assigned(*node.def) && !shared) return Fill::filled;
  auto detail = assign(spec, *node.def, use, share.amounts(), fit_rules(*state.policy));
  if (!detail) return Fill::not_in_this_way;
  share.detail = SharedValue(*std::move(detail));
  return Fill::filled;
}

// Which CPUs and devices exactly. One that shares is put where the fewest are.
Fill fill_detail(const State& state, const Job& job, PartitionIndex where, std::uint32_t rows, NodeShare& share) {
  const Node& node = state.node(share.node);
  if (rows <= 1 && node.suspended == 0)
    return fill_from(state, *job.spec, node.use, node.used_cpus.value, false, share);
  const std::vector<CpuHolder> holders = cpu_holders(state, share.node);
  Fill last = Fill::not_in_this_way;
  for (std::uint32_t row = 1; row <= rows; ++row) {
    ClosedCpus closed = closed_cpus(state, *node.def, holders, {&job, where, row});
    NodeUse use = node.use;
    use.cpus = std::move(closed.bits);
    last = fill_from(state, *job.spec, use, closed.count, rows > 1, share);
    if (last == Fill::filled) return last;
  }
  return Fill::not_in_this_way;
}

// Where jobs on the same CPUs take turns, it begins when its turn comes.
bool must_wait_for_its_turn(const State& state, const std::vector<NodeShare>& shares) {
  return state.policy->gang && std::ranges::any_of(shares, [&](const NodeShare& share) {
           return have_common_bits(state.node(share.node).use.cpus, share.detail->cpus);
         });
}

bool has_features(const State& state, const JobSpec& spec, const std::vector<NodeShare>& shares) {
  if (!spec.resources || spec.resources->features.empty()) return true;
  const auto wanted = features_wanted(spec.resources->features, spec.extra_request().batch_features);
  if (!wanted) return false;
  std::vector<std::vector<std::string>> have;
  for (const NodeShare& share : shares) have.push_back(features_of(*state.node(share.node).def));
  const bool same = std::ranges::any_of(wanted->alternatives, [&](const FeatureTerm& term) {
    return std::ranges::all_of(have, [&](const auto& features) { return term.matches(features); });
  });
  return same && std::ranges::all_of(wanted->counted, [&](const CountedFeature& each) {
           return std::ranges::count_if(have, [&](const auto& features) { return each.term.matches(features); }) >=
                  each.nodes;
         });
}

// --batch: the first of its nodes runs the script, and that is one that has what the script needs.
void begin_with_batch_host(const State& state, const JobSpec& spec, std::vector<NodeShare>& shares) {
  const std::string& batch = spec.extra_request().batch_features;
  if (batch.empty()) return;
  const auto wanted = parse_batch_features(batch, spec.resource_request().features);
  const auto host = std::ranges::find_if(shares, [&](const NodeShare& share) {
    return wanted && wanted->matches(features_of(*state.node(share.node).def));
  });
  if (host != shares.end()) std::rotate(shares.begin(), host, host + 1);
}

bool throttled(const State& state, const Job& job) {
  const ArrayState* array = state.find_array(job.array);
  return array && array->spec.throttle > 0 && array->running >= array->spec.throttle;
}

// Kept for others at this moment. What begins later was the planner's to weigh.
bool is_reserved(const State& state, NodeIndex node, const Job& job, std::uint32_t limit_minutes, Time now) {
  const std::string& own = job.spec->resource_request().reservation;
  const auto lent = [&](const Reservation& each) {
    return lends_to(each, *job.spec) && (lends_for(each).value == INT64_MAX ||
                                         (limit_minutes != unlimited && minutes(limit_minutes) <= lends_for(each)));
  };
  for (const auto& [id, reservation] : state.reservations)
    if (reservation->name != own && !lent(*reservation) && reservation->starts(now) <= now &&
        now < reservation->ends(now) && std::ranges::binary_search(reservation->nodes, node.value))
      return true;
  return false;
}

// The job itself was found to wait; may it start there, on this state?
std::optional<JobPlaced> check_placement(const State& state, const Job& job, const PlaceJob& proposal, Time now,
                                         Reason& why) {
  const auto drop = [&](Reason reason) {
    why = reason;
    return std::optional<JobPlaced>{};
  };
  if (job.attempt != proposal.attempt || proposal.shares.empty()) return drop(Reason::none);
  if (throttled(state, job)) return drop(Reason::array_task_limit);
  const JobSpec& spec = *job.spec;
  const IndexSet& counts = spec.resource_request().node_counts;
  if (!counts.empty() && !counts.contains(static_cast<std::uint32_t>(proposal.shares.size())))
    return drop(Reason::none);
  const PartitionIndex where = proposal.partition.value_or(spec.partition);
  const auto& more = spec.resource_request().more_partitions;
  if (where != spec.partition && std::ranges::find(more, where.value) == more.end()) return drop(Reason::none);
  const Partition& partition = state.partition(where);
  if (!partition.configured || partition.def.availability == Availability::down ||
      partition.def.availability == Availability::inactive)
    return drop(Reason::partition_down);
  JobPlaced placed{job.key, proposal.attempt, proposal.shares, proposal.by_backfill, now, {}, {}, proposal.priority};
  if (proposal.limit_minutes) {
    const std::uint32_t least = spec.resource_request().time_min_minutes;
    if (least == 0 || *proposal.limit_minutes < least || *proposal.limit_minutes > job.time_limit_minutes)
      return drop(Reason::none);
    placed.limit_minutes = proposal.limit_minutes;
  }
  if (where != spec.partition) placed.partition = where;
  const std::uint32_t rows = rows_of(state, job, where);
  placed.shared = rows > 1;
  placed.on_all_nodes = state.policy->node_programs;
  placed.prolog = state.policy->job_prolog && !job.is_component();
  placed.supervised = job.is_component();
  NodeFilter kind(spec);
  for (NodeShare& share : placed.shares) {
    if (!share_fits(state, partition, share) || !within_cap(state, where, share)) return drop(Reason::none);
    if (is_reserved(state, share.node, job, placed.limit_minutes.value_or(job.time_limit_minutes), now))
      return drop(Reason::reservation);
    const NodeDef& def = *state.node(share.node).def;
    if (!kind.admits(def)) return drop(Reason::bad_constraints);
    if (!admits_owner(state, state.node(share.node), spec)) return drop(Reason::resources);
    const Fill fill = fill_detail(state, job, where, rows, share);
    if (fill != Fill::filled) return drop(fill == Fill::too_few ? Reason::none : Reason::resources);
  }
  if (!has_features(state, spec, placed.shares)) return drop(Reason::bad_constraints);
  begin_with_batch_host(state, spec, placed.shares);
  if (spec.resources && !spec.resources->licences.empty()) {
    auto licences = choose_licences(*spec.resources, licences_free_for(state, job, now));
    if (!licences) return drop(Reason::licenses);
    placed.licences = *std::move(licences);
  }
  if (limits_enforced(state)) {
    const Job there = in_partition(state, job, where);
    if (const auto hit = start_hit(state, there, placed_size(state, there, placed.shares), now))
      return drop(reason_of(*hit));
  }
  return placed;
}

// All components or none: each is checked on what the ones before it leave.
std::vector<Event> place_components(const State& state, const Job& leader, const PlaceJob& proposal, Time now,
                                    Reason& why) {
  if (proposal.with.size() + 1 != leader.het->size) return {};
  HetJobPlaced whole;
  whole.at = now;
  State copy = state;
  for (std::uint32_t i = 0; i < leader.het->size; ++i) {
    const PlaceJob& one = i == 0 ? proposal : proposal.with[i - 1];
    const Job* job = copy.find_job(JobKey{leader.key.value + i});
    if (!job || job->key != one.key || job->state != JobState::pending) return {};
    auto placed = check_placement(copy, *job, one, now, why);
    if (!placed) return {};
    apply(copy, *placed);
    whole.components.push_back(*std::move(placed));
  }
  return {Event{std::move(whole)}};
}

}  // namespace

std::vector<Event> decide_place(const State& state, const PlaceJob& proposal, Time now, Reason* why) {
  Reason ignored = Reason::none;
  Reason& reason = why ? *why : ignored;
  reason = Reason::none;
  const Job* job = state.find_job(proposal.key);
  if (!job || !is_queueable(*job)) return {};
  if (job->het) return place_components(state, *job, proposal, now, reason);
  auto placed = check_placement(state, *job, proposal, now, reason);
  if (!placed) return {};
  std::vector<Event> events;
  SelectedJob which{job->key, {}};
  if (job->is_array_rest()) which.task = state.arrays.at(job->array)->rest.front();
  placed->key = split_if_needed(state, which, now, events);
  const JobKey key = placed->key;
  const bool waits = placed->shared && must_wait_for_its_turn(state, placed->shares);
  events.emplace_back(*std::move(placed));
  if (waits) events.emplace_back(JobSuspended{key, SuspendWhy::time_slice, {}, {}, now});
  return events;
}

}  // namespace millrace
