// src/core/ledger/cluster_events.h - what happens to the cluster as a whole: its configuration, partitions,
// reservations, its clock; a part of event.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "core/model/node.h"
#include "core/model/partition.h"
#include "core/model/reservation.h"
#include "core/model/topology.h"

namespace millrace {

struct ControllerStarted {
  Epoch epoch;
  Time at;
  static constexpr EventTag event{1, "ControllerStarted"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "epoch", self.epoch);
    visit(2, "at", self.at);
  }
};

struct ClusterConfigured {
  std::vector<NodeDef> nodes;
  std::vector<PartitionDef> partitions;
  Policy policy;
  Time at;
  Topology topology{};
  KeepPartitions keep{};
  static constexpr EventTag event{2, "ClusterConfigured"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "nodes", self.nodes);
    visit(2, "partitions", self.partitions);
    visit(3, "policy", self.policy);
    visit(100, "topology", self.topology);
    visit(890, "keep", self.keep);
    visit(4, "at", self.at);
  }
};

// Until the configuration is read the next time.
struct PartitionStateChanged {
  PartitionIndex partition;
  Availability availability{};
  Time at;
  static constexpr EventTag event{16, "PartitionStateChanged"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "partition", self.partition);
    visit(2, "availability", self.availability);
    visit(3, "at", self.at);
  }
};

// By scontrol create or update: the whole of it as it is from now on. A name that is not known is a new one.
struct PartitionChanged {
  PartitionDef def;
  UserId by;
  Time at;
  static constexpr EventTag event{890, "PartitionChanged"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "def", self.def);
    visit(2, "by", self.by);
    visit(3, "at", self.at);
  }
};

// No job that has not ended is in it.
struct PartitionDeleted {
  PartitionIndex partition;
  UserId by;
  Time at;
  static constexpr EventTag event{891, "PartitionDeleted"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "partition", self.partition);
    visit(2, "by", self.by);
    visit(3, "at", self.at);
  }
};

// scontrol fsdampeningfactor; until the configuration is read the next time.
struct DampingChanged {
  std::uint32_t factor = 1;
  Time at;
  static constexpr EventTag event{892, "DampingChanged"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "factor", self.factor);
    visit(2, "at", self.at);
  }
};

// Made, changed, or come to its next turn: the whole of it as it is from now on.
struct ReservationSet {
  Reservation reservation;
  Time at;
  static constexpr EventTag event{40, "ReservationSet"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "reservation", self.reservation);
    visit(2, "at", self.at);
  }
};

struct ReservationRemoved {
  ReservationId id;
  Time at;
  static constexpr EventTag event{41, "ReservationRemoved"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "id", self.id);
    visit(2, "at", self.at);
  }
};

// Somebody has set the controller's clock: what was to last so long from now on still does.
struct ClockStepped {
  Duration by;   // forward; backward when it is negative
  Time at;       // by the clock as it is now
  Time since{};  // when the machine started, by the clock as it was: what is older was read from another clock
  static constexpr EventTag event{1311, "ClockStepped"};
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(1, "by", self.by);
    visit(3, "since", self.since);
    visit(2, "at", self.at);
  }
};

}  // namespace millrace
