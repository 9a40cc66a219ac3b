// src/sim/cluster_clocks.cpp - the faults of a simulated cluster that need an administrator's hand: clocks that are
// set, spools that are removed; and what was seen of a history.
#include <algorithm>

#include "sim/cluster.h"

namespace millrace {

// Now and then somebody sets a clock, by seconds or by a quarter of an hour. In the end all are right.
void SimCluster::clock_turn(Time until) {
  if (auto harm = harm_of_clocks()) complain(*std::move(harm));
  const auto any_jump = [this] {
    const auto most = world_.random.chance(1, 2) ? 100'000'000u : 900'000'000u;
    const auto by = static_cast<std::int64_t>(world_.random.below(most));
    return Duration{world_.random.chance(1, 2) ? by : -by};
  };
  if (world_.now() >= until) {
    clock_off_ = {};
    for (auto& node : nodes_) node->set_clock({});
    return;
  }
  SimNode& node = *nodes_[world_.random.below(nodes_.size())];
  switch (world_.random.below(6)) {
    case 0:
      clock_off_ = any_jump();
      break;
    case 1:
      clock_off_ = {};
      break;
    case 2:
      node.set_clock(any_jump());
      break;
    case 3:
      if (faults_on_) node.lose_spool();
      break;
    default:
      node.set_clock({});
      break;
  }
  world_.at(world_.now() + Duration{static_cast<std::int64_t>(1 + world_.random.below(3'000'000))},
            [this, until] { clock_turn(until); });
}

// Where nothing else goes wrong, setting clocks ends no job and loses no node.
std::optional<std::string> SimCluster::harm_of_clocks() const {
  if (shape_.faults || !serves()) return std::nullopt;
  const State& state = controlling_->controller->durable();
  for (const auto& [index, node] : state.nodes)
    if (node->condition == NodeCondition::down) return "node " + node->def->name + " was lost because a clock was set";
  for (const auto& [key, job] : state.jobs)
    if (job->outcome == Outcome::timeout)
      return "job " + std::to_string(job->id.value) + " came to its time limit because a clock was set";
  return std::nullopt;
}

bool SimCluster::saw_reboot() const {
  return std::ranges::any_of(nodes_, [](const auto& node) { return node->reboots() > 0; });
}

std::size_t SimCluster::programs_failed() const {
  std::size_t count = 0;
  for (const auto& node : nodes_)
    count +=
        static_cast<std::size_t>(std::ranges::count(node->programs(), ProgramFate::failed, &ProgramRunRecord::fate));
  return count;
}

}  // namespace millrace
