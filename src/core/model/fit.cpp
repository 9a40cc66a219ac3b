// src/core/model/fit.cpp - see fit.h.
#include "core/model/fit.h"

#include <algorithm>

namespace millrace {
namespace {

Mebibytes memory_for(const JobSpec& spec, const Candidate& node, Cpus cpus) {
  if (spec.exclusive && !spec.memory_per_cpu && !spec.memory_per_node) return node.all_memory;
  if (spec.memory_per_cpu) return *spec.memory_per_cpu * cpus.value;
  if (spec.memory_per_node && spec.memory_per_node->value > 0) return *spec.memory_per_node;
  return node.all_memory;  // asked for all of it (--mem=0), or nothing was said and nothing is the default
}

Cpus cpus_for(const JobSpec& spec, const Candidate& node, std::uint32_t tasks) {
  if (spec.exclusive) return node.all_cpus;
  return Cpus{std::max<std::int64_t>(static_cast<std::int64_t>(tasks) * spec.cpus_per_task, spec.min_cpus_per_node)};
}

bool fits(const JobSpec& spec, const Candidate& node, std::uint32_t tasks, bool memory_counts) {
  const Cpus cpus = cpus_for(spec, node, tasks);
  if (cpus > node.free_cpus) return false;
  return !memory_counts || memory_for(spec, node, cpus) <= node.free_memory;
}

}  // namespace

std::uint32_t task_capacity(const JobSpec& spec, const Candidate& node, bool memory_counts) {
  if (spec.exclusive && (node.free_cpus < node.all_cpus || (memory_counts && node.free_memory < node.all_memory))) return 0;
  const std::int64_t by_cpus = (spec.exclusive ? node.all_cpus : node.free_cpus).value / spec.cpus_per_task;
  auto tasks = static_cast<std::uint32_t>(std::clamp<std::int64_t>(by_cpus, 0, 1 << 20));
  if (spec.tasks_per_node > 0) tasks = std::min(tasks, spec.tasks_per_node);
  tasks = std::min(tasks, spec.tasks);
  if (memory_counts && spec.memory_per_cpu && spec.memory_per_cpu->value > 0 && !spec.exclusive) {
    const std::int64_t by_memory = node.free_memory.value / (spec.memory_per_cpu->value * spec.cpus_per_task);
    tasks = static_cast<std::uint32_t>(std::min<std::int64_t>(tasks, by_memory));
  }
  return tasks > 0 && fits(spec, node, tasks, memory_counts) ? tasks : 0;
}

std::optional<std::vector<NodeShare>> choose_nodes(const JobSpec& spec, std::span<const Candidate> candidates,
                                                   std::size_t required, bool memory_counts) {
  struct Usable {
    std::size_t at;
    std::uint32_t capacity;
  };
  std::vector<Usable> usable;
  const std::uint32_t max_nodes = spec.max_nodes > 0 ? spec.max_nodes : unlimited;
  const std::uint32_t min_nodes = std::max<std::uint32_t>(spec.min_nodes, 1);
  const std::uint32_t wanted = std::max(spec.tasks, min_nodes);
  std::uint64_t total = 0;
  const auto enough = [&] { return usable.size() >= min_nodes && total >= wanted; };
  for (std::size_t i = 0; i < candidates.size() && (i < required || !enough()); ++i) {
    const std::uint32_t capacity = task_capacity(spec, candidates[i], memory_counts);
    if (capacity == 0 && i < required) return std::nullopt;
    if (capacity == 0) continue;
    usable.push_back({i, capacity});
    total += capacity;
    if (usable.size() > max_nodes) {  // too many small ones: keep the largest, and of equals the first
      const auto least = std::ranges::min_element(
          usable.begin() + static_cast<std::ptrdiff_t>(std::min(required, usable.size() - 1)), usable.end(), [](const Usable& a, const Usable& b) { return std::pair{a.capacity, b.at} < std::pair{b.capacity, a.at}; });
      total -= least->capacity;
      usable.erase(least);
    }
  }
  if (!enough()) return std::nullopt;
  std::vector<NodeShare> shares;
  std::uint32_t left = wanted;
  for (std::size_t i = 0; i < usable.size(); ++i) {
    const Candidate& node = candidates[usable[i].at];
    const auto after = static_cast<std::uint32_t>(usable.size() - i - 1);
    const std::uint32_t tasks = std::min(usable[i].capacity, left - after);
    const Cpus cpus = cpus_for(spec, node, tasks);
    shares.push_back({node.node, cpus, memory_counts ? memory_for(spec, node, cpus) : Mebibytes{0}, tasks, false, {}});
    left -= tasks;
  }
  return left == 0 ? std::optional{std::move(shares)} : std::nullopt;
}

Cpus requested_cpus(const JobSpec& spec) {
  const std::int64_t by_tasks = static_cast<std::int64_t>(spec.tasks) * spec.cpus_per_task;
  const std::int64_t by_nodes =
      static_cast<std::int64_t>(std::max(spec.min_nodes, 1u)) * std::max(spec.min_cpus_per_node, spec.cpus_per_task);
  return Cpus{std::max(by_tasks, by_nodes)};
}

Mebibytes requested_memory(const JobSpec& spec, Mebibytes whole_node) {
  if (spec.memory_per_cpu) return *spec.memory_per_cpu * requested_cpus(spec).value;
  const Mebibytes per_node = spec.memory_per_node && spec.memory_per_node->value > 0 ? *spec.memory_per_node : whole_node;
  return per_node * std::max(spec.min_nodes, 1u);
}

}  // namespace millrace
