// src/core/planner/promise_count.cpp - see promise_count.h.
#include "core/planner/promise_count.h"

#include <algorithm>

#include "base/assert.h"

namespace millrace {
namespace {

void change(std::vector<std::uint32_t>& counts, std::uint32_t at, bool more) {
  if (counts.size() <= at) counts.resize(at + 1);
  MR_ASSERT(more || counts[at] > 0);
  more ? ++counts[at] : --counts[at];
}

}  // namespace

void Waiting::add(PartitionIndex partition, std::uint32_t set) {
  change(in_partition, partition.value, true);
  change(in_set, set, true);
}

void Waiting::remove(PartitionIndex partition, std::uint32_t set) {
  change(in_partition, partition.value, false);
  change(in_set, set, false);
}

void PromiseCount::open(std::vector<Row>& rows, std::size_t count, const std::vector<std::uint32_t>& waiting) {
  rows.assign(std::max(count, waiting.size()), {});
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    rows[i].waiting = waiting[i];
    rows[i].open = waiting[i] > 0;
    open_ += rows[i].open ? 1 : 0;
  }
}

void PromiseCount::begin(std::uint32_t depth, std::size_t partitions, const Waiting& waiting) {
  *this = {};
  depth_ = sets_most_ = depth;
  share_ = std::max(depth / std::max(static_cast<std::uint32_t>(partitions), 1u), 1u);
  open(partitions_, partitions, waiting.in_partition);
  open(sets_, 0, waiting.in_set);
}

void PromiseCount::begin_heads(std::size_t partitions, const Waiting& waiting) {
  *this = {};
  open(partitions_, partitions, waiting.in_partition);
}

void PromiseCount::close(Row& row) {
  if (!row.open) return;
  row.open = false;
  --open_;
}

void PromiseCount::one_less(Row& row) {
  if (row.waiting == 0) return;
  --row.waiting;
  if (row.waiting == 0) close(row);
}

void PromiseCount::give(PartitionIndex partition, std::uint32_t set) {
  if (partitions_.empty()) return;
  ++given_;
  Row& row = partitions_[partition.value];
  if (++row.given >= share_) close(row);
  if (set >= sets_.size() || ++sets_[set].given > 1) return;
  close(sets_[set]);
  if (++sets_served_ < sets_most_) return;
  for (Row& each : sets_) close(each);
}

void PromiseCount::pass(PartitionIndex partition, std::uint32_t set) {
  if (partitions_.empty()) return;
  Row& row = partitions_[partition.value];
  one_less(row);
  if (set < sets_.size()) one_less(sets_[set]);
}

}  // namespace millrace
