// src/core/ledger/cpu_holders.cpp - see cpu_holders.h.
#include "core/ledger/cpu_holders.h"

#include <algorithm>

#include "core/ledger/preempt_rule.h"

namespace millrace {
namespace {

const NodeShare* share_on(const Job& job, NodeIndex index) {
  for (const NodeShare& share : job.placement->shares)
    if (share.node == index && !share.released) return &share;
  return nullptr;
}

// Adds one to each CPU of the set.
void count_each(std::vector<std::uint32_t>& counts, const CpuBits& bits) {
  for (std::size_t i = 0; i < counts.size() && i / 64 < bits.size(); ++i)
    counts[i] += static_cast<std::uint32_t>(bits[i / 64] >> (i % 64) & 1);
}

CpuBits reached(const std::vector<std::uint32_t>& counts, std::uint32_t least) {
  CpuBits out((counts.size() + 63) / 64);
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] >= least) out[i / 64] |= 1ULL << (i % 64);
  while (!out.empty() && out.back() == 0) out.pop_back();
  return out;
}

}  // namespace

std::vector<CpuHolder> cpu_holders(const State& state, NodeIndex index) {
  std::vector<CpuHolder> out;
  const Node& node = state.node(index);
  for (const JobKey key : node.jobs) {
    const Job& job = state.job(key);
    if (!job.holds_cpus() && !job.wants_cpus_back()) continue;
    const NodeShare* share = share_on(job, index);
    if (share)
      out.push_back({&job, cpus_of(*node.def, *share), share->cpus.value, job.spec->partition, job.placement->shared,
                     !job.holds_cpus()});
  }
  return out;
}

std::uint32_t rows_of(const State& state, const Job& job, PartitionIndex where) {
  if (job.het) return 1;  // all its components would have to take turns at once
  const JobSpec& spec = *job.spec;
  const PartitionDef& def = state.partition(where).def;
  const bool shares =
      def.sharing == CpuSharing::forced || (def.sharing == CpuSharing::on_request && spec.oversubscribe);
  return shares && !spec.exclusive ? std::max(def.share_max, 1u) : 1;
}

Standing standing(const State& state, const CpuHolder& holder, const CpuAsker& asker) {
  if (holder.job && std::ranges::find(asker.suspends, holder.job->key) != asker.suspends.end())
    return Standing::gives_way;
  if (holder.suspended && holder.job && gives_way(state, *holder.job, *asker.job, asker.where))
    return Standing::gives_way;
  return asker.row > 1 && holder.shared && holder.partition == asker.where ? Standing::beside : Standing::in_the_way;
}

ClosedCpus closed_cpus(const State& state, const NodeDef& def, std::span<const CpuHolder> holders,
                       const CpuAsker& asker) {
  ClosedCpus out;
  std::vector<std::uint32_t> sharing(asker.row > 1 ? static_cast<std::size_t>(def.cpus.value) : 0);
  for (const CpuHolder& holder : holders) {
    const Standing stands = standing(state, holder, asker);
    if (stands == Standing::beside) count_each(sharing, holder.bits);
    if (stands != Standing::in_the_way) continue;
    add_bits(out.bits, holder.bits);
    if (holder.bits.empty()) out.count += holder.cpus;
  }
  if (asker.row > 1) add_bits(out.bits, reached(sharing, asker.row));
  out.count += count_bits(out.bits);
  return out;
}

bool cpus_are_free(const State& state, const Job& job) {
  for (const NodeShare& share : job.placement->shares) {
    if (share.released) continue;
    const Node& node = state.node(share.node);
    const CpuBits mine = cpus_of(*node.def, share);
    if (!job.placement->shared) {
      if (node.used_cpus + share.cpus > node.def->usable_cpus() || have_common_bits(node.use.cpus, mine)) return false;
      continue;
    }
    std::vector<std::uint32_t> sharing(static_cast<std::size_t>(node.def->cpus.value));
    for (const CpuHolder& holder : cpu_holders(state, share.node)) {
      if (holder.suspended || !have_common_bits(holder.bits, mine)) continue;
      if (state.policy->gang || !holder.shared || holder.partition != job.spec->partition) return false;
      count_each(sharing, holder.bits);
    }
    if (have_common_bits(reached(sharing, std::max(state.partition(job.spec->partition).def.share_max, 1u)), mine))
      return false;
  }
  return true;
}

}  // namespace millrace
