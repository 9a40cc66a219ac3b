// src/core/model/node.h - a machine: what the site says of it, what it says of itself, what is promised on it.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/shared_value.h"
#include "core/model/resources.h"

namespace millrace {

// How a node came to be known: it is there, it is in a cloud and begins powered down, it is only foreseen, or it was
// made while we ran.
enum class NodeKind : std::uint8_t { normal, cloud, future, dynamic };

struct NodeDef {
  std::string name, address, host_name, features, gres;
  std::uint32_t port = 0;
  Cpus cpus{1};
  std::uint32_t boards = 1, sockets = 1, cores_per_socket = 1, threads_per_core = 1;
  Mebibytes memory{1}, tmp_disk;
  std::uint32_t weight = 1;
  std::vector<NodeGres>
      kinds;  // what `gres` says, completed by gres.conf, by what the node found and by what is out of order there
  NodeKind kind{};
  std::optional<std::uint32_t>
      suspend_seconds{};      // idle for so long it is powered down; not set: as its partitions say; unlimited: never
  std::uint32_t keep_up = 0;  // of which group of Policy::keep_up it is, counted from one
  std::vector<std::uint64_t> withheld_cpus{};  // kept for the system, by position as in ShareDetail: no job gets them
  Mebibytes withheld_memory{0};
  std::optional<std::string> active_features{};  // of its features, those that jobs get now; not set: all

  // What jobs can have of it.
  Cpus usable_cpus() const;
  Mebibytes usable_memory() const { return memory - withheld_memory; }
  bool operator==(const NodeDef&) const = default;
};

inline Cpus NodeDef::usable_cpus() const {
  Cpus usable = cpus;
  for (const std::uint64_t word : withheld_cpus) usable -= Cpus{std::popcount(word)};
  return usable;
}

struct Inventory {
  Cpus cpus;
  Mebibytes memory, tmp_disk;
  std::string arch, os, version, host_name;
  Time boot_at, agent_started_at;
  std::vector<NodeGres> devices{};  // looked for and found; kinds that were not looked for are missing
  std::string instance_id{}, instance_type{}, extra{};  // as its agent was told on the command line
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

// Of a user whose job could not be launched there.
struct FailedLaunch {
  UserId user;
  Time at;
  bool operator==(const FailedLaunch&) const = default;
};

enum class NodeCondition : std::uint8_t { unknown, up, down };

// A reboot that was ordered: when the jobs are gone, then it is told to, then it comes back with another boot.
enum class Reboot : std::uint8_t { none, requested, issued };
enum class AfterReboot : std::uint8_t { as_before, resume, down };

enum class Power : std::uint8_t { on, going_down, off, coming_up };
struct NodePower {
  Power state{};
  Time due{};                // going down: off by then; coming up: lost if it has not registered by then
  bool told = false;         // the site's program has been run for this change
  bool down_wanted = false;  // as soon as it is idle
  bool closed = false;       // ... and it gets no new jobs until then
  bool up_wanted = false;    // although no job waits for it
  bool operator==(const NodePower&) const = default;
};

struct Node {
  SharedValue<NodeDef> def;
  SharedValue<Inventory> inventory;  // null until it registered
  std::string boot_id;               // of the registration; processes of another boot are gone
  std::string spool_id;              // likewise, of its spool; empty: it said none
  std::string reason;
  UserId reason_by;
  Time reason_at, last_busy;
  NodeCondition condition{};
  bool drain = false;
  bool down_for_silence = false;  // DOWN because it did not respond, not because someone said so
  bool configured = true;         // still in the configuration
  std::vector<DeviceTrouble> troubles;
  bool fail = false;  // about to fail: takes no new jobs
  Reboot reboot{};
  AfterReboot after_reboot{};
  bool drained_for_reboot = false;  // no new jobs until then (ASAP); ends with the reboot
  Time reboot_due;                  // issued: down if it has not come back by then
  std::string comment, extra;
  std::string instance_id, instance_type;  // of a machine in a cloud
  Time resume_at;  // down or drained until then, and then put back to service; not set: until somebody does it
  std::vector<FailedLaunch> failed_launches;  // in a row, one for each user (core/ledger/failed_launches)
  Time ran_well_at;                           // when the last job that had been launched there ended
  bool drained_for_clock = false;             // ... and until its clock is right, unless somebody else drained it too
  NodePower power;
  bool future = false;  // only foreseen: no job gets it, and it is not shown
  Cpus used_cpus;       // each counted once, however many jobs are on it
  Mebibytes used_memory;
  std::array<std::int64_t, gres_kinds_max> used_gres{};
  NodeUse use;
  std::vector<JobKey> jobs;     // holders of an unreleased share, in key order
  std::uint32_t suspended = 0;  // of them

  bool is_on() const { return power.state == Power::on; }
  bool is_ready() const { return is_on() && reboot != Reboot::issued; }  // jobs that have it can begin
  // Also one that is powered down: a job that gets it waits until it is up.
  bool is_usable() const {
    return configured && !future && condition == NodeCondition::up && !drain && !fail && !drained_for_reboot &&
           reboot != Reboot::issued && !power.closed && power.state != Power::going_down;
  }
};

}  // namespace millrace
