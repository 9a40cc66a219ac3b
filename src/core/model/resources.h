// src/core/model/resources.h - what can be counted on a node and asked for by a job: one vector of amounts, and who may
// have what of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/index_set.h"
#include "base/quantity.h"

namespace millrace {

// A node has at most this many kinds of generic resources (gpu:a100, gpu:h100, shard, nic ...); the configuration
// refuses more.
constexpr std::size_t gres_kinds_max = 6;

// One kind on one node, in the order of the node's line; its place there is its slot in every Amounts of that node.
struct NodeGres {
  std::string name, type;  // "gpu", "a100"; type may be empty
  std::int64_t count = 0;
  std::vector<std::uint64_t> near;     // by device: the sockets it is near to, one bit each; empty or 0: near to all
  bool countable_only = false;         // no devices behind it: only the number matters
  std::vector<std::int64_t> parts{};   // of shard and mps: how many on each of the node's gpus; empty: not shared
  std::string files{};                 // the devices, as gres.conf names them: /dev/nvidia[0-3]
  std::uint64_t out_of_order = 0;      // by device: those that no job gets until they work again
  std::vector<std::uint32_t> links{};  // from each device to each, row by row; empty: not known, or all alike
  bool operator==(const NodeGres&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "type", self.type);
    visit(3, "count", self.count);
    visit(4, "near", self.near);
    visit(5, "countable_only", self.countable_only);
    visit(100, "parts", self.parts);
    visit(101, "files", self.files);
    visit(670, "out_of_order", self.out_of_order);
    visit(795, "links", self.links);
  }
};

constexpr std::int64_t devices_max = 64;  // of one kind with devices, on one node

// shard and mps are parts of a gpu: a device gives out parts or is given out whole.
inline bool is_part(const NodeGres& kind) { return !kind.parts.empty(); }

// What is free, used or wanted on one node. The slots of gres mean what the node's list of kinds says.
struct Amounts {
  std::int64_t cpus = 0;
  std::int64_t memory = 0;  // mebibytes
  std::array<std::int64_t, gres_kinds_max> gres{};
  bool operator==(const Amounts&) const = default;

  Amounts& operator+=(const Amounts& other) {
    cpus += other.cpus;
    memory += other.memory;
    for (std::size_t i = 0; i < gres.size(); ++i) gres[i] += other.gres[i];
    return *this;
  }
  Amounts& operator-=(const Amounts& other) {
    cpus -= other.cpus;
    memory -= other.memory;
    for (std::size_t i = 0; i < gres.size(); ++i) gres[i] -= other.gres[i];
    return *this;
  }
};

inline Amounts least_of(const Amounts& a, const Amounts& b) {
  Amounts out{a.cpus < b.cpus ? a.cpus : b.cpus, a.memory < b.memory ? a.memory : b.memory, {}};
  for (std::size_t i = 0; i < out.gres.size(); ++i) out.gres[i] = a.gres[i] < b.gres[i] ? a.gres[i] : b.gres[i];
  return out;
}

enum class GresScope : std::uint8_t { node, task, socket, job };

struct GresAsk {
  std::string name, type;  // type empty: any
  std::int64_t count = 0;
  GresScope scope{};
  bool operator==(const GresAsk&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "type", self.type);
    visit(3, "count", self.count);
    visit(4, "scope", self.scope);
  }
};

struct LicenceAsk {
  std::string name;
  std::uint32_t count = 1;
  bool operator==(const LicenceAsk&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "count", self.count);
  }
};

constexpr std::uint32_t node_counts_max = 20'000;  // the highest number in a list of sizes

// What only some jobs ask for beyond nodes, CPUs, memory and time. Kept apart so that the many do not pay for it.
struct ResourceRequest {
  std::vector<GresAsk> gres;
  std::uint32_t cpus_per_gpu = 0;
  std::int64_t memory_per_gpu = 0;  // mebibytes
  std::string features, prefer;     // as typed; core/model/features reads them
  std::vector<LicenceAsk> licences;
  bool any_licence = false;  // a|b: one of them is enough
  std::uint32_t tasks_per_socket = 0, tasks_per_core = 0, tasks_per_gpu = 0;
  std::uint32_t sockets_per_node = 0, cores_per_socket = 0, threads_per_core = 0;  // least of each, 0: any
  std::int64_t tmp_disk = 0;                                                       // mebibytes a node must have
  std::string distribution;               // as typed: block:cyclic, plane=4, arbitrary
  std::vector<std::uint32_t> task_nodes;  // of an arbitrary distribution: the node of each task, NodeIndex values
  std::string hint;                       // as typed; what it means is in the numbers above
  bool contiguous = false, spread_job = false, use_min_nodes = false, exclusive_user = false;
  bool enforce_binding = false, disable_binding = false;  // only cores near the devices; any core
  std::uint32_t switches = 0;                             // at most so many leaf switches, 0: any
  std::uint32_t switches_wait_seconds = 0;
  IndexSet
      node_counts{};  // it may have one of these numbers of nodes and no other; empty: any from the least to the most
  std::uint32_t segment = 0;  // nodes come in groups of so many, each within one block; 0: no matter
  bool spread_segments = false, consolidate_segments = false;  // each in a block of its own; in as few blocks as can be
  std::uint32_t time_min_minutes = 0;                          // 0: the limit is not to be shortened
  Time deadline;                                               // must have ended by then
  std::string reservation;
  std::vector<std::uint32_t> more_partitions;  // PartitionIndex values besides JobSpec::partition
  bool operator==(const ResourceRequest&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "gres", self.gres);
    visit(2, "cpus_per_gpu", self.cpus_per_gpu);
    visit(3, "memory_per_gpu", self.memory_per_gpu);
    visit(4, "features", self.features);
    visit(5, "prefer", self.prefer);
    visit(6, "licences", self.licences);
    visit(7, "any_licence", self.any_licence);
    visit(8, "tasks_per_socket", self.tasks_per_socket);
    visit(9, "tasks_per_core", self.tasks_per_core);
    visit(10, "tasks_per_gpu", self.tasks_per_gpu);
    visit(11, "sockets_per_node", self.sockets_per_node);
    visit(12, "cores_per_socket", self.cores_per_socket);
    visit(13, "threads_per_core", self.threads_per_core);
    visit(14, "tmp_disk", self.tmp_disk);
    visit(15, "distribution", self.distribution);
    visit(100, "task_nodes", self.task_nodes);
    visit(101, "hint", self.hint);
    visit(16, "contiguous", self.contiguous);
    visit(17, "spread_job", self.spread_job);
    visit(18, "use_min_nodes", self.use_min_nodes);
    visit(19, "exclusive_user", self.exclusive_user);
    visit(102, "enforce_binding", self.enforce_binding);
    visit(103, "disable_binding", self.disable_binding);
    visit(20, "switches", self.switches);
    visit(21, "switches_wait_seconds", self.switches_wait_seconds);
    visit(1022, "node_counts", self.node_counts);
    visit(1016, "segment", self.segment);
    visit(1017, "spread_segments", self.spread_segments);
    visit(1018, "consolidate_segments", self.consolidate_segments);
    visit(22, "time_min_minutes", self.time_min_minutes);
    visit(23, "deadline", self.deadline);
    visit(24, "reservation", self.reservation);
    visit(25, "more_partitions", self.more_partitions);
  }
};

}  // namespace millrace
