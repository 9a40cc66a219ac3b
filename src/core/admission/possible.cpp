// src/core/admission/possible.cpp - see possible.h.
#include "core/admission/possible.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/hostlist.h"
#include "core/model/assign.h"
#include "core/model/features.h"
#include "core/model/fit.h"
#include "core/model/node_marks.h"
#include "core/model/request_limits.h"

namespace millrace {
namespace {

using Checked = std::expected<void, Refusal>;

std::string named(const std::vector<std::string>& names) {
  return names.empty() ? "no node" : compress_hostlist(names);
}

class Possibility {
 public:
  Possibility(const State& state, const JobSpec& spec, const Partition& partition)
      : state_(state),
        spec_(spec),
        partition_(partition),
        rules_(fit_rules(*state.policy)),
        kind_(spec, NodeFilter::Features::available) {}

  Checked check() {
    if (auto whole = check_segments(); !whole) return whole;
    if (first_nodes_hold()) return {};
    if (auto gathered = gather(); !gathered) return gathered;
    const std::string& batch = spec_.extra_request().batch_features;
    const auto wanted = features_wanted(spec_.resource_request().features, batch);
    if (!wanted)
      return refuse(batch.empty() ? RefusalCode::invalid_feature : RefusalCode::batch_constraint, wanted.error().story);
    for (const CountedFeature& each : wanted->counted)
      if (std::ranges::count_if(
              all_, [&, fits = matching(each.term)](const Candidate& c) { return fits[list_of(c)]; }) < each.nodes)
        return refuse(RefusalCode::node_configuration_unavailable,
                      "fewer than " + std::to_string(each.nodes) + " nodes of partition " + partition_.def.name +
                          " have what '" + spec_.resource_request().features +
                          (batch.empty() ? "" : "' with --batch='" + batch) + "' counts");
    // Whoever takes one side of [a|b] takes it with all nodes.
    std::set<std::vector<bool>> tried;  // sides that the same nodes have are tried once
    for (const FeatureTerm& side : wanted->alternatives) {
      const std::vector<bool> fits = matching(side);
      if (!tried.insert(fits).second) continue;
      std::vector<Candidate> some;
      for (const Candidate& candidate : all_)
        if (fits[list_of(candidate)]) some.push_back(candidate);
      if (holds(some)) return {};
    }
    return refuse(RefusalCode::node_configuration_unavailable, nearest());
  }

 private:
  // Groups of nodes within blocks: there are blocks, so large, and enough of them.
  Checked check_segments() const {
    const ResourceRequest& ask = spec_.resource_request();
    if (ask.segment == 0) return {};
    const std::string size = std::to_string(ask.segment);
    if (!state_.topology->facts().blocks)
      return refuse(RefusalCode::topology_unavailable,
                    "--segment is for blocks of nodes, and the cluster has none (TopologyPlugin=topology/block)");
    if (spec_.min_nodes % ask.segment != 0)
      return refuse(RefusalCode::segment_does_not_fit, std::to_string(spec_.min_nodes) +
                                                           " nodes do not come in groups of " + size +
                                                           "; a multiple of it would be right");
    std::map<std::uint32_t, std::size_t> in_block;
    for (const NodeIndex index : partition_.nodes) ++in_block[state_.topology->leaf_of(index)];
    in_block.erase(SwitchTree::none);
    std::size_t segments = 0;
    for (const auto& [block, nodes] : in_block)
      segments += ask.spread_segments ? std::min<std::size_t>(nodes / ask.segment, 1) : nodes / ask.segment;
    if (segments * ask.segment >= spec_.min_nodes) return {};
    return refuse(RefusalCode::segment_does_not_fit,
                  "the blocks of partition " + partition_.def.name + " have room for " + std::to_string(segments) +
                      " groups of " + size + (ask.spread_segments ? ", each in a block of its own" : ""));
  }

  // What the first nodes of the partition hold needs no look at the other ten thousand.
  bool first_nodes_hold() {
    const RareRequest& rare = spec_.rare_request();
    if (!rare.required_nodes.empty() || !rare.excluded_nodes.empty() || !spec_.resource_request().features.empty() ||
        !spec_.extra_request().batch_features.empty())
      return false;
    const std::size_t enough = 32 + 2 * static_cast<std::size_t>(spec_.min_nodes);
    std::vector<Candidate> some;
    for (const NodeIndex index : partition_.nodes) {
      if (some.size() == enough) break;
      const Node& node = state_.node(index);
      if (node.configured && kind_.admits(*node.def))
        some.push_back({index, node.def.get(), all_of(*node.def, partition_.def.max_cpus_per_node)});
    }
    return holds(some);
  }

  Checked gather() {
    const RareRequest& rare = spec_.rare_request();
    const NodeMarks required(rare.required_nodes), excluded(rare.excluded_nodes);
    std::vector<std::uint32_t> there;
    if (!rare.required_nodes.empty())
      for (const NodeIndex index : partition_.nodes) there.push_back(index.value);
    const NodeMarks in_partition(there);
    for (const std::uint32_t index : rare.required_nodes) {
      if (!in_partition.has(index))
        return refuse(RefusalCode::nodes_not_in_partition, "node " + state_.node(NodeIndex{index}).def->name +
                                                               " is not in partition " + partition_.def.name);
      add(NodeIndex{index});
    }
    for (const NodeIndex index : partition_.nodes) {
      if (required.has(index.value) || excluded.has(index.value) || !state_.node(index).configured) continue;
      ++there_;
      if (kind_.admits(*state_.node(index).def)) add(index);
    }
    there_ += rare.required_nodes.size();
    return {};
  }

  void add(NodeIndex index) {
    const NodeDef& def = *state_.node(index).def;
    all_.push_back({index, &def, all_of(def, partition_.def.max_cpus_per_node)});
  }

  // Of each list of features that the candidates have, whether it is what the term asks for.
  std::vector<bool> matching(const FeatureTerm& term) {
    if (lists_.empty())
      for (const Candidate& candidate : all_) lists_.try_emplace(candidate.def->features, lists_.size());
    std::vector<bool> out(lists_.size());
    for (const auto& [list, number] : lists_) out[number] = term.always() || term.matches(feature_names(list));
    return out;
  }
  std::size_t list_of(const Candidate& candidate) const { return lists_.find(candidate.def->features)->second; }

  // What is out of order today is there another day.
  static NodeDef repaired(NodeDef def) {
    for (NodeGres& kind : def.kinds) kind.out_of_order = 0;
    return def;
  }

  // On empty nodes, and in the way the job wants it there.
  bool holds(std::span<const Candidate> some) const {
    const auto shares = choose_nodes(spec_, some, spec_.rare_request().required_nodes.size(), rules_);
    return shares && (!spec_.resources || std::ranges::all_of(*shares, [&](const NodeShare& share) {
             return assign(spec_, repaired(*state_.node(share.node).def), {}, share.amounts(), rules_).has_value();
           }));
  }

  std::string nearest() const {
    const std::string where = "partition " + partition_.def.name;
    if (all_.empty() && there_ > 0 && spec_.resources) return "no node of " + where + " is of this kind: " + shape();
    for (const GresAsk& ask : spec_.resource_request().gres)
      if (std::string note = nearest_gres(ask); !note.empty()) return note;
    const Node* largest = nullptr;
    for (const Candidate& candidate : all_) {
      const Node& node = state_.node(candidate.node);
      if (!largest || std::pair{node.def->usable_cpus(), node.def->usable_memory()} >
                          std::pair{largest->def->usable_cpus(), largest->def->usable_memory()})
        largest = &node;
    }
    std::string note = where + " has " + std::to_string(all_.size()) + " usable nodes";
    if (largest)
      note += "; the largest is " + largest->def->name + " with " + std::to_string(largest->def->usable_cpus().value) +
              " CPUs and " + std::to_string(largest->def->usable_memory().value) + "M of memory";
    if (partition_.def.max_cpus_per_node != unlimited)
      note += "; jobs of the partition have at most " + std::to_string(partition_.def.max_cpus_per_node) +
              " CPUs of a node (MaxCPUsPerNode)";
    return note;
  }

  std::string shape() const {
    const ResourceRequest& ask = spec_.resource_request();
    std::string out;
    const auto say = [&](const std::string& words) { out += (out.empty() ? "" : ", ") + words; };
    if (!ask.features.empty()) say("features " + ask.features);
    if (ask.sockets_per_node > 0) say(std::to_string(ask.sockets_per_node) + " sockets");
    if (ask.cores_per_socket > 0) say(std::to_string(ask.cores_per_socket) + " cores per socket");
    if (ask.threads_per_core > 0) say(std::to_string(ask.threads_per_core) + " threads per core");
    if (ask.tmp_disk > 0) say(std::to_string(ask.tmp_disk) + "M of temporary disk");
    return out;
  }

  // "no node has 8 gpu:a100; the most is 4 on n[1-3]"
  std::string nearest_gres(const GresAsk& ask) const {
    const ResourceRequest& request = spec_.resource_request();
    const std::string what = ask.name + (ask.type.empty() ? "" : ":" + ask.type);
    std::int64_t most = 0, total = 0;
    std::vector<std::string> where;
    for (const Candidate& candidate : all_) {
      Amounts taken;
      const std::int64_t has =
          INT32_MAX - add_gres({ask.name, ask.type, 0, {}}, INT32_MAX, *candidate.def, candidate.free, taken);
      total += has;
      if (has < most || has == 0) continue;
      if (has > most) where.clear();
      most = has;
      where.push_back(candidate.def->name);
    }
    if (ask.scope == GresScope::job) {
      if (total >= ask.count) return {};
      return "partition " + partition_.def.name + " has " + std::to_string(total) + " " + what + " in all, " +
             std::to_string(ask.count) + " were asked for";
    }
    std::int64_t need = ask.count;
    if (ask.scope == GresScope::socket) need = bounded_product(need, std::max(request.sockets_per_node, 1u));
    if (ask.scope == GresScope::task && spec_.tasks_per_node > 0) need = bounded_product(need, spec_.tasks_per_node);
    if (need > most)
      return "no node has " + std::to_string(need) + " " + what + "; the most is " + std::to_string(most) +
             (most > 0 ? " on " + named(where) : "");
    return {};
  }

  const State& state_;
  const JobSpec& spec_;
  const Partition& partition_;
  FitRules rules_;
  NodeFilter kind_;
  std::map<std::string, std::size_t, std::less<>> lists_;  // of features, numbered
  std::vector<Candidate> all_;                             // those of the right kind; required ones first
  std::size_t there_ = 0;                                  // of any kind
};

}  // namespace

Checked check_possible(const State& state, const JobSpec& spec) {
  Checked first = Possibility(state, spec, state.partition(spec.partition)).check();
  if (first) return first;
  for (const std::uint32_t more : spec.resource_request().more_partitions)
    if (Possibility(state, spec, state.partition(PartitionIndex{more})).check()) return {};
  return first;
}

}  // namespace millrace
