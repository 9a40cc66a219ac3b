// src/core/ledger/node_laws.cpp - see laws.h: what must hold of each node.
#include <algorithm>
#include <map>

#include "core/ledger/apply_node.h"
#include "core/ledger/laws.h"
#include "core/model/features.h"
#include "core/model/node_use.h"

namespace millrace {
namespace {

// What the jobs of a node hold of it, added up.
struct NodeSum {
  Amounts amounts;
  NodeUse use;
  std::vector<JobKey> jobs;
  std::map<PartitionIndex, CpuBits> shared;  // CPUs of jobs that share them with others of their partition
  std::uint32_t suspended = 0;
  JobKey twice{};  // has a CPU or a device of another job; 0: nobody has

  void add(const Node& node, const Job& job, const NodeShare& share) {
    Amounts held = share.amounts();
    if (!job.holds_cpus() || job.placement->shared) held.cpus = 0;
    amounts += held;
    if (job.holds_cpus() && job.placement->shared) add_bits(shared[job.spec->partition], share.detail->cpus);
    if (job.holds_cpus() && !job.placement->shared && !add_cpus(use, share)) twice = job.key;
    if (!add_devices(use, *node.def, share)) twice = job.key;
    suspended += job.state == JobState::suspended ? 1 : 0;
    jobs.push_back(job.key);
  }
  void finish() {
    for (const auto& [partition, bits] : shared) {
      if (have_common_bits(use.cpus, bits) && twice.value == 0) twice = jobs.back();
      add_bits(use.cpus, bits);
      amounts.cpus += count_bits(bits);
    }
  }
};

Law compare(const Node& node, const NodeSum& sum) {
  const std::string name = "node " + node.def->name;
  if (sum.amounts != Amounts{node.used_cpus.value, node.used_memory.value, node.used_gres} || sum.jobs != node.jobs)
    return broken(name + ": what is used is not what its jobs hold");
  if (sum.suspended != node.suspended) return broken(name + ": the count of suspended jobs is wrong");
  if (sum.twice.value != 0) return broken_job(name + ": a CPU or a device is given to two jobs", sum.twice);
  if (sum.use != node.use) return broken(name + ": the CPUs and devices in use are not those of its jobs");
  return std::nullopt;
}

// Shares mostly lie in the order of their nodes; that of the script may come before the others.
const NodeShare* share_on(const std::vector<NodeShare>& shares, NodeIndex node) {
  const auto near = std::ranges::lower_bound(shares, node, {}, &NodeShare::node);
  if (near != shares.end() && near->node == node) return &*near;
  const auto found = std::ranges::find(shares, node, &NodeShare::node);
  return found == shares.end() ? nullptr : &*found;
}

}  // namespace

Law broken_node(const Node& node, NodeIndex index, const char* words) {
  return broken("node " + node.def->name + ": " + words, {BrokenRecord::Kind::node, index.value});
}

Law check_orders(const State& state, NodeIndex index, const Node& node) {
  if (node.resume_at.is_set() && !is_out_of_service(node))
    return broken_node(node, index, "it is in service and is to come back to it");
  if (node.resume_at.is_set() &&
      !state.deadlines.contains({node.resume_at, JobKey{index.value}, DeadlineKind::node_resume}))
    return broken_node(node, index, "it is to come back, and nothing says when");
  if (!std::ranges::includes(available_features_of(*node.def), features_of(*node.def)))
    return broken_node(node, index, "it has a feature active that it has not");
  return std::nullopt;
}

Law check_power(NodeIndex index, const Node& node) {
  const NodePower& power = node.power;
  const bool timed = power.state == Power::going_down || power.state == Power::coming_up;
  if (power.due.is_set() != timed || (power.told && !timed))
    return broken_node(node, index, "its power changes without an end, or the reverse");
  if (power.state == Power::going_down && !node.jobs.empty())
    return broken_node(node, index, "it is powered down under its jobs");
  if (node.future && (!node.jobs.empty() || !node.is_on()))
    return broken_node(node, index, "it is only foreseen and yet in use");
  return std::nullopt;
}

Law check_sum(const State& state, NodeIndex index, const Node& node) {
  NodeSum sum;
  for (const JobKey key : node.jobs) {
    const Job* job = state.find_job(key);
    const NodeShare* share =
        job && job->placement && job->is_on_nodes() ? share_on(job->placement->shares, index) : nullptr;
    if (!share || share->released) return broken("node " + node.def->name + ": it has a job that is not on it");
    sum.add(node, *job, *share);
  }
  sum.finish();
  return compare(node, sum);
}

}  // namespace millrace
