// src/core/model/fit.cpp - see fit.h.
#include "core/model/fit.h"

#include "core/model/layout.h"
#include "core/model/request_limits.h"

#include <algorithm>
#include <tuple>

namespace millrace {
namespace {

struct Usable {
  std::size_t at;
  std::uint32_t capacity;
};

// Gathers nodes in order until they are enough; when there are too many small ones, the largest stay, and of equals the
// first.
class Gathering {
 public:
  Gathering(const JobSpec& spec, std::span<const Candidate> candidates, std::size_t required, const FitRules& rules)
      : spec_(spec),
        candidates_(candidates),
        required_(required),
        rules_(rules),
        counts_(spec.resource_request().node_counts),
        nodes_max_(spec.max_nodes > 0 ? spec.max_nodes : unlimited),
        nodes_min_(std::max<std::uint32_t>(spec.min_nodes, 1)),
        wanted_(std::max(spec.tasks, nodes_min_)) {
    if (!counts_.empty() && spec.tasks_asked)
      nodes_max_ = std::min(nodes_max_, wanted_);  // none of them without a task
    if (spec.resources)
      for (const GresAsk& ask : spec.resources->gres)
        if (ask.scope == GresScope::job) for_job_.push_back({&ask, 0});
  }

  bool gather() {
    for (std::size_t i = 0; i < candidates_.size() && (i < required_ || !enough()); ++i) {
      const std::uint32_t capacity = task_capacity(spec_, *candidates_[i].def, candidates_[i].free, rules_);
      if (capacity == 0 && i < required_) return false;
      if (capacity == 0 || (i >= required_ && adds_nothing(candidates_[i]))) continue;
      add({i, capacity}, 1);
      if (usable_.size() > nodes_max_) drop_least();
    }
    // Of a list of sizes one may lie below what was gathered.
    while (!counts_.empty() && !enough() && usable_.size() > std::max<std::size_t>(nodes_min_, required_)) drop_least();
    return enough();
  }

  std::optional<std::vector<NodeShare>> share_out() const {
    std::vector<NodeShare> shares;
    std::uint32_t left = std::max(wanted_, static_cast<std::uint32_t>(usable_.size()));
    const std::vector<std::uint32_t> laid = laid_out();
    if (laid_out_asked() && laid.empty()) return std::nullopt;
    std::vector<std::int64_t> open;
    for (const ForJob& each : for_job_) open.push_back(each.ask->count);
    for (std::size_t i = 0; i < usable_.size(); ++i) {
      const Candidate& node = candidates_[usable_[i].at];
      const auto after = static_cast<std::uint32_t>(usable_.size() - i - 1);
      const std::uint32_t tasks = laid.empty() ? std::min(usable_[i].capacity, left - after) : laid[i];
      Amounts taken = amounts_for(spec_, *node.def, node.free, tasks, rules_);
      for (std::size_t k = 0; k < for_job_.size(); ++k) {
        const std::int64_t here = std::max<std::int64_t>(open[k] - static_cast<std::int64_t>(after), 0);
        open[k] -= here - add_gres(*for_job_[k].ask, here, *node.def, node.free, taken);
      }
      if (!for_job_.empty() && !cover_gpus(spec_, *node.def, node.free, taken, rules_)) return std::nullopt;
      NodeShare share{node.node, Cpus{taken.cpus}, Mebibytes{taken.memory}, tasks, false, {}};
      if (taken.gres != std::array<std::int64_t, gres_kinds_max>{})
        share.detail = SharedValue(ShareDetail{{}, {}, taken.gres});
      shares.push_back(std::move(share));
      left -= tasks;
    }
    const bool met = left == 0 && std::ranges::all_of(open, [](std::int64_t count) { return count <= 0; });
    return met ? std::optional{std::move(shares)} : std::nullopt;
  }

 private:
  // Where the order of tasks says more than "one node after the other".
  bool laid_out_asked() const {
    if (spec_.overcommits()) return true;
    if (!spec_.resources) return false;
    return spec_.resources->spread_job ||
           (!spec_.resources->distribution.empty() && !spec_.resources->distribution.starts_with("block") &&
            !spec_.resources->distribution.starts_with("*"));
  }
  std::vector<std::uint32_t> laid_out() const {
    if (!laid_out_asked()) return {};
    std::vector<NodeIndex> nodes;
    std::vector<std::uint32_t> capacities;
    for (const Usable& one : usable_) {
      nodes.push_back(candidates_[one.at].node);
      capacities.push_back(one.capacity);
    }
    if (spec_.resource_request().distribution.empty())
      return lay_out(Distribution{NodeOrderOfTasks::cyclic, 1, true},
                     std::max(wanted_, static_cast<std::uint32_t>(usable_.size())), capacities);
    return lay_out(spec_, nodes, capacities);
  }

  struct ForJob {
    const GresAsk* ask;
    std::int64_t had;
  };

  bool enough() const {
    return usable_.size() >= nodes_min_ && total_ >= wanted_ &&
           (counts_.empty() || counts_.contains(static_cast<std::uint32_t>(usable_.size()))) &&
           std::ranges::all_of(for_job_, [](const ForJob& each) { return each.had >= each.ask->count; });
  }
  std::int64_t has(const GresAsk& ask, const Candidate& node) const {
    Amounts taken;
    return ask.count - add_gres(ask, ask.count, *node.def, node.free, taken);
  }
  // A node without what the job as a whole needs would only stand in the way.
  bool adds_nothing(const Candidate& node) const {
    return !for_job_.empty() &&
           std::ranges::all_of(for_job_, [&](const ForJob& each) { return has(*each.ask, node) == 0; });
  }
  void add(const Usable& one, int sign) {
    if (sign > 0) usable_.push_back(one);
    total_ += static_cast<std::uint64_t>(static_cast<std::int64_t>(one.capacity) * sign);
    for (ForJob& each : for_job_) each.had += sign * has(*each.ask, candidates_[one.at]);
  }
  void drop_least() {
    const auto first = usable_.begin() + static_cast<std::ptrdiff_t>(std::min(required_, usable_.size() - 1));
    const auto least =
        std::min_element(first, usable_.end(), [&](const Usable& a, const Usable& b) { return worth(a) < worth(b); });
    const Usable gone = *least;
    usable_.erase(least);
    add(gone, -1);
  }
  std::tuple<std::int64_t, std::uint32_t, std::int64_t> worth(const Usable& one) const {
    const std::int64_t gres = for_job_.empty() ? 0 : has(*for_job_.front().ask, candidates_[one.at]);
    return {gres, one.capacity, -static_cast<std::int64_t>(one.at)};
  }

  const JobSpec& spec_;
  std::span<const Candidate> candidates_;
  std::size_t required_;
  FitRules rules_;
  const IndexSet& counts_;
  std::uint32_t nodes_max_, nodes_min_, wanted_;
  std::vector<Usable> usable_;
  std::vector<ForJob> for_job_;
  std::uint64_t total_ = 0;
};

}  // namespace

std::optional<std::vector<NodeShare>> choose_nodes(const JobSpec& spec, std::span<const Candidate> candidates,
                                                   std::size_t required, const FitRules& rules) {
  Gathering gathering(spec, candidates, required, rules);
  if (!gathering.gather()) return std::nullopt;
  return gathering.share_out();
}

Cpus requested_cpus(const JobSpec& spec) {
  const std::int64_t tasks = spec.overcommits() ? std::max(spec.min_nodes, 1u) : spec.tasks;
  const std::int64_t by_tasks = tasks * spec.cpus_per_task;
  const std::int64_t by_nodes =
      static_cast<std::int64_t>(std::max(spec.min_nodes, 1u)) * std::max(spec.min_cpus_per_node, spec.cpus_per_task);
  return Cpus{std::max(by_tasks, by_nodes)};
}

std::uint32_t least_nodes(const JobSpec& spec, Cpus largest) {
  const std::uint32_t asked = std::max(spec.min_nodes, 1u);
  const std::int64_t tasks_there = spec.cpus_per_task > 0 ? largest.value / spec.cpus_per_task : 0;
  if (tasks_there < 1 || spec.overcommits()) return asked;
  const std::int64_t most =
      spec.tasks_per_node > 0 ? std::min<std::int64_t>(tasks_there, spec.tasks_per_node) : tasks_there;
  const std::int64_t needed = std::max<std::int64_t>((spec.tasks + most - 1) / most, asked);
  return static_cast<std::uint32_t>(spec.max_nodes > 0 ? std::min<std::int64_t>(needed, std::max(spec.max_nodes, asked))
                                                       : needed);
}

Mebibytes requested_memory(const JobSpec& spec, Mebibytes whole_node) {
  if (spec.memory_per_cpu) return Mebibytes{bounded_product(spec.memory_per_cpu->value, requested_cpus(spec).value)};
  const Mebibytes per_node =
      spec.memory_per_node && spec.memory_per_node->value > 0 ? *spec.memory_per_node : whole_node;
  return Mebibytes{bounded_product(per_node.value, std::max(spec.min_nodes, 1u))};
}

}  // namespace millrace
