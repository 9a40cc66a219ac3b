// src/controller/views/step_views.cpp - see step_views.h.
#include "controller/views/step_views.h"

#include <algorithm>

#include "controller/views/views.h"
#include "core/model/withheld.h"

namespace millrace {
namespace {

// Its own processes, which no step manager tells of. salloc has none.
std::optional<std::uint32_t> own_step(const Job& job) {
  if (!job.placement || !job.is_on_nodes() || job.is_component()) return std::nullopt;
  if (job.spec->interactive) return 0;
  if (job.spec->allocation_only) return std::nullopt;
  return batch_step;
}

}  // namespace

std::vector<RunningStep> running_steps(const State& state, const Job& job) {
  std::vector<RunningStep> out;
  const auto own = own_step(job);
  if (own == 0) out.push_back({0, nullptr});
  for (auto it = state.running_steps.lower_bound({job.key, job.attempt, 0});
       it != state.running_steps.end() && (*it).first.job == job.key; ++it)
    out.push_back({(*it).first.id, state.steps.at((*it).first).get()});
  if (own == batch_step) out.push_back({batch_step, nullptr});
  return out;
}

std::optional<RunningStep> find_running_step(const State& state, const Job& job, std::uint32_t id) {
  if (own_step(job) == id) return RunningStep{id, nullptr};
  const StepKey key{job.key, job.attempt, id};
  if (!state.running_steps.contains(key)) return std::nullopt;
  return RunningStep{id, state.steps.at(key).get()};
}

std::vector<NodeIndex> nodes_of(const Job& job, const RunningStep& step) {
  std::vector<NodeIndex> out;
  const auto is_lost = [&](NodeIndex node) {
    return std::ranges::any_of(job.placement->shares,
                               [&](const NodeShare& share) { return share.lost && share.node == node; });
  };
  if (step.known)
    for (const std::uint32_t node : *step.known->start.nodes) out.push_back(NodeIndex{node});
  else
    for (const NodeShare& share : job.placement->shares) {
      out.push_back(share.node);
      if (step.id == batch_step) break;
    }
  if (!step.known || step.known->is_running()) std::erase_if(out, is_lost);
  return out;
}

void show_step(const State& state, const Job& job, const RunningStep& step, wire::StepView& out) {
  const JobSpec& spec = *job.spec;
  out.set_job_id(job.id.value);
  if (const ArrayState* array = state.find_array(job.array)) {
    out.set_array_job_id(array->id.value);
    if (job.array_task) out.set_array_task(*job.array_task);
  }
  if (job.het) {
    out.set_het_job_id(job.id.value - job.het->offset);
    out.set_het_job_offset(job.het->offset);
  }
  out.set_step(step.id);
  out.set_uid(spec.owner->uid.value);
  out.set_account(spec.account);
  out.set_qos(spec.rare_request().qos);
  out.set_user_name(spec.owner->user_name);
  out.set_partition(state.partition(spec.partition).def.name);
  out.set_state(job.state == JobState::suspended ? wire::SUSPENDED : wire::RUNNING);
  std::vector<std::uint32_t> nodes;
  for (const NodeIndex node : nodes_of(job, step)) nodes.push_back(node.value);
  out.set_nodes(hostlist_of(state, nodes));
  out.set_node_count(static_cast<std::uint32_t>(nodes.size()));
  if (step.known) {
    const StepStart& start = step.known->start;
    out.set_name(start.name);
    out.set_cpus(static_cast<std::uint32_t>(start.cpus.value));
    out.set_tasks(start.tasks);
    out.set_memory_mib(static_cast<std::uint64_t>(start.memory.value));
    out.set_start_at_us(start.at.value);
    out.set_srun_host(start.srun_host);
    out.set_srun_pid(start.srun_pid);
    out.set_distribution(start.distribution);
    out.set_time_limit_minutes(start.time_limit_minutes);
    out.set_ports(start.ports);
    if (start.wishes) {
      wire::StepWishes& wishes = *out.mutable_wishes();
      wishes.set_gres(start.wishes->gres);
      wishes.set_tres_per_step(start.wishes->tres_per_step);
      wishes.set_tres_per_node(start.wishes->tres_per_node);
      wishes.set_tres_per_socket(start.wishes->tres_per_socket);
      wishes.set_tres_per_task(start.wishes->tres_per_task);
      wishes.set_cpus_per_tres(start.wishes->cpus_per_tres);
      wishes.set_mem_per_tres(start.wishes->mem_per_tres);
    }
    return;
  }
  out.set_start_at_us(job.started_at.value);
  if (step.id == batch_step) {
    out.set_name("batch");
    out.set_tasks(1);
    return;
  }
  out.set_name(spec.name);
  std::int64_t cpus = 0, memory = 0;
  std::uint32_t tasks = 0;
  for (const NodeShare& share : job.placement->shares) {
    if (share.lost) continue;
    cpus += cpu_count_seen(*state.node(share.node).def, spec, share);
    memory += share.memory.value;
    tasks += share.tasks;
  }
  out.set_cpus(static_cast<std::uint32_t>(cpus));
  out.set_memory_mib(static_cast<std::uint64_t>(memory));
  out.set_tasks(tasks);
  out.set_srun_host(spec.owner->submit_host);
  out.set_distribution(spec.resource_request().distribution);
}

}  // namespace millrace
