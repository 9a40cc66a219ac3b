// src/core/ledger/job_size.h - how much a job is, counted in trackable resources: as asked, and as placed.
#pragma once

#include <span>

#include "core/ledger/state.h"

namespace millrace {

struct JobSize {
  Tres tres;
  Tres per_node;              // the most on any one node
  std::uint32_t minutes = 0;  // its limit; a job without one counts as a year, as for planning
};

JobSize requested_size(const State& state, const Job& job);
JobSize placed_size(const State& state, const Job& job, std::span<const NodeShare> shares);

// How many tasks it has. Where their number was not asked for it follows the nodes that the job was given.
std::uint32_t task_count(const Job& job);

// What it is charged by: TRESBillingWeights of its partition, else its CPUs.
std::int64_t billing_of(const State& state, const PartitionDef& partition, const Tres& tres);

}  // namespace millrace
