// src/core/planner/timeline.cpp - see timeline.h.
#include "core/planner/timeline.h"

#include <algorithm>

namespace millrace {

Timeline::Timeline(const State& state, Time now, std::span<const NodeIndex> unreachable)
    : state_(state), now_(now), rules_(fit_rules(*state.policy)) {
  for (const auto& [index, node] : state.nodes) {
    if (nodes_.size() <= index.value) {
      nodes_.resize(index.value + 1);
      usable_.resize(index.value + 1, false);
    }
    Amounts free = all_of(*node->def);
    free -= {node->used_cpus.value, node->used_memory.value, node->used_gres};
    nodes_[index.value] = {index, node->def.get(), free};
    usable_[index.value] = node->is_usable() && std::ranges::find(unreachable, index) == unreachable.end();
    if (usable_[index.value] && nodes_[index.value].free.cpus > 0) free_cpus_ += nodes_[index.value].free.cpus;
  }
  for (const auto& [key, nothing] : state.active) {
    const Job& job = state.job(key);
    Time ends = planned_end(job.started_at, job.time_limit_minutes);
    if (ends <= now || job.state == JobState::completing) ends = now + microseconds(1);  // late, but about to go
    Release release{ends, key, {}};
    for (const NodeShare& share : job.placement->shares)
      if (!share.released) release.shares.push_back(share);
    releases_.push_back(std::move(release));
  }
}

std::vector<NodeIndex> Timeline::order(const JobSpec& spec) const {
  const RareRequest& rare = spec.rare_request();
  const std::vector<NodeIndex>& all = state_.partition(spec.partition).nodes;
  if (rare.required_nodes.empty() && rare.excluded_nodes.empty()) return all;
  const auto in = [](const std::vector<std::uint32_t>& list, NodeIndex index) {
    return std::ranges::find(list, index.value) != list.end();
  };
  std::vector<NodeIndex> out;
  for (const std::uint32_t index : rare.required_nodes) out.push_back(NodeIndex{index});
  for (const NodeIndex index : all)
    if (!in(rare.required_nodes, index) && !in(rare.excluded_nodes, index)) out.push_back(index);
  return out;
}

std::vector<Candidate> Timeline::candidates(const JobSpec& spec, Time ends_at, std::span<const FutureClaim> claims) const {
  std::vector<Candidate> out;
  const std::size_t required = spec.rare_request().required_nodes.size();
  const auto add = [&](NodeIndex index, bool must) {
    Candidate node = nodes_[index.value];
    if (!usable_[index.value]) node.free.cpus = 0;
    for (const FutureClaim& claim : claims) {
      if (ends_at <= claim.start) continue;
      node.free = least_of(node.free, claim.spare[index.value].free);
    }
    if (must || node.free.cpus > 0) out.push_back(node);
  };
  if (required == 0 && spec.rare_request().excluded_nodes.empty()) {
    for (const NodeIndex index : state_.partition(spec.partition).nodes) add(index, false);
  } else {
    const std::vector<NodeIndex> ordered = order(spec);
    for (std::size_t i = 0; i < ordered.size(); ++i) add(ordered[i], i < required);
  }
  return out;
}

void Timeline::take(std::span<const NodeShare> shares, Time ends_at, std::vector<FutureClaim>& claims) {
  for (const NodeShare& share : shares) {
    Candidate& node = nodes_[share.node.value];
    node.free -= share.amounts();
    free_cpus_ -= share.cpus.value;
    for (FutureClaim& claim : claims) {
      if (ends_at <= claim.start) continue;
      claim.spare[share.node.value].free -= share.amounts();
    }
  }
  releases_.push_back({ends_at, JobKey{UINT64_MAX}, {shares.begin(), shares.end()}});
  sorted_ = false;
}

void Timeline::sort_releases() {
  if (sorted_) return;
  std::ranges::sort(releases_, {}, [](const Release& r) { return std::pair{r.at, r.key}; });
  sorted_ = true;
}

std::optional<FutureClaim> Timeline::earliest(const JobSpec& spec, std::int64_t& steps) {
  sort_releases();
  const std::vector<NodeIndex> ordered = order(spec);
  const std::size_t required = spec.rare_request().required_nodes.size();
  // Free amounts only grow as releases pass, so the first time at which the job fits can be halved towards.
  const auto free_after = [&](std::size_t released) {
    std::vector<Candidate> nodes = nodes_;
    for (std::size_t i = 0; i < released; ++i)
      for (const NodeShare& share : releases_[i].shares) {
        nodes[share.node.value].free += share.amounts();
      }
    return nodes;
  };
  const auto fit_after = [&](std::size_t released) {
    steps += static_cast<std::int64_t>(ordered.size() + released);
    const std::vector<Candidate> nodes = free_after(released);
    std::vector<Candidate> list;
    for (std::size_t i = 0; i < ordered.size(); ++i) {
      Candidate node = nodes[ordered[i].value];
      if (!usable_[ordered[i].value]) node.free.cpus = 0;
      if (i < required || node.free.cpus > 0) list.push_back(node);
    }
    return choose_nodes(spec, list, required, rules_);
  };
  const std::size_t all = releases_.size();
  if (!fit_after(all)) return std::nullopt;
  std::size_t low = 0, high = all;  // does not fit after low, fits after high
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (fit_after(middle) ? high : low) = middle;
  }
  const Time start = high == 0 ? now_ : releases_[high - 1].at;
  while (high < all && releases_[high].at == start) ++high;
  FutureClaim claim{start, *fit_after(high), free_after(high)};
  for (const NodeShare& share : claim.shares) {
    claim.spare[share.node.value].free -= share.amounts();
  }
  return claim;
}

}  // namespace millrace
