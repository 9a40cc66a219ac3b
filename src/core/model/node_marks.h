// src/core/model/node_marks.h - a set of nodes that is asked about for each node of a cluster.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace millrace {

class NodeMarks {
 public:
  explicit NodeMarks(std::span<const std::uint32_t> nodes) {
    for (const std::uint32_t node : nodes) {
      if (marks_.size() <= node) marks_.resize(node + 1);
      marks_[node] = true;
    }
  }
  bool has(std::uint32_t node) const { return node < marks_.size() && marks_[node]; }

 private:
  std::vector<bool> marks_;
};

}  // namespace millrace
