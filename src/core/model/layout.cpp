// src/core/model/layout.cpp - see layout.h.
#include "core/model/layout.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/text.h"

namespace millrace {
namespace {

constexpr std::uint32_t plane_max = 1'000'000;

std::uint32_t at_a_time(const Distribution& distribution) {
  switch (distribution.order) {
    case NodeOrderOfTasks::cyclic:
      return 1;
    case NodeOrderOfTasks::plane:
      return std::max(distribution.plane, 1u);
    case NodeOrderOfTasks::block:
    case NodeOrderOfTasks::arbitrary:
      break;
  }
  return UINT32_MAX;
}

// Where each of many is in a list; of one that is there twice, the first place.
template <class Key>
class Places {
 public:
  explicit Places(std::vector<std::pair<Key, std::size_t>> places) : sorted_{std::move(places)} {
    std::ranges::sort(sorted_);
  }
  std::optional<std::size_t> find(const Key& key) const {
    const auto at = std::ranges::lower_bound(sorted_, key, {}, &std::pair<Key, std::size_t>::first);
    return at != sorted_.end() && at->first == key ? std::optional{at->second} : std::nullopt;
  }

 private:
  std::vector<std::pair<Key, std::size_t>> sorted_;
};

template <class Key, class List, class KeyOf>
Places<Key> places_in(const List& list, KeyOf key_of) {
  std::vector<std::pair<Key, std::size_t>> out;
  out.reserve(list.size());
  for (const auto& each : list) out.emplace_back(key_of(each), out.size());
  return Places<Key>{std::move(out)};
}

}  // namespace

Result<Distribution> parse_distribution(std::string_view text) {
  Distribution out;
  const auto wrong = [&](std::string_view word) {
    return fail(Errc::invalid,
                "distribution '" + std::string{text} + "': '" + std::string{word} +
                    "' is not one of block, cyclic, plane=N, arbitrary, or behind a colon block, cyclic, fcyclic");
  };
  std::string_view levels = text;
  if (const std::size_t comma = levels.find(','); comma != std::string_view::npos) {
    const std::string_view word = levels.substr(comma + 1);
    if (!equals_ignoring_case(word, "pack") && !equals_ignoring_case(word, "nopack")) return wrong(word);
    levels = levels.substr(0, comma);
  }
  const auto words = split(levels, ':');
  if (words.size() > 3) return wrong(levels);
  const std::string first = lower(words[0]);
  out.asked = !first.empty() && first != "*";
  if (first == "cyclic")
    out.order = NodeOrderOfTasks::cyclic;
  else if (first == "arbitrary")
    out.order = NodeOrderOfTasks::arbitrary;
  else if (first.starts_with("plane")) {
    out.order = NodeOrderOfTasks::plane;
    const auto size = parse_integer(std::string_view{first}.substr(std::min<std::size_t>(first.size(), 6)));
    if (!first.starts_with("plane=") || !size || *size < 1 || *size > plane_max) return wrong(words[0]);
    out.plane = static_cast<std::uint32_t>(*size);
  } else if (out.asked && first != "block") {
    return wrong(words[0]);
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string word = lower(words[i]);
    if (word != "block" && word != "cyclic" && word != "fcyclic" && word != "*") return wrong(words[i]);
  }
  return out;
}

std::string_view word_of(const Distribution& distribution) {
  switch (distribution.order) {
    case NodeOrderOfTasks::cyclic:
      return "cyclic";
    case NodeOrderOfTasks::plane:
      return "plane";
    case NodeOrderOfTasks::arbitrary:
      return "arbitrary";
    case NodeOrderOfTasks::block:
      break;
  }
  return "block";
}

std::vector<std::uint32_t> lay_out(const Distribution& distribution, std::uint32_t tasks,
                                   std::span<const std::uint32_t> capacities) {
  const auto nodes = static_cast<std::uint32_t>(capacities.size());
  std::uint64_t room = 0;
  for (const std::uint32_t capacity : capacities) room += capacity;
  if (nodes == 0 || tasks < nodes || room < tasks || std::ranges::find(capacities, 0u) != capacities.end()) return {};
  std::vector<std::uint32_t> out(nodes, 0);
  const std::uint32_t step = at_a_time(distribution);
  if (step == UINT32_MAX) {  // as many as fit, but one for each that follows
    std::uint32_t left = tasks;
    for (std::uint32_t i = 0; i < nodes; ++i) {
      out[i] = std::min(capacities[i], left - (nodes - i - 1));
      left -= out[i];
    }
    return out;
  }
  std::ranges::fill(out, 1u);
  std::uint32_t left = tasks - nodes;
  for (bool first = true; left > 0; first = false)
    for (std::uint32_t i = 0; i < nodes && left > 0; ++i) {
      const std::uint32_t more = std::min({first ? step - 1 : step, capacities[i] - out[i], left});
      out[i] += more;
      left -= more;
    }
  return out;
}

std::vector<std::uint32_t> lay_out(const JobSpec& spec, std::span<const NodeIndex> nodes,
                                   std::span<const std::uint32_t> capacities) {
  const ResourceRequest& ask = spec.resource_request();
  const auto distribution = parse_distribution(ask.distribution);
  const std::uint32_t tasks = std::max(spec.tasks, static_cast<std::uint32_t>(nodes.size()));
  if (!distribution) return {};
  // Of nodes that take any number of tasks the first must not take nearly all: each gets about the same.
  const bool even = spec.overcommits() && distribution->order == NodeOrderOfTasks::block;
  if (even) return lay_out(Distribution{.order = NodeOrderOfTasks::cyclic}, tasks, capacities);
  if (distribution->order != NodeOrderOfTasks::arbitrary || ask.task_nodes.empty())
    return lay_out(*distribution, tasks, capacities);
  if (ask.task_nodes.size() < nodes.size()) return {};  // some node would be without a task
  std::vector<std::uint32_t> out(nodes.size(), 0);
  const auto places = places_in<std::uint32_t>(nodes, [](NodeIndex node) { return node.value; });
  for (const std::uint32_t node : ask.task_nodes) {
    const auto at = places.find(node);
    if (!at) return {};
    ++out[*at];
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i] == 0 || out[i] > capacities[i]) return {};
  return out;
}

std::vector<std::vector<std::uint32_t>> ranks_by_node(const Distribution& distribution,
                                                      std::span<const std::uint32_t> tasks_per_node) {
  std::vector<std::vector<std::uint32_t>> out(tasks_per_node.size());
  const std::uint32_t all = std::accumulate(tasks_per_node.begin(), tasks_per_node.end(), 0u),
                      step = at_a_time(distribution);
  for (std::uint32_t rank = 0; rank < all;)
    for (std::size_t node = 0; node < out.size(); ++node)
      for (std::uint32_t i = 0; i < step && out[node].size() < tasks_per_node[node]; ++i) out[node].push_back(rank++);
  return out;
}

std::vector<std::vector<std::uint32_t>> ranks_by_list(std::span<const std::string> task_nodes,
                                                      std::span<const std::string> nodes) {
  std::vector<std::vector<std::uint32_t>> out(nodes.size());
  const auto places =
      places_in<std::string_view>(nodes, [](const std::string& name) { return std::string_view{name}; });
  for (std::uint32_t rank = 0; rank < task_nodes.size(); ++rank) {
    const auto at = places.find(task_nodes[rank]);
    if (!at) return {};
    out[*at].push_back(rank);
  }
  if (std::ranges::any_of(out, [](const auto& ranks) { return ranks.empty(); })) return {};
  return out;
}

std::vector<std::vector<std::uint32_t>> ranks_by_node(const JobSpec& spec, std::span<const NodeShare> shares) {
  const ResourceRequest& ask = spec.resource_request();
  const Distribution distribution = parse_distribution(ask.distribution).value_or(Distribution{});
  std::vector<std::uint32_t> counts;
  for (const NodeShare& share : shares) counts.push_back(share.tasks);
  if (distribution.order != NodeOrderOfTasks::arbitrary || ask.task_nodes.empty())
    return ranks_by_node(distribution, counts);
  std::vector<std::vector<std::uint32_t>> out(shares.size());
  const auto places = places_in<std::uint32_t>(shares, [](const NodeShare& share) { return share.node.value; });
  for (std::uint32_t rank = 0; rank < ask.task_nodes.size(); ++rank)
    if (const auto at = places.find(ask.task_nodes[rank])) out[*at].push_back(rank);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i].size() != counts[i])
      return ranks_by_node(Distribution{}, counts);  // placed otherwise: every task still runs once
  return out;
}

}  // namespace millrace
