// src/step/step_manager/step_allocator.cpp - see step_allocator.h.
#include "step/step_manager/step_allocator.h"

#include <algorithm>
#include <numeric>

#include "agent.pb.h"
#include "base/hostlist.h"
#include "base/index_set.h"
#include "core/model/layout.h"
#include "core/model/request_limits.h"
#include "core/model/step.h"

namespace millrace {

StepAllocator::StepAllocator(const wire::LaunchPlan& allocation, std::uint32_t first_id)
    : nodes_(expand_hostlist(allocation.nodes()).value_or(std::vector<std::string>{allocation.node_name()})),
      cpus_(allocation.cpus_per_node().begin(), allocation.cpus_per_node().end()),
      next_id_(first_id) {
  cpus_.resize(nodes_.size(), 1);
  belongings_ = belongings_of(allocation, cpus_);
  defaults_ = defaults_of(allocation);
}

std::vector<std::uint32_t> StepAllocator::free_cpus(std::uint32_t node) const {
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

NodeStock StepAllocator::free_stock(std::uint32_t node) const {
  NodeStock stock = whole_stock(belongings_[node]);
  for (const auto& [id, step] : running_)
    if (!step.overlap && step.nodes.contains(node))
      for (const StepShare& share : step.shares)
        if (share.node == node) put_aside(stock, share.taking);
  return stock;
}

// The nodes it may use, in the order in which they are tried.
Result<std::vector<std::uint32_t>> StepAllocator::candidates(const wire::CreateStep& ask) const {
  const auto position = [&](const std::string& name) -> Result<std::uint32_t> {
    const auto it = std::ranges::find(nodes_, name);
    if (it == nodes_.end()) return fail(Errc::invalid, "node " + name + " is not in this job");
    const auto at = static_cast<std::uint32_t>(it - nodes_.begin());
    if (lost_.contains(at))
      return fail(Errc::invalid, "node " + name + " has failed or was given up, and is not in this job any more");
    return at;
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
    if (std::ranges::find(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(required), at) ==
        out.begin() + static_cast<std::ptrdiff_t>(required))
      out.push_back(at);
  if (ask.has_first_node()) {
    if (ask.first_node() >= nodes_.size())
      return fail(Errc::invalid, "--relative=" + std::to_string(ask.first_node()) + ": the job has " +
                                     std::to_string(nodes_.size()) + " nodes, counted from 0");
    std::rotate(out.begin(), std::ranges::find(out, ask.first_node()), out.end());
  }
  std::erase_if(out, [&](std::uint32_t at) { return lost_.contains(at); });
  if (!ask.step().excluded_nodes().empty()) {
    MR_TRY(const std::vector<std::string> names, expand_hostlist(ask.step().excluded_nodes()));
    std::erase_if(out, [&](std::uint32_t at) { return std::ranges::find(names, nodes_[at]) != names.end(); });
  }
  return out;
}

// Tasks a node can take: now, once all others have ended, and if memory or devices were no matter.
struct StepAllocator::Room {
  std::uint32_t node = 0, now = 0, ever = 0, with_any_memory = 0, with_any_device = 0;
  std::vector<std::uint32_t> cpus{};
  std::vector<std::int64_t> of_step_now{}, of_step_ever{};  // devices for the whole step, by ask
};

// `in_the_end`: not only now, which is all that matters to most steps.
StepAllocator::Room StepAllocator::room_on(std::uint32_t node, const StepNeeds& needs, bool in_the_end) const {
  const NodeBelongings& has = belongings_[node];
  Room room{.node = node};
  std::vector<std::uint32_t> all(cpus_[node]);
  std::iota(all.begin(), all.end(), 0u);
  const bool whole = !needs.exact && !needs.overlap;
  room.cpus = needs.overlap ? all : free_cpus(node);
  if (whole && room.cpus.size() < cpus_[node]) room.cpus.clear();
  room.cpus = some_threads(has, room.cpus, needs.threads_per_core);
  all = some_threads(has, all, needs.threads_per_core);
  const NodeStock everything = whole_stock(has), left = needs.overlap ? everything : free_stock(node);
  const auto limit = [&](std::size_t cpus) {
    auto tasks = static_cast<std::uint32_t>(cpus / needs.cpus_per_task);
    // Tasks beyond the CPUs are the user's wish where none says how many CPUs each needs.
    if (needs.may_crowd && cpus > 0) tasks = std::max(tasks, needs.tasks);
    return needs.tasks_per_node > 0 ? std::min(tasks, needs.tasks_per_node) : tasks;
  };
  room.now = tasks_for(has, left, needs, limit(room.cpus.size()), room.cpus);
  if (in_the_end) {
    room.with_any_device = limit(all.size());
    room.with_any_memory = tasks_for(has, everything, needs, room.with_any_device, all, true);
    room.ever = tasks_for(has, everything, needs, room.with_any_device, all);
  }
  bool any_now = false, any_ever = false, asked = false;
  for (const GresAsk& ask : needs.gres) {
    const bool counts = ask.scope == GresScope::job;
    room.of_step_now.push_back(counts ? count_of(has, left, ask) : 0);
    room.of_step_ever.push_back(counts ? count_of(has, everything, ask) : 0);
    any_now = any_now || room.of_step_now.back() > 0;
    any_ever = any_ever || room.of_step_ever.back() > 0;
    asked = asked || counts;
  }
  if (asked && !any_now) room.now = 0;
  if (asked && !any_ever) room.ever = room.with_any_memory = 0;
  return room;
}

// Which memory and devices exactly; those that are asked for the whole step come from all its nodes, at least one from
// each.
Result<void> StepAllocator::fill(std::vector<StepShare>& shares, const StepNeeds& needs) const {
  std::vector<std::vector<std::int64_t>> parts(shares.size(), std::vector<std::int64_t>(needs.gres.size()));
  for (std::size_t ask = 0; ask < needs.gres.size(); ++ask) {
    if (needs.gres[ask].scope != GresScope::job) continue;
    std::int64_t left = needs.gres[ask].count;
    for (const bool first_round : {true, false})
      for (std::size_t i = 0; i < shares.size(); ++i) {
        const std::uint32_t node = shares[i].node;
        const NodeStock stock = needs.overlap ? whole_stock(belongings_[node]) : free_stock(node);
        const std::int64_t more = std::min({left, count_of(belongings_[node], stock, needs.gres[ask]) - parts[i][ask],
                                            first_round ? std::int64_t{1} : left});
        parts[i][ask] += std::max<std::int64_t>(more, 0);
        left -= std::max<std::int64_t>(more, 0);
      }
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    StepShare& share = shares[i];
    const NodeBelongings& has = belongings_[share.node];
    auto taken = take_from(has, needs.overlap ? whole_stock(has) : free_stock(share.node), needs, share.tasks,
                           share.cpus, parts[i]);
    if (!taken)
      return running_.empty() || needs.overlap ? Result<void>{std::unexpected(no_devices(needs, belongings_))}
                                               : fail(Errc::unavailable, "Requested nodes are busy");
    share.taking = *std::move(taken);
    if (needs.exact) share.cpus.resize(std::min<std::size_t>(share.cpus.size(), std::max(share.taking.cpus, 1u)));
  }
  return {};
}

// Of a list of sizes the largest that the job has nodes for, and the step tasks.
static Result<std::uint32_t> largest_count(const wire::JobDescription& step, std::uint32_t tasks, std::uint32_t there) {
  const auto counts = parse_index_set(step.resources().node_counts(), node_counts_max);
  if (!counts) return fail(Errc::invalid, "Node count specification invalid");
  std::uint32_t largest = 0;
  counts->for_each([&](std::uint32_t count) {
    if (count <= there && (tasks == 0 || count <= tasks)) largest = count;
  });
  if (largest == 0)
    return fail(Errc::invalid,
                "Only allocated " + std::to_string(there) + " nodes asked for " + step.resources().node_counts());
  return largest;
}

static Result<void> check_task_count(std::uint64_t tasks) {
  if (tasks <= tasks_max) return {};
  return fail(Errc::invalid, "invalid number of tasks: " + std::to_string(tasks) + " (expected at most " +
                                 std::to_string(tasks_max) + ")");
}

Result<StepPlacement> StepAllocator::find_room(const wire::CreateStep& ask) const {
  const wire::JobDescription& step = ask.step();
  MR_TRY(const StepNeeds needs, needs_of(ask, defaults_));
  MR_TRY_VOID(check_task_count(std::max(needs.tasks, needs.tasks_per_node)));
  MR_TRY(std::vector<std::uint32_t> order, candidates(ask));
  if (!step.resources().features().empty()) {
    std::erase_if(order, [&](std::uint32_t at) { return !needs.features.admits(belongings_[at].features); });
    if (order.empty()) return fail(Errc::invalid, "no node of the job has --constraint=" + step.resources().features());
  }
  StepPlacement out;
  const auto named = expand_hostlist(step.required_nodes());
  std::uint32_t least = step.min_nodes(), most = step.max_nodes();
  if (!step.resources().node_counts().empty()) {
    MR_TRY(least, largest_count(step, needs.tasks, static_cast<std::uint32_t>(order.size())));
    most = least;
  }
  if (least == 0 && most == 0 && !step.required_nodes().empty()) least = static_cast<std::uint32_t>(named->size());
  if (least == 0 && most == 0) {
    most = static_cast<std::uint32_t>(order.size());
    least = needs.tasks == 0 ? most : 0;
    for (const GresAsk& each : needs.gres)  // fewer devices than nodes: no more nodes than devices
      if (each.scope == GresScope::job)
        most = std::min<std::uint32_t>(most, static_cast<std::uint32_t>(std::max<std::int64_t>(each.count, 1)));
    least = std::min(least, most);
  }
  if (most == 0) most = std::max(least, 1u);
  std::uint32_t tasks = needs.tasks;
  if (tasks != 0 && tasks < least) {
    out.notes.push_back("Warning: can't run " + std::to_string(tasks) + " processes on " + std::to_string(least) +
                        " nodes, setting nnodes to " + std::to_string(tasks));
    least = most = tasks;
  }
  if (tasks != 0) most = std::min(most, tasks);
  if (tasks == 0 && needs.tasks_per_node > 0 && least < most && step.min_nodes() == 0) least = most;
  if (std::max(least, 1u) > order.size())
    return fail(Errc::invalid, "Only allocated " + std::to_string(order.size()) + " nodes asked for " +
                                   std::to_string(std::max(least, 1u)));

  std::vector<Room> rooms;
  for (const std::uint32_t node : order) rooms.push_back(room_on(node, needs, false));
  const std::size_t fixed = ask.has_first_node()            ? 1
                            : step.required_nodes().empty() ? 0
                                                            : named->size();  // the first of them are a must
  const auto choose = [&](std::uint32_t Room::* space, const std::vector<std::int64_t> Room::* of_step) {
    std::vector<const Room*> chosen;
    std::uint32_t sum = 0;
    std::vector<std::int64_t> devices(needs.gres.size());
    const auto has_devices = [&] {
      for (std::size_t i = 0; i < devices.size(); ++i)
        if (of_step && needs.gres[i].scope == GresScope::job && devices[i] < needs.gres[i].count) return false;
      return true;
    };
    for (std::size_t i = 0; i < std::min<std::size_t>({fixed, rooms.size(), most}); ++i)
      if (rooms[i].*space == 0) return chosen;
    for (const Room& room : rooms) {
      if (chosen.size() >= most) break;
      if (chosen.size() >= std::max(least, 1u) && (tasks == 0 || sum >= tasks) && has_devices()) break;
      if (room.*space == 0) continue;
      chosen.push_back(&room);
      sum += room.*space;
      for (std::size_t i = 0; of_step && i < devices.size(); ++i) devices[i] += (room.*of_step)[i];
    }
    const bool enough = chosen.size() >= std::max(least, 1u) && (tasks == 0 || sum >= tasks) && has_devices();
    if (!enough) chosen.clear();
    return chosen;
  };
  const std::vector<const Room*> chosen = choose(&Room::now, &Room::of_step_now);
  if (chosen.empty()) {
    for (Room& room : rooms) room = room_on(room.node, needs, true);
    if (choose(&Room::ever, &Room::of_step_ever).empty()) {
      if (!choose(&Room::with_any_memory, &Room::of_step_ever).empty()) return std::unexpected(no_memory());
      if (!choose(&Room::with_any_device, nullptr).empty() && (!needs.gres.empty() || needs.tasks_per_gpu > 0))
        return std::unexpected(no_devices(needs, belongings_));
      return fail(Errc::invalid, tasks > 0 ? "More processors requested than permitted"
                                           : "Requested node configuration is not available");
    }
    return fail(Errc::unavailable, "Requested nodes are busy");
  }
  std::vector<std::uint32_t> capacities;
  for (const Room* room : chosen) capacities.push_back(room->now);
  if (tasks == 0) {
    const std::uint32_t each = std::max(needs.tasks_per_node, 1u);
    MR_TRY_VOID(check_task_count(std::uint64_t{each} * chosen.size()));
    tasks = each * static_cast<std::uint32_t>(chosen.size());
  }
  MR_TRY(const Distribution distribution,
         parse_distribution(step.resources().distribution().empty() ? "block" : step.resources().distribution()));
  // Of nodes that take any number of tasks the first must not take nearly all.
  const bool even = step.extras().overcommit() && distribution.order == NodeOrderOfTasks::block;
  std::vector<std::uint32_t> counts;
  if (distribution.order == NodeOrderOfTasks::arbitrary && !step.resources().task_nodes().empty()) {
    MR_TRY(const std::vector<std::string> listed, expand_hostlist(step.resources().task_nodes()));
    std::vector<std::string> names;
    for (const Room* room : chosen) names.push_back(nodes_[room->node]);
    const auto ranks = ranks_by_list(listed, names);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i].size() > capacities[i]) return fail(Errc::invalid, "More processors requested than permitted");
      counts.push_back(static_cast<std::uint32_t>(ranks[i].size()));
    }
  } else {
    counts = lay_out(even ? Distribution{.order = NodeOrderOfTasks::cyclic} : distribution, tasks, capacities);
  }
  if (counts.empty()) return fail(Errc::invalid, "Task count specification invalid");
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (counts[i] == 0) continue;
    out.shares.push_back({.node = chosen[i]->node, .cpus = chosen[i]->cpus, .tasks = counts[i]});
  }
  std::ranges::sort(out.shares, {}, &StepShare::node);
  MR_TRY_VOID(fill(out.shares, needs));
  out.tasks = tasks;
  return out;
}

std::uint32_t StepAllocator::start(const StepPlacement& placement, bool overlap, std::uint32_t least_id) {
  if (least_id < steps_of_attempt_max) next_id_ = std::max(next_id_, least_id);
  occupy(next_id_, placement, overlap);
  return next_id_++;
}

std::uint32_t StepAllocator::start_shell(const StepPlacement& placement) {
  had_shell_ = true;
  occupy(interactive_step, placement, true);
  return interactive_step;
}

void StepAllocator::occupy(std::uint32_t id, const StepPlacement& placement, bool overlap) {
  Running& step = running_[id];
  step.shares = placement.shares;
  step.overlap = overlap;
  for (const StepShare& share : placement.shares) step.nodes.insert(share.node);
}

bool StepAllocator::node_ended(std::uint32_t id, const std::string& node) {
  const auto found = running_.find(id);
  if (found == running_.end()) return false;
  const auto at = std::ranges::find(nodes_, node);
  if (at != nodes_.end()) found->second.nodes.erase(static_cast<std::uint32_t>(at - nodes_.begin()));
  if (!found->second.nodes.empty()) return false;
  running_.erase(found);
  return true;
}

bool StepAllocator::lose(const std::string& node) {
  const auto at = std::ranges::find(nodes_, node);
  return at != nodes_.end() && lost_.insert(static_cast<std::uint32_t>(at - nodes_.begin())).second;
}

std::vector<std::vector<std::uint32_t>> StepAllocator::ranks_of(const std::vector<StepShare>& shares,
                                                                const wire::ResourceWishes& wishes) const {
  const Distribution distribution =
      parse_distribution(wishes.distribution().empty() ? "block" : wishes.distribution()).value_or(Distribution{});
  std::vector<std::uint32_t> counts;
  std::vector<std::string> names;
  for (const StepShare& share : shares) {
    counts.push_back(share.tasks);
    names.push_back(nodes_[share.node]);
  }
  if (distribution.order == NodeOrderOfTasks::arbitrary)
    if (const auto listed = expand_hostlist(wishes.task_nodes()))
      if (auto ranks = ranks_by_list(*listed, names);
          !ranks.empty() && std::ranges::equal(ranks, counts, {}, &std::vector<std::uint32_t>::size))
        return ranks;
  return ranks_by_node(distribution, counts);
}

std::vector<std::uint32_t> StepAllocator::tasks_on(std::uint32_t id, const std::string& node,
                                                   const wire::ResourceWishes& wishes) const {
  const auto found = running_.find(id);
  if (found == running_.end()) return {};
  const auto ranks = ranks_of(found->second.shares, wishes);
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (nodes_[found->second.shares[i].node] == node) return ranks[i];
  return {};
}

std::vector<std::uint32_t> StepAllocator::running_on(const std::string& node) const {
  std::vector<std::uint32_t> out;
  const auto at = std::ranges::find(nodes_, node);
  for (const auto& [id, step] : running_)
    if (at != nodes_.end() && step.nodes.contains(static_cast<std::uint32_t>(at - nodes_.begin()))) out.push_back(id);
  return out;
}

std::vector<std::string> StepAllocator::nodes_of(std::uint32_t id) const {
  std::vector<std::string> out;
  if (const auto found = running_.find(id); found != running_.end())
    for (const std::uint32_t node : found->second.nodes) out.push_back(nodes_[node]);
  return out;
}

}  // namespace millrace
