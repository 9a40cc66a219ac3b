// src/step/step_keeper.cpp - see step_keeper.h.
#include "step/step_keeper.h"

#include <algorithm>
#include <numeric>

#include "base/hostlist.h"
#include "core/model/layout.h"
#include "core/model/step.h"
#include "millrace.pb.h"

namespace millrace {

StepKeeper::StepKeeper(const wire::LaunchPlan& allocation, std::uint32_t first_id)
    : nodes_(expand_hostlist(allocation.nodes()).value_or(std::vector<std::string>{allocation.node_name()})),
      cpus_(allocation.cpus_per_node().begin(), allocation.cpus_per_node().end()),
      next_id_(first_id) {
  cpus_.resize(nodes_.size(), 1);
}

std::vector<std::uint32_t> StepKeeper::free_cpus(std::uint32_t node) const {
  std::vector<char> taken(cpus_[node], 0);
  for (const auto& [id, step] : running_) {
    if (step.overlap || !step.nodes.contains(node)) continue;
    for (const StepShare& share : step.shares)
      if (share.node == node)
        for (const std::uint32_t cpu : share.cpus) taken[cpu] = 1;
  }
  std::vector<std::uint32_t> free;
  for (std::uint32_t cpu = 0; cpu < taken.size(); ++cpu)
    if (!taken[cpu]) free.push_back(cpu);
  return free;
}

// The nodes it may use, in the order in which they are tried.
Result<std::vector<std::uint32_t>> StepKeeper::candidates(const wire::CreateStep& ask) const {
  const auto position = [&](const std::string& name) -> Result<std::uint32_t> {
    const auto it = std::ranges::find(nodes_, name);
    if (it == nodes_.end()) return fail(Errc::invalid, "node " + name + " is not in this job");
    return static_cast<std::uint32_t>(it - nodes_.begin());
  };
  std::vector<std::uint32_t> out;
  if (!ask.step().required_nodes().empty()) {
    MR_TRY(const std::vector<std::string> names, expand_hostlist(ask.step().required_nodes()));
    for (const std::string& name : names) {
      MR_TRY(const std::uint32_t at, position(name));
      if (std::ranges::find(out, at) == out.end()) out.push_back(at);
    }
    std::ranges::sort(out);
  }
  const std::size_t required = out.size();
  for (std::uint32_t at = 0; at < nodes_.size(); ++at)
    if (std::ranges::find(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(required), at) == out.begin() + static_cast<std::ptrdiff_t>(required)) out.push_back(at);
  if (ask.has_first_node()) {
    if (ask.first_node() >= nodes_.size())
      return fail(Errc::invalid, "--relative=" + std::to_string(ask.first_node()) + ": the job has " + std::to_string(nodes_.size()) + " nodes, counted from 0");
    std::rotate(out.begin(), std::ranges::find(out, ask.first_node()), out.end());
  }
  if (!ask.step().excluded_nodes().empty()) {
    MR_TRY(const std::vector<std::string> names, expand_hostlist(ask.step().excluded_nodes()));
    std::erase_if(out, [&](std::uint32_t at) { return std::ranges::find(names, nodes_[at]) != names.end(); });
  }
  return out;
}

Result<StepPlacement> StepKeeper::find_room(const wire::CreateStep& ask) const {
  const wire::JobDescription& step = ask.step();
  MR_TRY(const std::vector<std::uint32_t> order, candidates(ask));
  StepPlacement out;
  const std::uint32_t per_task = std::max(step.cpus_per_task(), 1u);
  const auto named = expand_hostlist(step.required_nodes());
  std::uint32_t least = step.min_nodes(), most = step.max_nodes();
  if (least == 0 && most == 0 && !step.required_nodes().empty()) least = static_cast<std::uint32_t>(named->size());
  if (least == 0 && most == 0) {
    most = static_cast<std::uint32_t>(order.size());
    least = step.tasks() == 0 ? most : 0;
  }
  if (most == 0) most = std::max(least, 1u);
  std::uint32_t tasks = step.tasks();
  if (tasks != 0 && tasks < least) {
    out.notes.push_back("Warning: can't run " + std::to_string(tasks) + " processes on " + std::to_string(least) + " nodes, setting nnodes to " + std::to_string(tasks));
    least = most = tasks;
  }
  if (tasks != 0) most = std::min(most, tasks);
  if (tasks == 0 && step.tasks_per_node() > 0 && least < most && step.min_nodes() == 0) least = most;
  if (std::max(least, 1u) > order.size()) return fail(Errc::invalid, "Requested node configuration is not available");

  const bool whole = !ask.exact() && !ask.overlap();
  struct Room {
    std::uint32_t node = 0, now = 0, ever = 0;  // tasks it can take
    std::vector<std::uint32_t> cpus;
  };
  std::vector<Room> rooms;
  for (const std::uint32_t node : order) {
    Room room{node, 0, cpus_[node] / per_task, {}};
    room.cpus = free_cpus(node);
    if (ask.overlap() || (whole && room.cpus.size() < cpus_[node])) {
      const bool free = ask.overlap();
      room.cpus.clear();
      if (free) {
        room.cpus.resize(cpus_[node]);
        std::iota(room.cpus.begin(), room.cpus.end(), 0u);
      }
    }
    room.now = static_cast<std::uint32_t>(room.cpus.size()) / per_task;
    // Tasks beyond the CPUs are the user's wish where none says how many CPUs each needs.
    const bool may_crowd = step.cpus_per_task() == 0 && ask.overlap();
    if (may_crowd && !room.cpus.empty()) room.now = room.ever = std::max(room.now, tasks);
    if (step.tasks_per_node() > 0) {
      room.now = std::min(room.now, step.tasks_per_node());
      room.ever = std::min(room.ever, step.tasks_per_node());
    }
    rooms.push_back(std::move(room));
  }
  const std::size_t fixed = ask.has_first_node() ? 1 : step.required_nodes().empty() ? 0 : named->size();  // the first of them are a must
  const auto choose = [&](std::uint32_t Room::*space) {
    std::vector<const Room*> chosen;
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>({fixed, rooms.size(), most}); ++i)
      if (rooms[i].*space == 0) return chosen;
    for (const Room& room : rooms) {
      if (chosen.size() >= most) break;
      if (chosen.size() >= std::max(least, 1u) && (tasks == 0 || sum >= tasks)) break;
      if (room.*space == 0) continue;
      chosen.push_back(&room);
      sum += room.*space;
    }
    const bool enough = chosen.size() >= std::max(least, 1u) && (tasks == 0 || sum >= tasks);
    if (!enough) chosen.clear();
    return chosen;
  };
  const std::vector<const Room*> chosen = choose(&Room::now);
  if (chosen.empty()) {
    if (choose(&Room::ever).empty())
      return fail(Errc::invalid, tasks > 0 ? "More processors requested than permitted" : "Requested node configuration is not available");
    return fail(Errc::unavailable, "Requested nodes are busy");
  }
  std::vector<std::uint32_t> capacities;
  for (const Room* room : chosen) capacities.push_back(room->now);
  if (tasks == 0) {
    const std::uint32_t each = std::max(step.tasks_per_node(), 1u);
    tasks = each * static_cast<std::uint32_t>(chosen.size());
  }
  MR_TRY(const Distribution distribution, parse_distribution(step.resources().distribution().empty() ? "block" : step.resources().distribution()));
  const std::vector<std::uint32_t> counts = lay_out(distribution, tasks, capacities);
  if (counts.empty()) return fail(Errc::invalid, "Task count specification invalid");
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (counts[i] == 0) continue;
    StepShare share{chosen[i]->node, chosen[i]->cpus, counts[i]};
    if (ask.exact()) share.cpus.resize(std::min<std::size_t>(share.cpus.size(), std::size_t{counts[i]} * per_task));
    out.shares.push_back(std::move(share));
  }
  std::ranges::sort(out.shares, {}, &StepShare::node);
  out.tasks = tasks;
  return out;
}

std::uint32_t StepKeeper::start(const StepPlacement& placement, bool overlap, std::uint32_t least_id) {
  if (least_id < steps_of_attempt_max) next_id_ = std::max(next_id_, least_id);
  Running& step = running_[next_id_];
  step.shares = placement.shares;
  step.overlap = overlap;
  for (const StepShare& share : placement.shares) step.nodes.insert(share.node);
  return next_id_++;
}

bool StepKeeper::node_ended(std::uint32_t id, const std::string& node) {
  const auto found = running_.find(id);
  if (found == running_.end()) return false;
  const auto at = std::ranges::find(nodes_, node);
  if (at != nodes_.end()) found->second.nodes.erase(static_cast<std::uint32_t>(at - nodes_.begin()));
  if (!found->second.nodes.empty()) return false;
  running_.erase(found);
  return true;
}

std::vector<std::string> StepKeeper::nodes_of(std::uint32_t id) const {
  std::vector<std::string> out;
  if (const auto found = running_.find(id); found != running_.end())
    for (const std::uint32_t node : found->second.nodes) out.push_back(nodes_[node]);
  return out;
}

}  // namespace millrace
