// src/core/planner/memo.h - what one pass may take over from the last: the sorted queue, the shapes, the timeline. Law:
// a pass with a memo equals one without.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "core/planner/order.h"
#include "core/planner/priority.h"
#include "core/planner/promise_count.h"
#include "core/planner/timeline.h"

namespace millrace {

// A waiting job in one of its partitions, in the order in which they are tried.
struct QueueEntry {
  std::uint32_t tier_below_max = 0;
  std::uint32_t shape = 0;
  std::uint32_t node_set = 0;  // of the shape
  Score score;
  const Job* job = nullptr;  // lives as long as the memo's snapshot
  Duration span;
  PartitionIndex partition;
  bool shortens = false;   // its limit may be cut (--time-min)
  bool in_window = false;  // of a reservation, with which it ends at the latest
  std::uint32_t kind =
      0;  // jobs of one kind meet the same limits: shape, owner, account, QOS and time limit are the same

  bool operator<(const QueueEntry& other) const {
    if (tier_below_max != other.tier_below_max) return tier_below_max < other.tier_below_max;
    if (const auto order = score <=> other.score; order != 0) return order < 0;
    return partition < other.partition;
  }
};

class Memo {
 public:
  // Brings everything to this version; the cost follows what changed since the last.
  void update(const State& snapshot, const PlannerSettings& settings, Time now);

  const State& state() const { return state_; }
  const std::vector<QueueEntry>& queue() const { return queue_; }
  const Waiting& waiting() const { return waiting_; }                        // what the queue counts
  const std::vector<Cpus>& largest_nodes() const { return largest_nodes_; }  // by partition
  Shapes& shapes() { return shapes_; }
  Timeline& timeline() { return *timeline_; }
  std::uint64_t pass() const { return passes_; }
  std::size_t kinds() const { return kinds_.size(); }

 private:
  bool must_start_anew(const State& snapshot, const PlannerSettings& settings) const;
  void start_anew(const State& snapshot, const PlannerSettings& settings, Time now);
  void replace_entries(const std::vector<const Job*>& gone, std::vector<QueueEntry> added,
                       const PlannerSettings& settings, Time now, bool all_change);
  void count_cpus();
  void count_waiting();
  void follow(const State& snapshot, const PlannerSettings& settings, Time now);
  Score score(const Job& job, PartitionIndex partition, const PlannerSettings& settings, Time now) const;
  void add_entries(const Job& job, const PlannerSettings& settings, Time now, std::vector<QueueEntry>& out);

  State state_;
  PlannerSettings settings_;
  std::optional<Timeline> timeline_;
  Shapes shapes_;
  std::vector<QueueEntry> queue_;
  Waiting waiting_;
  std::optional<Priorities> priorities_;  // of state_, where they are computed
  std::map<std::array<std::uint32_t, 6>, std::uint32_t> kinds_;
  std::vector<std::int64_t> partition_cpus_;  // of all their nodes
  std::vector<Cpus> largest_nodes_;           // ... of the largest of them
  std::uint64_t passes_ = 0;
};

}  // namespace millrace
