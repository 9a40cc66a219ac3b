// src/core/admission/accept_placement.cpp - see accept_placement.h.
#include "core/admission/accept_placement.h"

#include <algorithm>

#include "core/admission/job_selection.h"
#include "core/ledger/apply_account.h"
#include "core/ledger/limits.h"

namespace millrace {
namespace {

bool share_fits(const State& state, const Partition& partition, const NodeShare& share) {
  if (std::ranges::find(partition.nodes, share.node) == partition.nodes.end()) return false;
  const auto* found = state.nodes.find(share.node);
  if (!found || !(*found)->is_usable()) return false;
  const Node& node = **found;
  if (node.used_cpus + share.cpus > node.def->cpus) return false;
  return !state.policy->memory_is_consumable || node.used_memory + share.memory <= node.def->memory;
}

bool throttled(const State& state, const Job& job) {
  const ArrayState* array = state.find_array(job.array);
  return array && array->spec.throttle > 0 && array->running >= array->spec.throttle;
}

// Kept for others at this moment. What begins later was the planner's to weigh.
bool is_reserved(const State& state, NodeIndex node, const std::string& own, Time now) {
  for (const auto& [id, reservation] : state.reservations)
    if (reservation->name != own && reservation->starts(now) <= now && now < reservation->ends(now) &&
        std::ranges::binary_search(reservation->nodes, node.value))
      return true;
  return false;
}

}  // namespace

std::vector<Event> decide_place(const State& state, const PlaceJob& proposal, Time now) {
  const Job* job = state.find_job(proposal.key);
  if (!job || !is_queueable(*job) || job->attempt != proposal.attempt || proposal.shares.empty()) return {};
  if (throttled(state, *job)) return {};
  const PartitionIndex where = proposal.partition.value_or(job->spec->partition);
  const Partition& partition = state.partition(where);
  if (!partition.configured || partition.def.availability == Availability::down ||
      partition.def.availability == Availability::inactive)
    return {};
  for (const NodeShare& share : proposal.shares)
    if (!share_fits(state, partition, share) || is_reserved(state, share.node, job->spec->resource_request().reservation, now)) return {};
  if (limits_enforced(state)) {
    const Job there = in_partition(state, *job, where);
    if (start_hit(state, there, placed_size(state, there, proposal.shares), now)) return {};
  }
  std::vector<Event> events;
  SelectedJob which{job->key, {}};
  if (job->is_array_rest()) which.task = state.arrays.at(job->array)->rest.front();
  const JobKey key = split_if_needed(state, which, now, events);
  events.emplace_back(JobPlaced{key, proposal.attempt, proposal.shares, proposal.by_backfill, now,
                                where == job->spec->partition ? std::nullopt : std::optional{where}, proposal.priority});
  return events;
}

}  // namespace millrace
