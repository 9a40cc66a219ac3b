// src/core/model/node_fit.cpp - see node_fit.h.
#include "core/model/node_fit.h"

#include <algorithm>
#include <bit>

#include "core/model/features.h"
#include "core/model/request_limits.h"
#include "core/model/withheld.h"

namespace millrace {
namespace {

constexpr std::int64_t tasks_of_node_max = 1 << 20;

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return unit <= 1 ? value : (value + unit - 1) / unit * unit;
}

std::int64_t gpus_in(const NodeDef& node, const Amounts& taken) {
  std::int64_t gpus = 0;
  for (std::size_t slot = 0; slot < node.kinds.size() && slot < gres_kinds_max; ++slot)
    if (node.kinds[slot].name == "gpu") gpus += taken.gres[slot];
  return gpus;
}

std::int64_t memory_for(const JobSpec& spec, const NodeDef& node, std::int64_t cpus, std::int64_t gpus) {
  if (spec.resources && spec.resources->memory_per_gpu > 0)
    return bounded_product(spec.resources->memory_per_gpu, gpus);
  if (spec.exclusive && !spec.memory_per_cpu && !spec.memory_per_node) return node.usable_memory().value;
  if (spec.memory_per_cpu) return bounded_product(spec.memory_per_cpu->value, cpus);
  if (spec.memory_per_node && spec.memory_per_node->value > 0) return spec.memory_per_node->value;
  return node.usable_memory().value;  // asked for all of it (--mem=0), or nothing was said and nothing is the default
}

// In whole cores and sockets where the policy gives out no less.
std::int64_t in_units(std::int64_t cpus, const NodeDef& node, const FitRules& rules) {
  if (!rules.whole_sockets && (!rules.whole_cores || node.threads_per_core <= 1)) return cpus;
  const CpuShape shape = cpu_shape(node);
  const std::int64_t unit = rules.whole_sockets ? shape.per_socket() : shape.threads;
  const std::int64_t rounded = rounded_up(cpus, unit);
  const std::int64_t usable = node.usable_cpus().value;
  return cpus <= usable ? std::min(rounded, usable) : rounded;
}

std::int64_t cpus_for(const JobSpec& spec, const NodeDef& node, std::int64_t tasks, const FitRules& rules) {
  if (spec.exclusive) return node.usable_cpus().value;
  if (spec.overcommits()) tasks = std::min<std::int64_t>(tasks, 1);
  std::int64_t cpus = std::max<std::int64_t>(tasks * spec.cpus_per_task, spec.min_cpus_per_node);
  if (spec.resources && (spec.resources->threads_per_core > 0 || spec.resources->tasks_per_core > 0)) {
    const std::int64_t threads = cpu_shape(node).threads;
    const std::int64_t used = spec.resources->threads_per_core;
    if (used > 0 && used < threads)
      cpus = (cpus + used - 1) / used * threads;  // the other threads of its cores stay empty
    const std::int64_t per_core = spec.resources->tasks_per_core;
    if (per_core > 0) cpus = std::max(cpus, (tasks + per_core - 1) / per_core * threads);
  }
  return in_units(cpus, node, rules);
}

// What an ask comes to on a node that takes so many tasks.
std::int64_t count_for(const GresAsk& ask, const ResourceRequest& request, std::int64_t tasks) {
  switch (ask.scope) {
    case GresScope::node:
      return ask.count;
    case GresScope::task:
      return bounded_product(ask.count, tasks);
    case GresScope::socket:
      return bounded_product(ask.count, std::max(request.sockets_per_node, 1u));
    case GresScope::job:
      return 0;  // shared out over the nodes by choose_nodes
  }
  return 0;
}

bool take_gres(const JobSpec& spec, const NodeDef& node, const Amounts& free, std::int64_t tasks, Amounts& taken) {
  if (spec.resources) {
    // Those of a type first: one without a type takes what they leave.
    for (const bool typed : {true, false})
      for (const GresAsk& ask : spec.resources->gres)
        if (ask.type.empty() != typed && add_gres(ask, count_for(ask, *spec.resources, tasks), node, free, taken) > 0)
          return false;
  }
  if (!spec.exclusive || node.kinds.empty()) return true;
  // A whole node with everything that is on it; of parts of gpus only what was asked, for they are the gpus themselves.
  const bool in_parts = [&] {
    for (std::size_t slot = 0; slot < node.kinds.size() && slot < gres_kinds_max; ++slot)
      if (is_part(node.kinds[slot]) && taken.gres[slot] > 0) return true;
    return false;
  }();
  for (std::size_t slot = 0; slot < node.kinds.size() && slot < gres_kinds_max; ++slot) {
    if (free.gres[slot] < node.kinds[slot].count) return false;
    if (is_part(node.kinds[slot]) || (in_parts && node.kinds[slot].name == "gpu")) continue;
    taken.gres[slot] = node.kinds[slot].count;
  }
  return true;
}

bool fits(const JobSpec& spec, const NodeDef& node, const Amounts& free, std::int64_t tasks, const FitRules& rules) {
  Amounts taken;
  taken.cpus = cpus_for(spec, node, tasks, rules);
  if (taken.cpus > free.cpus) return false;
  if (!take_gres(spec, node, free, tasks, taken)) return false;
  return cover_gpus(spec, node, free, taken, rules);
}

}  // namespace

CpuShape cpu_shape(const NodeDef& node) {
  const CpuShape full{std::max(node.sockets, 1u), std::max(node.cores_per_socket, 1u),
                      std::max(node.threads_per_core, 1u)};
  const auto cpus = static_cast<std::uint64_t>(node.cpus.value);
  const std::uint64_t cores = static_cast<std::uint64_t>(full.sockets) * full.cores;
  if (cpus == cores * full.threads) return full;
  if (cpus == cores) return {full.sockets, full.cores, 1};
  if (cpus == full.sockets) return {full.sockets, 1, 1};
  return {1, static_cast<std::uint32_t>(cpus), 1};  // a line that says nothing of its sockets
}

std::int64_t add_gres(const GresAsk& ask, std::int64_t count, const NodeDef& node, const Amounts& free,
                      Amounts& taken) {
  for (std::size_t slot = 0; slot < node.kinds.size() && slot < gres_kinds_max && count > 0; ++slot) {
    const NodeGres& kind = node.kinds[slot];
    if (kind.name != ask.name || (!ask.type.empty() && kind.type != ask.type)) continue;
    std::int64_t most = count;
    if (is_part(kind))
      most = std::min(most, std::ranges::max(kind.parts) - taken.gres[slot]);  // all parts of a job on one gpu
    const std::int64_t here = std::max<std::int64_t>(std::min(free.gres[slot] - taken.gres[slot], most), 0);
    taken.gres[slot] += here;
    count -= here;
  }
  return count;
}

bool cover_gpus(const JobSpec& spec, const NodeDef& node, const Amounts& free, Amounts& taken, const FitRules& rules) {
  const std::int64_t gpus = spec.resources ? gpus_in(node, taken) : 0;
  if (gpus > 0 && spec.resources->cpus_per_gpu > 0 && !spec.exclusive)
    taken.cpus = std::max(taken.cpus, in_units(bounded_product(gpus, spec.resources->cpus_per_gpu), node, rules));
  if (rules.memory_counts) taken.memory = memory_for(spec, node, taken.cpus, gpus);
  return taken.cpus <= free.cpus && (!rules.memory_counts || taken.memory <= free.memory);
}

// Of a kind: those that are not out of order; of parts: not of such a gpu.
static std::int64_t working(const NodeDef& node, std::size_t slot) {
  const NodeGres& kind = node.kinds[slot];
  if (!is_part(kind)) return kind.count - std::popcount(kind.out_of_order);
  std::int64_t count = kind.count;
  std::size_t first = 0;
  for (const NodeGres& gpu : node.kinds) {
    if (gpu.name != "gpu") continue;
    for (std::uint64_t rest = gpu.out_of_order; rest != 0; rest &= rest - 1)
      if (const std::size_t at = first + static_cast<std::size_t>(std::countr_zero(rest)); at < kind.parts.size())
        count -= kind.parts[at];
    first += static_cast<std::size_t>(gpu.count);
  }
  return count;
}

Amounts all_of(const NodeDef& node, std::uint32_t most) {
  Amounts all{std::min<std::int64_t>(node.usable_cpus().value, most), node.usable_memory().value, {}};
  for (std::size_t slot = 0; slot < node.kinds.size() && slot < gres_kinds_max; ++slot)
    all.gres[slot] = node.kinds[slot].count;
  return all;
}

Amounts working_of(const NodeDef& node) {
  Amounts all = all_of(node);
  for (std::size_t slot = 0; slot < node.kinds.size() && slot < gres_kinds_max; ++slot)
    all.gres[slot] = working(node, slot);
  return all;
}

NodeFilter::NodeFilter(const JobSpec& spec, Features which) : which_(which) {
  if (!spec.resources) return;
  ask_ = &*spec.resources;
  if (ask_->features.empty()) return;
  if (auto wanted = parse_features(ask_->features)) wanted_ = *std::move(wanted);
}

bool NodeFilter::admits(const NodeDef& node) {
  if (!ask_) return true;
  if (node.sockets < ask_->sockets_per_node || node.cores_per_socket < ask_->cores_per_socket ||
      node.threads_per_core < ask_->threads_per_core || node.tmp_disk.value < ask_->tmp_disk)
    return false;
  if (ask_->features.empty()) return true;
  if (!wanted_) return false;
  const bool active = which_ == Features::active && node.active_features;
  const std::string& list = active ? *node.active_features : node.features;
  const auto [seen, fresh] = seen_.try_emplace(list);
  if (fresh) seen->second = wanted_->admits(feature_names(list));
  return seen->second;
}

bool suits(const JobSpec& spec, const NodeDef& node) { return NodeFilter(spec).admits(node); }

std::uint32_t task_capacity(const JobSpec& spec, const NodeDef& node, const Amounts& free, const FitRules& rules) {
  const std::int64_t whole = spec.exclusive ? node.usable_cpus().value : 0;
  if (spec.exclusive && (free.cpus < whole || (rules.memory_counts && free.memory < node.usable_memory().value)))
    return 0;
  // It is charged for the whole node, whatever it leaves to the system.
  const std::int64_t seen =
      spec.extra_request().core_spec ? count_bits(cpus_but_spared(node, spec.extra_request())) : whole;
  std::int64_t tasks =
      std::clamp<std::int64_t>((spec.exclusive ? seen : free.cpus) / spec.cpus_per_task, 0, tasks_of_node_max);
  const bool many = spec.overcommits();  // one that has CPUs for a task takes them all
  if (many && tasks > 0) tasks = tasks_of_node_max;
  if (spec.tasks_per_node > 0) tasks = std::min<std::int64_t>(tasks, spec.tasks_per_node);
  tasks = std::min<std::int64_t>(tasks, spec.tasks);
  if (spec.resources && (spec.resources->tasks_per_socket > 0 || spec.exclusive)) {
    const CpuShape shape = cpu_shape(node);
    const ResourceRequest& ask = *spec.resources;
    if (ask.tasks_per_socket > 0)
      tasks = std::min<std::int64_t>(tasks, static_cast<std::int64_t>(ask.tasks_per_socket) * shape.sockets);
    // A whole node has all its threads, but the job may use only some of each core.
    if (spec.exclusive && !many && ask.threads_per_core > 0 && ask.threads_per_core < shape.threads)
      tasks = std::min<std::int64_t>(tasks, seen / shape.threads * ask.threads_per_core / spec.cpus_per_task);
    if (spec.exclusive && ask.tasks_per_core > 0)
      tasks = std::min<std::int64_t>(tasks, seen / shape.threads * ask.tasks_per_core);
  }
  if (tasks <= 0) return 0;
  if (rules.memory_counts && spec.memory_per_cpu && spec.memory_per_cpu->value > 0 && !spec.exclusive) {
    const std::int64_t of_task = bounded_product(spec.memory_per_cpu->value, spec.cpus_per_task);
    tasks = std::min<std::int64_t>(tasks, free.memory / of_task * (many ? tasks_of_node_max : 1));
  }
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

Amounts amounts_for(const JobSpec& spec, const NodeDef& node, const Amounts& free, std::uint32_t tasks,
                    const FitRules& rules) {
  Amounts taken;
  taken.cpus = cpus_for(spec, node, tasks, rules);
  take_gres(spec, node, free, tasks, taken);
  cover_gpus(spec, node, free, taken, rules);
  return taken;
}

}  // namespace millrace
