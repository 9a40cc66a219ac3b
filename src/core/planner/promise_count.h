// src/core/planner/promise_count.h - how many waiting jobs get a promised start: the first of the queue, the first of
// each partition, and the first of each set of nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/quantity.h"

namespace millrace {

// Waiting jobs by partition and by the set of nodes that could hold them (Shape::node_set): places in the queue, a job
// that asks for several partitions stands in each.
struct Waiting {
  std::vector<std::uint32_t> in_partition, in_set;

  void add(PartitionIndex partition, std::uint32_t set);
  void remove(PartitionIndex partition, std::uint32_t set);
};

// Of one pass; where none of the two begins has been said, nothing is counted. The first `depth` jobs of the queue have
// a promise, whoever they are. Behind them each partition has its even share of as many once more, one at the least;
// and each set of nodes one, for the first `depth` sets: who waits for other nodes than the many before it is not
// passed over without an end. So a place in one of these three rows decides, and a job only moves forward in them
// unless one comes before it.
class PromiseCount {
 public:
  void begin(std::uint32_t depth, std::size_t partitions, const Waiting& waiting);
  // Only the first of each partition has one, and `depth` counts nothing (easy).
  void begin_heads(std::size_t partitions, const Waiting& waiting);

  bool allows(PartitionIndex partition, std::uint32_t set) const {
    return given_ < depth_ || wants(partition) || set_wants(set);
  }
  void give(PartitionIndex partition, std::uint32_t set);
  // One place of the queue is done with.
  void pass(PartitionIndex partition, std::uint32_t set);
  // Nobody who waits is still to have one.
  bool all_given() const { return given_ >= depth_ && open_ == 0; }

 private:
  struct Row {
    std::uint32_t given = 0, waiting = 0;
    bool open = false;
  };
  bool wants(PartitionIndex partition) const { return partitions_[partition.value].given < share_; }
  bool set_wants(std::uint32_t set) const {
    return set < sets_.size() && sets_[set].given == 0 && sets_served_ < sets_most_;
  }
  void open(std::vector<Row>& rows, std::size_t count, const std::vector<std::uint32_t>& waiting);
  void close(Row& row);
  void one_less(Row& row);

  std::uint32_t depth_ = 0, given_ = 0, share_ = 1, sets_served_ = 0, sets_most_ = 0;
  std::size_t open_ = 0;
  std::vector<Row> partitions_, sets_;
};

}  // namespace millrace
