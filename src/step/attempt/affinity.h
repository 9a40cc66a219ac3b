// src/step/attempt/affinity.h - which processors and which memory each task of this node may use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/model/cpu_bind.h"
#include "isolation/cpu_places.h"

namespace millrace {

class Environment;

struct BindRequest {
  std::vector<CpuPlace> places;  // of the allocation on this node, by position
  std::uint32_t tasks = 1;
  std::uint32_t cpus_per_task = 1;
  bool cyclic = true;  // over sockets: one after the other in turn
};

// A list of CPUs (the kernel's numbers) for each task; empty lists: not bound beyond the allocation. A bind that asks
// for CPUs outside the allocation is refused.
Result<std::vector<std::vector<std::uint32_t>>> bind_tasks(const CpuBind& bind, const BindRequest& request);

// Hexadecimal, as taskset and Slurm write masks: 0x3.
std::string format_mask(const std::vector<std::uint32_t>& cpus);
// SLURM_CPU_BIND and the like.
void add_binding(Environment& environment, const CpuBind& bind, const std::vector<std::vector<std::uint32_t>>& tasks);

// Memory nodes as bits for a task; 0: no policy.
std::uint64_t memory_nodes_of(const MemoryBind& bind, std::uint32_t local_rank, const std::vector<std::uint32_t>& cpus,
                              const std::vector<CpuPlace>& places);

}  // namespace millrace
