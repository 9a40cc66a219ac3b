// src/core/admission/partition_rules.h - what a partition and the whole cluster say about jobs: who may enter, how
// large, with how much memory.
#pragma once

#include "core/admission/refusal.h"
#include "core/ledger/state.h"

namespace millrace {

std::expected<void, Refusal> check_access(const PartitionDef& def, const JobSpec& spec, const Actor& actor);

// EnforcePartLimits: a job beyond the limits of its partitions is refused instead of waiting for other ones. `minutes`
// as asked; 0: not.
std::expected<void, Refusal> check_partition_limits(const State& state, const std::vector<PartitionIndex>& partitions,
                                                    const JobSpec& spec, std::uint32_t minutes);

// What jobs that ask for GPUs get with them when they say nothing (DefCpuPerGPU, DefMemPerGPU).
void complete_gpus(JobSpec& spec, const PartitionDef& partition, const Policy& policy);
void complete_memory(JobSpec& spec, const PartitionDef& partition, const Policy& policy);
// MaxMemPerNode refuses. MaxMemPerCPU gives a job with more memory more CPUs for it, so that it pays for what it takes.
std::expected<void, Refusal> limit_memory(JobSpec& spec, const PartitionDef& partition, const Policy& policy);

}  // namespace millrace
