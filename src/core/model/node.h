// src/core/model/node.h - a machine: what the site says of it, what it says of itself, what is promised on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/shared_value.h"
#include "core/model/resources.h"

namespace millrace {

struct NodeDef {
  std::string name, address, host_name, features, gres;
  std::uint32_t port = 0;
  Cpus cpus{1};
  std::uint32_t boards = 1, sockets = 1, cores_per_socket = 1, threads_per_core = 1;
  Mebibytes memory{1}, tmp_disk;
  std::uint32_t weight = 1;
  std::vector<NodeGres> kinds;  // what `gres` says, completed by gres.conf, by what the node found and by what is out of order there
  bool operator==(const NodeDef&) const = default;
};

struct Inventory {
  Cpus cpus;
  Mebibytes memory, tmp_disk;
  std::string arch, os, version, host_name;
  Time boot_at, agent_started_at;
  std::vector<NodeGres> devices{};  // looked for and found; kinds that were not looked for are missing
  bool operator==(const Inventory&) const = default;
};

// Parts of a gpu that are given out: of this kind, on this device.
struct PartUse {
  std::uint8_t slot = 0, device = 0;
  std::int64_t count = 0;
  bool operator==(const PartUse&) const = default;
};

// Which CPUs and devices are given out, as the details of the shares say (core/model/node_use).
struct NodeUse {
  std::vector<std::uint64_t> cpus;                      // positions as in ShareDetail
  std::array<std::uint64_t, gres_kinds_max> devices{};  // whole ones, by kind
  std::vector<PartUse> parts;                           // by slot, then device
  bool operator==(const NodeUse&) const = default;
};

// Why a device is out of order.
struct DeviceTrouble {
  std::string name, type;  // its kind
  std::uint32_t device = 0;
  std::string text;
  bool operator==(const DeviceTrouble&) const = default;
};

enum class NodeCondition : std::uint8_t { unknown, up, down };

struct Node {
  SharedValue<NodeDef> def;
  SharedValue<Inventory> inventory;  // null until it registered
  std::string boot_id;               // of the registration; processes of another boot are gone
  std::string reason;
  UserId reason_by;
  Time reason_at, last_busy;
  NodeCondition condition{};
  bool drain = false;
  bool down_for_silence = false;  // DOWN because it did not respond, not because someone said so
  bool configured = true;         // still in the configuration
  std::vector<DeviceTrouble> troubles;
  Cpus used_cpus;  // each counted once, however many jobs are on it
  Mebibytes used_memory;
  std::array<std::int64_t, gres_kinds_max> used_gres{};
  NodeUse use;
  std::vector<JobKey> jobs;  // holders of an unreleased share, in key order
  std::uint32_t suspended = 0;  // of them

  bool is_usable() const { return configured && condition == NodeCondition::up && !drain; }
};

}  // namespace millrace
