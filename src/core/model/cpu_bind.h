// src/core/model/cpu_bind.h - --cpu-bind, --mem-bind and --gpu-bind as words: which processors, memory and gpus a task
// may use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

enum class BindKind : std::uint8_t {
  unset,
  none,
  threads,
  cores,
  sockets,
  ldoms,
  rank,
  rank_ldom,
  map_cpu,
  mask_cpu,
  map_ldom,
  mask_ldom
};

// A list of map_cpu or mask_cpu is used in turn, task after task of a node.
struct CpuBind {
  BindKind kind = BindKind::unset;
  bool verbose = false;
  std::vector<std::uint32_t> list;                // map_cpu, map_ldom
  std::vector<std::vector<std::uint64_t>> masks;  // mask_cpu, mask_ldom: bits, lowest word first
};
// "[quiet|verbose,]type[:list]". A list may have 0x numbers and repeats, 0*4.
Result<CpuBind> parse_cpu_bind(std::string_view text);

enum class MemoryBindKind : std::uint8_t { unset, none, local, rank, map, mask };
struct MemoryBind {
  MemoryBindKind kind = MemoryBindKind::unset;
  bool verbose = false;
  bool prefer = false;  // take other memory when that is full
  std::vector<std::uint32_t> list;
  std::vector<std::uint64_t> masks;
};
Result<MemoryBind> parse_memory_bind(std::string_view text);

enum class GpuBindKind : std::uint8_t { unset, none, closest, single, map, mask, per_task };
// Lists count the gpus of the job on the node from 0.
struct GpuBind {
  GpuBindKind kind = GpuBindKind::unset;
  bool verbose = false;
  std::uint32_t count = 1;  // single: tasks for each gpu; per_task: gpus for each task
  std::vector<std::uint32_t> list;
  std::vector<std::vector<std::uint64_t>> masks;
};
Result<GpuBind> parse_gpu_bind(std::string_view text);

}  // namespace millrace
