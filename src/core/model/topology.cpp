// src/core/model/topology.cpp - see topology.h.
#include "core/model/topology.h"

#include <algorithm>

namespace millrace {

SwitchTree::SwitchTree(Topology facts, const std::map<std::string, NodeIndex, std::less<>>& nodes)
    : facts_(std::move(facts)) {
  const std::size_t count = facts_.switches.size();
  parent_.assign(count, none);
  level_.assign(count, 0);
  below_.resize(count);
  std::map<std::string_view, std::uint32_t> by_name;
  for (std::uint32_t i = 0; i < count; ++i) by_name.emplace(facts_.switches[i].name, i);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const std::string& child : facts_.switches[i].switches)
      if (const auto it = by_name.find(child); it != by_name.end() && parent_[it->second] == none && it->second != i)
        parent_[it->second] = i;
    for (const std::string& name : facts_.switches[i].nodes) {
      const auto it = nodes.find(name);
      if (it == nodes.end()) continue;
      if (leaf_.size() <= it->second.value) leaf_.resize(it->second.value + 1, none);
      leaf_[it->second.value] = i;
    }
  }
  // Every leaf lifts what is above it; a ring, which the configuration refuses, would end after as many steps as there
  // are switches.
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t level = 0;
    for (std::uint32_t at = parent_[i]; at != none && level < count; at = parent_[at])
      level_[at] = std::max(level_[at], ++level);
  }
  for (std::uint32_t i = 0; i < count; ++i)
    for (const std::string& name : facts_.switches[i].nodes) {
      const auto it = nodes.find(name);
      std::size_t steps = 0;
      for (std::uint32_t at = i; it != nodes.end() && at != none && steps++ <= count; at = parent_[at])
        below_[at].push_back(it->second);
    }
}

std::size_t SwitchTree::leaves_spanned(std::span<const NodeIndex> nodes) const {
  std::vector<std::uint32_t> seen;
  std::size_t alone = 0;
  for (const NodeIndex node : nodes) {
    if (const std::uint32_t leaf = leaf_of(node); leaf == none)
      ++alone;
    else
      seen.push_back(leaf);
  }
  std::ranges::sort(seen);
  seen.erase(std::ranges::unique(seen).begin(), seen.end());
  return seen.size() + alone;
}

std::uint32_t SwitchTree::distance(NodeIndex a, NodeIndex b) const {
  if (a == b) return 0;
  std::uint32_t left = leaf_of(a), right = leaf_of(b), up = 0;
  for (; left != none && right != none && up <= size(); ++up) {
    if (left == right) return up;
    // Who stands lower goes up; of equals both.
    const std::uint32_t low = std::min(level_[left], level_[right]);
    const bool left_goes = level_[left] == low, right_goes = level_[right] == low;
    if (left_goes) left = parent_[left];
    if (right_goes) right = parent_[right];
  }
  return none;
}

std::string SwitchTree::address_of(NodeIndex node, std::string_view name) const {
  std::string out{name};
  std::size_t steps = 0;
  for (std::uint32_t at = leaf_of(node); at != none && steps++ < size(); at = parent_[at])
    out = facts_.switches[at].name + "." + out;
  return out;
}

std::string SwitchTree::address_pattern_of(NodeIndex node) const {
  std::string out = "node";
  std::size_t steps = 0;
  for (std::uint32_t at = leaf_of(node); at != none && steps++ < size(); at = parent_[at])
    out = (facts_.blocks ? "block." : "switch.") + out;
  return out;
}

}  // namespace millrace
