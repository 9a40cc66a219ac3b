// src/core/model/node_fit.cpp - see node_fit.h.
#include "core/model/node_fit.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr std::int64_t tasks_max = 1 << 20;

std::int64_t memory_for(const JobSpec& spec, const NodeDef& node, std::int64_t cpus) {
  if (spec.exclusive && !spec.memory_per_cpu && !spec.memory_per_node) return node.memory.value;
  if (spec.memory_per_cpu) return spec.memory_per_cpu->value * cpus;
  if (spec.memory_per_node && spec.memory_per_node->value > 0) return spec.memory_per_node->value;
  return node.memory.value;  // asked for all of it (--mem=0), or nothing was said and nothing is the default
}

std::int64_t cpus_for(const JobSpec& spec, const NodeDef& node, std::int64_t tasks, const FitRules& rules) {
  if (spec.exclusive) return node.cpus.value;
  std::int64_t cpus = std::max<std::int64_t>(tasks * spec.cpus_per_task, spec.min_cpus_per_node);
  if (rules.whole_cores && node.threads_per_core > 1) {
    const std::int64_t threads = node.threads_per_core;
    cpus = std::min((cpus + threads - 1) / threads * threads, node.cpus.value);
  }
  return cpus;
}

// What an ask comes to on a node that takes so many tasks.
std::int64_t count_for(const GresAsk& ask, const NodeDef& node, std::int64_t tasks) {
  switch (ask.scope) {
    case GresScope::node: return ask.count;
    case GresScope::task: return ask.count * tasks;
    case GresScope::socket: return ask.count * std::max(node.sockets, 1u);
    case GresScope::job: return 0;  // shared out over the nodes by choose_nodes
  }
  return 0;
}

bool take_gres(const JobSpec& spec, const NodeDef& node, const Amounts& free, std::int64_t tasks, Amounts& taken) {
  if (!spec.resources) return true;
  for (const GresAsk& ask : spec.resources->gres)
    if (add_gres(ask, count_for(ask, node, tasks), node, free, taken) > 0) return false;
  return true;
}

bool fits(const JobSpec& spec, const NodeDef& node, const Amounts& free, std::int64_t tasks, const FitRules& rules) {
  Amounts taken;
  taken.cpus = cpus_for(spec, node, tasks, rules);
  if (taken.cpus > free.cpus) return false;
  if (rules.memory_counts && memory_for(spec, node, taken.cpus) > free.memory) return false;
  return take_gres(spec, node, free, tasks, taken);
}

}  // namespace

std::int64_t add_gres(const GresAsk& ask, std::int64_t count, const NodeDef& node, const Amounts& free, Amounts& taken) {
  for (std::size_t slot = 0; slot < node.kinds.size() && count > 0; ++slot) {
    const NodeGres& kind = node.kinds[slot];
    if (kind.name != ask.name || (!ask.type.empty() && kind.type != ask.type)) continue;
    const std::int64_t here = std::clamp<std::int64_t>(free.gres[slot] - taken.gres[slot], 0, count);
    taken.gres[slot] += here;
    count -= here;
  }
  return count;
}

Amounts all_of(const NodeDef& node) {
  Amounts all{node.cpus.value, node.memory.value, {}};
  for (std::size_t slot = 0; slot < node.kinds.size() && slot < gres_kinds_max; ++slot) all.gres[slot] = node.kinds[slot].count;
  return all;
}

bool suits(const JobSpec& spec, const NodeDef& node) {
  const ResourceRequest& ask = spec.resource_request();
  return node.sockets >= ask.sockets_per_node && node.cores_per_socket >= ask.cores_per_socket &&
         node.threads_per_core >= ask.threads_per_core && node.tmp_disk.value >= ask.tmp_disk;
}

std::uint32_t task_capacity(const JobSpec& spec, const NodeDef& node, const Amounts& free, const FitRules& rules) {
  if (spec.exclusive && (free.cpus < node.cpus.value || (rules.memory_counts && free.memory < node.memory.value))) return 0;
  std::int64_t tasks = std::clamp<std::int64_t>((spec.exclusive ? node.cpus.value : free.cpus) / spec.cpus_per_task, 0, tasks_max);
  if (spec.tasks_per_node > 0) tasks = std::min<std::int64_t>(tasks, spec.tasks_per_node);
  tasks = std::min<std::int64_t>(tasks, spec.tasks);
  if (rules.memory_counts && spec.memory_per_cpu && spec.memory_per_cpu->value > 0 && !spec.exclusive)
    tasks = std::min<std::int64_t>(tasks, free.memory / (spec.memory_per_cpu->value * spec.cpus_per_task));
  if (tasks <= 0) return 0;
  if (fits(spec, node, free, tasks, rules)) return static_cast<std::uint32_t>(tasks);
  if (!fits(spec, node, free, 1, rules)) return 0;
  std::int64_t low = 1, high = tasks;  // fits with low, not with high: what a task takes only grows with their number
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(spec, node, free, middle, rules) ? low : high) = middle;
  }
  return static_cast<std::uint32_t>(low);
}

Amounts amounts_for(const JobSpec& spec, const NodeDef& node, const Amounts& free, std::uint32_t tasks, const FitRules& rules) {
  Amounts taken;
  taken.cpus = cpus_for(spec, node, tasks, rules);
  if (rules.memory_counts) taken.memory = memory_for(spec, node, taken.cpus);
  take_gres(spec, node, free, tasks, taken);
  return taken;
}

}  // namespace millrace
