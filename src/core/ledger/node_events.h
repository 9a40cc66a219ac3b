// src/core/ledger/node_events.h - what happens to nodes: what they say of themselves, and what somebody orders; a part
// of event.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "core/model/node.h"

namespace millrace {

struct NodeRegistered {
  NodeIndex node;
  std::string boot_id;
  Inventory inventory;
  std::string problem;  // words when what it has is less than what is configured: it is drained
  Time at;
  std::string spool_id{};  // another one: nothing of the attempts that were there is left
  static constexpr EventTag event{13, "NodeRegistered"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "node", self.node);
    visit(2, "boot_id", self.boot_id);
    visit(3, "inventory", self.inventory);
    visit(4, "problem", self.problem);
    visit(1310, "spool_id", self.spool_id);
    visit(5, "at", self.at);
  }
};

struct NodeLost {
  NodeIndex node;
  Time at;
  static constexpr EventTag event{14, "NodeLost"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "node", self.node);
    visit(2, "at", self.at);
  }
};

// Which devices of the node are out of order, all of them; found out by the node itself.
struct DevicesJudged {
  NodeIndex node;
  std::vector<DeviceTrouble> troubles;
  Time at;
  static constexpr EventTag event{670, "DevicesJudged"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "node", self.node);
    visit(2, "troubles", self.troubles);
    visit(3, "at", self.at);
  }
};

// Its clock is not the controller's, or is again.
struct NodeClockJudged {
  NodeIndex node;
  std::string words;  // by how much; empty: they agree
  Time at;
  static constexpr EventTag event{1310, "NodeClockJudged"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "node", self.node);
    visit(2, "words", self.words);
    visit(3, "at", self.at);
  }
};

enum class NodeOrder : std::uint8_t {
  drain,
  undrain,
  down,
  resume,
  reason_only,
  fail = 64,
  reboot,
  reboot_asap,
  reboot_issued,
  cancel_reboot,
  future = 96
};

struct NodeStateChanged {
  NodeIndex node;
  NodeOrder order{};
  std::string reason;
  UserId by;
  Time at;
  AfterReboot after_reboot{};  // with reboot, reboot_asap
  Time due{};                  // reboot_issued: until when it must be back
  static constexpr EventTag event{15, "NodeStateChanged"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "node", self.node);
    visit(2, "order", self.order);
    visit(3, "reason", self.reason);
    visit(4, "by", self.by);
    visit(640, "after_reboot", self.after_reboot);
    visit(641, "due", self.due);
    visit(5, "at", self.at);
  }
};

// Only what is set changes, until the configuration is read again.
struct NodeModified {
  NodeIndex node;
  std::optional<std::uint32_t> weight;
  std::optional<std::string> features, comment, extra;
  Time at;
  std::optional<std::string> address{}, host_name{};
  std::optional<std::string> active_features{};  // some of its features; without them all are active
  std::optional<std::string> instance_id{}, instance_type{};
  std::optional<Time> resume_at{};  // when it comes back to service by itself; Time{}: not any more
  static constexpr EventTag event{642, "NodeModified"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "node", self.node);
    visit(2, "weight", self.weight);
    visit(3, "features", self.features);
    visit(4, "comment", self.comment);
    visit(5, "extra", self.extra);
    visit(700, "address", self.address);
    visit(701, "host_name", self.host_name);
    visit(1040, "active_features", self.active_features);
    visit(1041, "instance_id", self.instance_id);
    visit(1042, "instance_type", self.instance_type);
    visit(1043, "resume_at", self.resume_at);
    visit(6, "at", self.at);
  }
};

// What becomes of the power of some nodes: what somebody wants of them, how far it has come, that the site's program
// has been run.
enum class PowerChange : std::uint8_t {
  down_wanted,
  down_asap,
  down_forced,
  going_down,
  off,
  up_wanted,
  coming_up,
  told,
  failed,
  called_off
};

struct NodesPowered {
  PowerChange change{};
  std::vector<NodeIndex> nodes;
  Time due{};  // going_down, coming_up: when that must be over
  UserId by{};
  Time at{};
  static constexpr EventTag event{700, "NodesPowered"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "change", self.change);
    visit(2, "nodes", self.nodes);
    visit(3, "due", self.due);
    visit(4, "by", self.by);
    visit(5, "at", self.at);
  }
};

// By scontrol create, or by a node that came by itself (slurmd -Z).
struct NodeCreated {
  NodeDef def;
  UserId by;
  Time at;
  static constexpr EventTag event{701, "NodeCreated"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "def", self.def);
    visit(2, "by", self.by);
    visit(3, "at", self.at);
  }
};

// One that had been created; nothing of it is left but its name in the records of jobs.
struct NodeDeleted {
  NodeIndex node;
  UserId by;
  Time at;
  static constexpr EventTag event{702, "NodeDeleted"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "node", self.node);
    visit(2, "by", self.by);
    visit(3, "at", self.at);
  }
};

}  // namespace millrace
