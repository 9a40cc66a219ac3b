// src/base/index_set.h - a set of small numbers kept as ranges: the task ids of an array, written 1-5,7,9-11:2%4.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

class IndexSet {
 public:
  struct Range {
    std::uint32_t first, last;  // both inclusive
    bool operator==(const Range&) const = default;
  };

  static IndexSet of(std::vector<Range> ranges);  // in any order, overlapping or not

  bool empty() const { return ranges_.empty(); }
  std::uint64_t size() const;
  bool contains(std::uint32_t index) const;
  void insert(std::uint32_t first, std::uint32_t last);
  void insert(std::uint32_t index) { insert(index, index); }
  void erase(std::uint32_t index);
  std::uint32_t front() const;  // not empty
  std::uint32_t back() const;
  const std::vector<Range>& ranges() const { return ranges_; }
  bool operator==(const IndexSet&) const = default;

  template <class Visit>
  void for_each(Visit visit) const {
    for (const Range& range : ranges_)
      for (std::uint64_t i = range.first; i <= range.last; ++i) visit(static_cast<std::uint32_t>(i));
  }

 private:
  std::vector<Range> ranges_;  // sorted, disjoint, not touching
};

// "1-5,7" or "0-15:4", without the %throttle. Empty when it is not such a list, an index is above `index_max`, or it
// stands for more than four million ranges.
std::optional<IndexSet> parse_index_set(std::string_view text, std::uint32_t index_max);
// "1-5,7"; a regular stride of at least three members prints as "0-12:4", as Slurm does.
std::string format_index_set(const IndexSet& set);
// So many of them, which it then has no more; side by side where there are so many in a row. It has enough.
IndexSet take_some(IndexSet& from, std::uint64_t count);
// Never with a stride.
std::string format_ranges(const IndexSet& set);

}  // namespace millrace
