// src/isolation/cpu_places.h - from Millrace's CPU positions (socket by socket, threads of a core together) to the
// kernel's CPU numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

struct CpuPlace {
  std::uint32_t cpu = 0;          // the kernel's number
  std::uint32_t core = 0;         // over all sockets, from 0
  std::uint32_t socket = 0;       // from 0
  std::uint32_t memory_node = 0;  // the kernel's number
  bool operator==(const CpuPlace&) const = default;
};

// Every CPU that is online, by position. `sys` is /sys, or a tree that looks like it.
std::vector<CpuPlace> read_cpu_places(const std::string& sys);

// Whether a CPU of the node's line in slurm.conf stands for a core with all its threads: it says one thread per core,
// the machine has more, and the line has no more CPUs than there are cores.
bool counts_cores(const std::vector<CpuPlace>& machine, std::uint32_t configured_threads_per_core,
                  std::uint32_t configured_cpus);

// What stands for each position. Nothing when one lies beyond this machine: virtual nodes may be larger than it.
std::optional<std::vector<CpuPlace>> places_of(const std::vector<CpuPlace>& machine, bool whole_cores,
                                               std::string_view positions);

// "0-3,8" as the kernel reads and writes it.
std::string format_cpu_list(std::vector<std::uint32_t> cpus);
std::vector<std::uint32_t> parse_cpu_list(std::string_view text);

}  // namespace millrace
