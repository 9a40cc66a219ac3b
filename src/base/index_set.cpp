// src/base/index_set.cpp - see index_set.h.
#include "base/index_set.h"

#include <algorithm>

#include "base/assert.h"
#include "base/text.h"

namespace millrace {

// As many as the largest array (MaxArraySize=4000001) can have; whoever writes 0-4294967290:2 is refused and not waited
// for.
constexpr std::size_t written_ranges_max = 4'000'001;

std::uint64_t IndexSet::size() const {
  std::uint64_t count = 0;
  for (const Range& range : ranges_) count += static_cast<std::uint64_t>(range.last) - range.first + 1;
  return count;
}

bool IndexSet::contains(std::uint32_t index) const {
  const auto it = std::ranges::lower_bound(ranges_, index, {}, &Range::last);
  return it != ranges_.end() && it->first <= index;
}

void IndexSet::insert(std::uint32_t first, std::uint32_t last) {
  MR_ASSERT(first <= last);
  // Those that overlap the new range or touch it become part of it.
  const auto begin = std::ranges::lower_bound(ranges_, std::uint64_t{first}, {},
                                              [](const Range& range) { return std::uint64_t{range.last} + 1; });
  auto end = begin;
  while (end != ranges_.end() && end->first <= std::uint64_t{last} + 1) {
    first = std::min(first, end->first);
    last = std::max(last, end->last);
    ++end;
  }
  if (begin == end) {
    ranges_.insert(begin, Range{first, last});
  } else {
    *begin = {first, last};
    ranges_.erase(begin + 1, end);
  }
}

void IndexSet::erase(std::uint32_t index) {
  const auto it = std::ranges::lower_bound(ranges_, index, {}, &Range::last);
  if (it == ranges_.end() || it->first > index) return;
  const Range range = *it;
  if (range.first == range.last) {
    ranges_.erase(it);
  } else if (index == range.first) {
    it->first = index + 1;
  } else if (index == range.last) {
    it->last = index - 1;
  } else {
    it->last = index - 1;
    ranges_.insert(it + 1, Range{index + 1, range.last});
  }
}

std::uint32_t IndexSet::front() const {
  MR_ASSERT(!ranges_.empty());
  return ranges_.front().first;
}

std::uint32_t IndexSet::back() const {
  MR_ASSERT(!ranges_.empty());
  return ranges_.back().last;
}

IndexSet IndexSet::of(std::vector<Range> ranges) {
  if (!std::ranges::is_sorted(ranges, {}, &Range::first)) std::ranges::sort(ranges, {}, &Range::first);
  IndexSet out;
  for (const Range& range : ranges) {
    MR_ASSERT(range.first <= range.last);
    if (!out.ranges_.empty() && range.first <= std::uint64_t{out.ranges_.back().last} + 1)
      out.ranges_.back().last = std::max(out.ranges_.back().last, range.last);
    else
      out.ranges_.push_back(range);
  }
  return out;
}

std::optional<IndexSet> parse_index_set(std::string_view text, std::uint32_t index_max) {
  std::vector<IndexSet::Range> ranges;
  const auto number = [&](std::string_view part) -> std::optional<std::uint32_t> {
    if (part.empty() || part.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
    const auto value = parse_integer(part);
    if (!value || *value > index_max) return std::nullopt;
    return static_cast<std::uint32_t>(*value);
  };
  for (std::string_view part : split(text, ',')) {
    std::uint32_t step = 1;
    if (const std::size_t colon = part.find(':'); colon != std::string_view::npos) {
      const auto value = number(part.substr(colon + 1));
      if (!value || *value == 0 || part.find('-') == std::string_view::npos) return std::nullopt;
      step = *value;
      part = part.substr(0, colon);
    }
    const std::size_t dash = part.find('-');
    const auto first = number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    const std::uint64_t pieces = step == 1 ? 1 : (*last - *first) / step + std::uint64_t{1};
    if (ranges.size() + pieces > written_ranges_max) return std::nullopt;
    if (step == 1)
      ranges.push_back({*first, *last});
    else
      for (std::uint64_t i = *first; i <= *last; i += step)
        ranges.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i)});
  }
  return IndexSet::of(std::move(ranges));
}

std::string format_index_set(const IndexSet& set) {
  const auto& ranges = set.ranges();
  if (ranges.size() >= 3) {
    const std::uint32_t step = ranges[1].first - ranges[0].first;
    bool regular = true;
    for (std::size_t i = 0; i < ranges.size() && regular; ++i)
      regular = ranges[i].first == ranges[i].last && (i == 0 || ranges[i].first - ranges[i - 1].first == step);
    if (regular) return std::to_string(set.front()) + '-' + std::to_string(set.back()) + ':' + std::to_string(step);
  }
  std::string out;
  for (const auto& range : ranges) {
    if (!out.empty()) out += ',';
    out += std::to_string(range.first);
    if (range.last != range.first) out += '-' + std::to_string(range.last);
  }
  return out;
}

IndexSet take_some(IndexSet& from, std::uint64_t count) {
  IndexSet out;
  std::uint32_t next = 0;
  for (const IndexSet::Range& range : from.ranges()) {
    if (range.last - range.first + std::uint64_t{1} < count) continue;
    next = range.first;
    break;
  }
  for (; count > 0; --count) {
    if (!from.contains(next)) next = from.front();
    from.erase(next);
    out.insert(next++);
  }
  return out;
}

std::string format_ranges(const IndexSet& set) {
  std::string out;
  for (const IndexSet::Range& range : set.ranges()) {
    out += (out.empty() ? "" : ",") + std::to_string(range.first);
    if (range.last != range.first) out += "-" + std::to_string(range.last);
  }
  return out;
}

}  // namespace millrace
