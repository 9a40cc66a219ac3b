// src/core/admission/accept_placement.cpp - see accept_placement.h.
#include "core/admission/accept_placement.h"

#include <algorithm>

#include "core/admission/job_selection.h"

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

}  // namespace

std::vector<Event> decide_place(const State& state, const PlaceJob& proposal, Time now) {
  const Job* job = state.find_job(proposal.key);
  if (!job || !is_queueable(*job) || job->attempt != proposal.attempt || proposal.shares.empty()) return {};
  if (throttled(state, *job)) return {};
  const Partition& partition = state.partition(job->spec->partition);
  if (!partition.configured || partition.def.availability == Availability::down ||
      partition.def.availability == Availability::inactive)
    return {};
  for (const NodeShare& share : proposal.shares)
    if (!share_fits(state, partition, share)) return {};
  std::vector<Event> events;
  SelectedJob which{job->key, {}};
  if (job->is_array_rest()) which.task = state.arrays.at(job->array)->rest.front();
  const JobKey key = split_if_needed(state, which, now, events);
  events.emplace_back(JobPlaced{key, proposal.attempt, proposal.shares, proposal.by_backfill, now});
  return events;
}

}  // namespace millrace
