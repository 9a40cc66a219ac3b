// src/core/model/node.h - a machine: what the site says of it, what it says of itself, what is promised on it.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
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
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "address", self.address);
    visit(3, "host_name", self.host_name);
    visit(4, "features", self.features);
    visit(5, "gres", self.gres);
    visit(6, "port", self.port);
    visit(7, "cpus", self.cpus);
    visit(8, "boards", self.boards);
    visit(9, "sockets", self.sockets);
    visit(10, "cores_per_socket", self.cores_per_socket);
    visit(11, "threads_per_core", self.threads_per_core);
    visit(12, "memory", self.memory);
    visit(13, "tmp_disk", self.tmp_disk);
    visit(14, "weight", self.weight);
    visit(15, "kinds", self.kinds);
    visit(700, "kind", self.kind);
    visit(701, "suspend_seconds", self.suspend_seconds);
    visit(702, "keep_up", self.keep_up);
    visit(910, "withheld_cpus", field::bits(self.withheld_cpus));
    visit(911, "withheld_memory", self.withheld_memory);
    visit(1040, "active_features", self.active_features);
  }
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
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "cpus", self.cpus);
    visit(2, "memory", self.memory);
    visit(3, "tmp_disk", self.tmp_disk);
    visit(4, "arch", self.arch);
    visit(5, "os", self.os);
    visit(6, "version", self.version);
    visit(7, "host_name", self.host_name);
    visit(8, "boot_at", self.boot_at);
    visit(9, "agent_started_at", self.agent_started_at);
    visit(670, "devices", self.devices);
    visit(1040, "instance_id", self.instance_id);
    visit(1041, "instance_type", self.instance_type);
    visit(1042, "extra", self.extra);
  }
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
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "type", self.type);
    visit(3, "device", self.device);
    visit(4, "text", self.text);
  }
};

// Of a user whose jobs could not be launched there.
struct FailedLaunch {
  UserId user;
  Time at;                 // the first of them
  std::uint64_t name = 0;  // of the last: name_bits (core/ledger/state); tasks of an array have one name
  Time named_at;           // since when all of them had that name
  std::uint32_t named = 0;
  bool operator==(const FailedLaunch&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "user", self.user);
    visit(2, "at", self.at);
    visit(1330, "name", self.name);
    visit(1331, "named_at", self.named_at);
    visit(1332, "named", self.named);
  }
};

// Of a user whose job that had been launched there ended.
struct WellRun {
  UserId user;
  std::uint64_t name = 0;
  Time at;
  bool operator==(const WellRun&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "user", self.user);
    visit(2, "name", self.name);
    visit(3, "at", self.at);
  }
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
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "state", self.state);
    visit(2, "due", self.due);
    visit(3, "told", self.told);
    visit(4, "down_wanted", self.down_wanted);
    visit(5, "closed", self.closed);
    visit(6, "up_wanted", self.up_wanted);
  }
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
  std::vector<WellRun> well_runs;             // the last of the last few names, the newest first
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
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(2, "def", self.def);
    visit(3, "inventory", self.inventory);
    visit(4, "boot_id", self.boot_id);
    visit(1313, "spool_id", self.spool_id);
    visit(5, "reason", self.reason);
    visit(6, "reason_by", self.reason_by);
    visit(7, "reason_at", self.reason_at);
    visit(8, "last_busy", self.last_busy);
    visit(9, "condition", self.condition);
    visit(10, "drain", self.drain);
    visit(11, "down_for_silence", self.down_for_silence);
    visit(12, "configured", self.configured);
    visit(670, "troubles", self.troubles);
    visit(640, "fail", self.fail);
    visit(641, "reboot", self.reboot);
    visit(642, "after_reboot", self.after_reboot);
    visit(643, "drained_for_reboot", self.drained_for_reboot);
    visit(644, "reboot_due", self.reboot_due);
    visit(645, "comment", self.comment);
    visit(646, "extra", self.extra);
    visit(1041, "instance_id", self.instance_id);
    visit(1042, "instance_type", self.instance_type);
    visit(1043, "resume_at", self.resume_at);
    visit(1310, "failed_launches", self.failed_launches);
    visit(1311, "ran_well_at", self.ran_well_at);
    visit(1330, "well_runs", self.well_runs);
    visit(1312, "drained_for_clock", self.drained_for_clock);
    visit(700, "power", self.power);
    visit(701, "future", self.future);
    visit(0, "used_cpus", self.used_cpus);
    visit(0, "used_memory", self.used_memory);
    visit(0, "used_gres", self.used_gres);
    visit(0, "use", self.use);
    visit(0, "jobs", self.jobs);
    visit(0, "suspended", self.suspended);
  }
};

}  // namespace millrace
