// src/core/planner/arrange.cpp - see arrange.h.
#include "core/planner/arrange.h"

#include <algorithm>
#include <map>
#include <set>

namespace millrace {
namespace {

using Shares = std::optional<std::vector<NodeShare>>;
using Candidates = std::vector<Candidate>;

class Arranging {
 public:
  Arranging(const Wishes& wishes, const JobSpec& spec, const FitRules& rules, const SwitchTree& tree, bool any_switches,
            std::int64_t& steps)
      : wishes_(wishes), spec_(spec), rules_(rules), tree_(tree), any_switches_(any_switches), steps_(steps) {}

  // All nodes on the same side of [a|b], the first side that has room.
  Shares by_alternative(const Candidates& all, std::size_t required) const {
    if (wishes_.features.alternatives.empty()) return by_count(all, required);
    for (const FeatureTerm& side : wishes_.features.alternatives) {
      Candidates list;
      std::size_t kept = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (!side.matches(features_of(*all[i].def))) continue;
        list.push_back(all[i]);
        kept += i < required;
      }
      if (kept < required) continue;
      if (Shares shares = by_count(list, required)) return shares;
    }
    return std::nullopt;
  }

 private:
  // [a*2&b*4]: the nodes that are counted become required ones, rare features first.
  Shares by_count(const Candidates& all, std::size_t required) const {
    if (wishes_.features.counted.empty()) return by_preference(all, required);
    std::vector<CountedFeature> counted = wishes_.features.counted;
    const auto holders = [&](const CountedFeature& each) {
      return std::ranges::count_if(all,
                                   [&](const Candidate& node) { return each.term.matches(features_of(*node.def)); });
    };
    std::ranges::stable_sort(counted, {}, holders);
    Candidates list(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(required));
    std::vector<bool> used(all.size());
    for (std::size_t i = 0; i < required; ++i) used[i] = true;
    for (const CountedFeature& each : counted) {
      auto left = static_cast<std::int64_t>(each.nodes);
      for (const Candidate& node : list) left -= each.term.matches(features_of(*node.def));
      for (std::size_t i = 0; i < all.size() && left > 0; ++i) {
        if (used[i] || !each.term.matches(features_of(*all[i].def))) continue;
        used[i] = true;
        list.push_back(all[i]);
        --left;
      }
      if (left > 0) return std::nullopt;
    }
    const std::size_t now_required = list.size();
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!used[i]) list.push_back(all[i]);
    return choose(list, now_required);
  }

  Shares by_preference(const Candidates& all, std::size_t required) const {
    if (wishes_.prefers) {
      Candidates list(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(required));
      for (std::size_t i = required; i < all.size(); ++i)
        if (wishes_.prefer.admits(features_of(*all[i].def))) list.push_back(all[i]);
      if (Shares shares = by_place(list, required)) return shares;
    }
    return by_place(all, required);
  }

  Shares by_place(const Candidates& all, std::size_t required) const {
    if (wishes_.segment > 0) return in_segments(all, required);
    if (wishes_.contiguous) return in_one_run(all, required);
    if (wishes_.spread) return spread_out(all, required);
    if (wishes_.fewest) return on_the_largest(all, required);
    if (wishes_.near && required == 0) return near_each_other(all);
    if (wishes_.idlest) return on_the_idlest(all, required);
    return choose(all, required);
  }

  Shares on_the_idlest(const Candidates& all, std::size_t required) const {
    Candidates list = all;
    std::stable_sort(list.begin() + static_cast<std::ptrdiff_t>(required), list.end(),
                     [](const Candidate& a, const Candidate& b) { return a.idle > b.idle; });
    return choose(list, required);
  }

  // Nodes that follow each other without a gap; of the runs that hold the job the shortest.
  Shares in_one_run(const Candidates& all, std::size_t required) const {
    Candidates sorted = all;
    std::ranges::sort(sorted, {}, &Candidate::node);
    std::vector<NodeIndex> needed;
    for (std::size_t i = 0; i < required; ++i) needed.push_back(all[i].node);
    Shares best;
    std::size_t best_length = SIZE_MAX;
    for (std::size_t first = 0; first < sorted.size();) {
      std::size_t last = first + 1;
      while (last < sorted.size() && sorted[last].node.value == sorted[last - 1].node.value + 1) ++last;
      const Candidates run(sorted.begin() + static_cast<std::ptrdiff_t>(first),
                           sorted.begin() + static_cast<std::ptrdiff_t>(last));
      const bool has_all = std::ranges::all_of(
          needed, [&](NodeIndex node) { return std::ranges::find(run, node, &Candidate::node) != run.end(); });
      if (has_all && run.size() < best_length) {
        // With required nodes in the middle the whole run counts; otherwise its beginning is contiguous by itself.
        Shares shares = choose(run, needed.empty() ? 0 : run.size());
        if (shares) {
          best = std::move(shares);
          best_length = run.size();
        }
      }
      first = last;
    }
    return best;
  }

  // As many nodes as may be, the tasks dealt out one by one. Only so many of the first nodes can do that hold all tasks
  // and have one for each; within these the most nearly always do, so that few numbers are tried below it.
  Shares spread_out(const Candidates& all, std::size_t required) const {
    const std::size_t allowed = std::min<std::size_t>(
        {all.size(), spec_.max_nodes > 0 ? spec_.max_nodes : unlimited, std::max(spec_.tasks, spec_.min_nodes)});
    const std::uint64_t wanted = std::max({spec_.tasks, spec_.min_nodes, 1u});
    std::size_t most = 0, least = std::max<std::size_t>({spec_.min_nodes, required, 1});
    std::uint64_t room = 0;
    for (; most < allowed; ++most) {
      ++steps_;
      const std::uint32_t capacity = task_capacity(spec_, *all[most].def, all[most].free, rules_);
      if (capacity == 0) break;
      if (room < wanted) least = std::max(least, most + 1);
      room += capacity;
    }
    if (room < wanted) return choose(all, required);
    for (std::size_t fewer = 0; most >= least; fewer = fewer * 2 + 1) {
      const std::size_t nodes = size_below(most - std::min(fewer, most - least));
      const Candidates list(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(nodes));
      if (Shares shares = nodes < least ? std::nullopt : choose(list, nodes)) return shares;
      if (fewer >= most - least) break;
    }
    return choose(all, required);
  }

  // The largest of the sizes it asks for that is not above this one; 0: there is none.
  std::size_t size_below(std::size_t nodes) const {
    const auto& sizes = spec_.resource_request().node_counts.ranges();
    if (sizes.empty()) return nodes;
    const auto above = std::ranges::upper_bound(sizes, nodes, {}, &IndexSet::Range::first);
    return above == sizes.begin() ? 0 : std::min<std::size_t>(nodes, std::prev(above)->last);
  }

  Shares on_the_largest(const Candidates& all, std::size_t required) const {
    Candidates list = all;
    std::stable_sort(
        list.begin() + static_cast<std::ptrdiff_t>(required), list.end(), [&](const Candidate& a, const Candidate& b) {
          return task_capacity(spec_, *a.def, a.free, rules_) > task_capacity(spec_, *b.def, b.free, rules_);
        });
    return choose(list, required);
  }

  // Groups of nodes, each within one block: where the fewest nodes are left over, in as few blocks as there are, or one
  // in each.
  Shares in_segments(const Candidates& all, std::size_t required) const {
    const std::size_t wanted = spec_.min_nodes / wishes_.segment;
    std::map<std::uint32_t, Candidates> blocks;  // of each the required nodes first, then those that hold the most
    Candidates sorted = all;
    std::stable_sort(sorted.begin() + static_cast<std::ptrdiff_t>(required), sorted.end(),
                     [&](const Candidate& a, const Candidate& b) {
                       return task_capacity(spec_, *a.def, a.free, rules_) >
                              task_capacity(spec_, *b.def, b.free, rules_);
                     });
    std::map<std::uint32_t, std::size_t> required_in;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const std::uint32_t block = tree_.leaf_of(sorted[i].node);
      if (block == SwitchTree::none) continue;
      blocks[block].push_back(sorted[i]);
      if (i < required) ++required_in[block];
    }
    std::vector<std::uint32_t> order;
    for (const auto& [block, nodes] : blocks)
      if (nodes.size() >= wishes_.segment) order.push_back(block);
    const auto room = [&](std::uint32_t block) { return blocks[block].size() / wishes_.segment; };
    const bool one_holds_all = std::ranges::any_of(order, [&](std::uint32_t block) { return room(block) >= wanted; });
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
      if ((required_in[a] > 0) != (required_in[b] > 0)) return required_in[a] > 0;
      if (wishes_.consolidate_segments && !one_holds_all) return room(a) > room(b);
      if (wishes_.consolidate_segments && (room(a) >= wanted) != (room(b) >= wanted)) return room(a) >= wanted;
      return blocks[a].size() < blocks[b].size();
    });
    Candidates list;
    std::size_t taken = 0, required_taken = 0;
    for (const std::uint32_t block : order) {
      const std::size_t segments = std::min(wishes_.spread_segments ? std::size_t{1} : room(block), wanted - taken);
      taken += segments;
      required_taken += std::min(required_in[block], segments * wishes_.segment);
      list.insert(list.end(), blocks[block].begin(),
                  blocks[block].begin() + static_cast<std::ptrdiff_t>(segments * wishes_.segment));
    }
    if (taken < wanted || required_taken < required) return std::nullopt;
    std::ranges::sort(list, {}, &Candidate::node);
    return choose(list, list.size());
  }

  // Below the lowest switch that holds the job, and there on as few leaves as possible: the fullest leaves first, and
  // of several switches the one that keeps the fewest nodes for others.
  Shares near_each_other(const Candidates& all) const {
    std::map<std::uint32_t, Candidates> below;  // by switch, every level
    for (const Candidate& node : all)
      for (std::uint32_t at = tree_.leaf_of(node.node); at != SwitchTree::none; at = tree_.parent_of(at))
        below[at].push_back(node);
    Shares best;
    std::pair<std::uint32_t, std::size_t> best_rank{UINT32_MAX, SIZE_MAX};
    for (auto& [at, list] : below) {
      const std::pair rank{tree_.level_of(at), list.size()};
      if (rank >= best_rank || list.size() < spec_.min_nodes) continue;
      if (Shares shares = on_few_leaves(list)) {
        best = std::move(shares);
        best_rank = rank;
      }
    }
    if (!best) best = on_few_leaves(all);
    if (best && wishes_.switches > 0 && !any_switches_) {
      std::vector<NodeIndex> nodes;
      for (const NodeShare& share : *best) nodes.push_back(share.node);
      if (tree_.leaves_spanned(nodes) > wishes_.switches) return std::nullopt;
    }
    return best;
  }

  Shares on_few_leaves(const Candidates& all) const {
    std::map<std::uint32_t, std::size_t> on_leaf;
    for (const Candidate& node : all) ++on_leaf[tree_.leaf_of(node.node)];
    Candidates list = all;
    std::ranges::stable_sort(list, [&](const Candidate& a, const Candidate& b) {
      const std::uint32_t left = tree_.leaf_of(a.node), right = tree_.leaf_of(b.node);
      return std::pair{on_leaf[right], left} < std::pair{on_leaf[left], right};
    });
    return choose(list, 0);
  }

  Shares choose(const Candidates& list, std::size_t required) const {
    steps_ += static_cast<std::int64_t>(list.size());
    return choose_nodes(spec_, list, required, rules_);
  }

  const Wishes& wishes_;
  const JobSpec& spec_;
  const FitRules& rules_;
  const SwitchTree& tree_;
  bool any_switches_;
  std::int64_t& steps_;
};

}  // namespace

Wishes wishes_of(const State& state, const JobSpec& spec, const PartitionDef& partition) {
  Wishes out;
  const ResourceRequest& ask = spec.resource_request();
  if (auto features = features_wanted(ask.features, spec.extra_request().batch_features); features)
    out.features = *std::move(features);
  if (auto prefer = parse_features(ask.prefer); prefer && !ask.prefer.empty()) {
    out.prefer = *std::move(prefer);
    out.prefers = true;
  }
  out.contiguous = ask.contiguous;
  out.spread = ask.spread_job;
  out.fewest = ask.use_min_nodes;
  out.switches = ask.switches;
  out.segment = ask.segment;
  out.spread_segments = ask.spread_segments;
  out.consolidate_segments = ask.consolidate_segments;
  out.idlest = partition.least_loaded || state.policy->least_loaded;
  out.near = !state.topology->empty() && (spec.min_nodes > 1 || spec.tasks > 1 || ask.switches > 0);
  return out;
}

std::optional<std::vector<NodeShare>> arrange(const Wishes& wishes, const JobSpec& spec,
                                              const std::vector<Candidate>& candidates, std::size_t required,
                                              const FitRules& rules, const SwitchTree& tree, bool any_switches,
                                              std::int64_t& steps) {
  return Arranging(wishes, spec, rules, tree, any_switches, steps).by_alternative(candidates, required);
}

}  // namespace millrace
