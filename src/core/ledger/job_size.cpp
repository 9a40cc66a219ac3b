// src/core/ledger/job_size.cpp - see job_size.h.
#include "core/ledger/job_size.h"

#include <algorithm>

#include "core/model/fit.h"
#include "core/model/request_limits.h"

namespace millrace {
namespace {

constexpr std::uint32_t year_of_minutes = 365 * 24 * 60;

void add_named(const TresNames& names, Tres& to, const std::string& name, std::int64_t count) {
  if (const auto slot = tres_slot(names, name)) to[*slot] += count;
}

void add_gres(const TresNames& names, Tres& to, const std::string& name, const std::string& type, std::int64_t count) {
  if (count == 0) return;
  add_named(names, to, "gres/" + name, count);
  if (!type.empty()) add_named(names, to, "gres/" + name + ":" + type, count);
}

// Those it holds; before that those it asks for, of which the first stands for any.
void add_licences(const State& state, const Job& job, Tres& to) {
  const ResourceRequest& request = job.spec->resource_request();
  const bool held = job.placement && !job.placement->licences.empty();
  for (const LicenceAsk& ask : held ? job.placement->licences : request.licences) {
    add_named(*state.tres_names, to, "license/" + ask.name, ask.count);
    if (!held && request.any_licence) return;
  }
}

void finish(const State& state, const Job& job, JobSize& size) {
  add_licences(state, job, size.tres);
  const PartitionDef& partition = state.partition(job.spec->partition).def;
  size.tres[tres_billing] = billing_of(state, partition, size.tres);
  size.per_node[tres_node] = 1;
  size.per_node[tres_billing] = billing_of(state, partition, size.per_node);
  size.minutes = job.time_limit_minutes == unlimited ? year_of_minutes : job.time_limit_minutes;
}

}  // namespace

std::int64_t billing_of(const State& state, const PartitionDef& partition, const Tres& tres) {
  if (partition.billing_weights.empty()) return tres[tres_cpu];
  const bool max = (state.policy->priority.flags & priority_max_tres) != 0;
  __int128 on_nodes = 0, elsewhere = 0;
  for (const TresWeight& weight : partition.billing_weights) {
    const auto slot = tres_slot(*state.tres_names, weight.name);
    if (!slot || *slot == tres_billing) continue;
    const __int128 part = static_cast<__int128>(weight.billionths) * tres[*slot] / weight.per;
    if (!max || weight.name.starts_with("license/"))
      elsewhere += part;
    else
      on_nodes = std::max(on_nodes, part);
  }
  return static_cast<std::int64_t>((on_nodes + elsewhere) / 1'000'000'000);
}

JobSize requested_size(const State& state, const Job& job) {
  const JobSpec& spec = *job.spec;
  JobSize size;
  const std::int64_t nodes = std::max(spec.min_nodes, 1u);
  const auto per_node = [&](std::int64_t all) { return (all + nodes - 1) / nodes; };
  size.tres[tres_cpu] = requested_cpus(spec).value;
  const Partition& partition = state.partition(spec.partition);
  const Mebibytes whole =
      partition.nodes.empty() ? Mebibytes{0} : state.node(partition.nodes.front()).def->usable_memory();
  size.tres[tres_memory] = requested_memory(spec, whole).value;
  size.tres[tres_node] = nodes;
  for (const GresAsk& ask : spec.resource_request().gres) {
    const std::int64_t times = ask.scope == GresScope::job ? 1 : ask.scope == GresScope::task ? spec.tasks : nodes;
    add_gres(*state.tres_names, size.tres, ask.name, ask.type, bounded_product(ask.count, times));
  }
  for (std::size_t i = 0; i < tres_max; ++i) size.per_node[i] = per_node(size.tres[i]);
  finish(state, job, size);
  return size;
}

JobSize placed_size(const State& state, const Job& job, std::span<const NodeShare> shares) {
  JobSize size;
  for (const NodeShare& share : shares) {
    if (share.lost) continue;
    Tres here;
    here[tres_cpu] = share.cpus.value;
    here[tres_memory] = share.memory.value;
    here[tres_node] = 1;
    if (share.detail) {
      const std::vector<NodeGres>& kinds = state.node(share.node).def->kinds;
      for (std::size_t i = 0; i < std::min(kinds.size(), gres_kinds_max); ++i)
        add_gres(*state.tres_names, here, kinds[i].name, kinds[i].type, share.detail->gres[i]);
    }
    size.tres += here;
    for (std::size_t i = 0; i < tres_max; ++i) size.per_node[i] = std::max(size.per_node[i], here[i]);
  }
  finish(state, job, size);
  return size;
}

std::uint32_t task_count(const Job& job) {
  if (job.spec->tasks_asked || !job.placement || job.spec->max_nodes <= job.spec->min_nodes) return job.spec->tasks;
  std::uint32_t sum = 0;
  for (const NodeShare& share : job.placement->shares) sum += share.tasks;
  return std::max(sum, job.spec->tasks);
}

}  // namespace millrace
