// src/step/supervisor_parts.cpp - a step over several components of a heterogeneous job: each component's keeper first
// gives its part CPUs and a number, and starts it when srun has heard the same of all the others and can say which
// tasks are whose.
#include <ctime>
#include <numeric>

#include "step/supervisor.h"

namespace millrace {
namespace {

constexpr std::int64_t part_patience_us = 120'000'000;  // srun asks every few seconds while it waits for the others

std::int64_t monotonic_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

constexpr std::uint64_t tasks_max = 1'000'000, nodes_max = 100'000;

// What srun says of the other parts is taken as it is, as far as it can be true.
bool fits_together(const wire::PartOfStep& part, const StepPlacement& placement) {
  const std::uint64_t end = std::uint64_t{part.first_node()} + placement.shares.size();
  const std::uint64_t tasks =
      std::accumulate(part.tasks_per_node().begin(), part.tasks_per_node().end(), std::uint64_t{0});
  const auto nodes = static_cast<std::uint64_t>(part.tasks_per_node_size());
  return end <= nodes && nodes <= nodes_max && part.cpus_per_node_size() == part.tasks_per_node_size() &&
         tasks == part.tasks() && tasks <= tasks_max && std::uint64_t{part.first_task()} + placement.tasks <= tasks;
}

}  // namespace

// To its tasks the step has the nodes and tasks of all parts. What a node has of its own is looked up by its place
// among them, and is what its keeper gave it, whatever srun says.
void make_part(const wire::PartOfStep& part, wire::LaunchPlan& plan) {
  const auto cpus = plan.cpus_per_node(), tasks = plan.tasks_per_node();
  const std::vector<std::uint64_t> memory(plan.memory_per_node_mib().begin(), plan.memory_per_node_mib().end());
  plan.clear_memory_per_node_mib();
  for (std::uint32_t before = 0; before < part.first_node(); ++before) plan.add_memory_per_node_mib(0);
  for (const std::uint64_t amount : memory) plan.add_memory_per_node_mib(amount);
  plan.set_nodes(part.nodes());
  *plan.mutable_cpus_per_node() = part.cpus_per_node();
  *plan.mutable_tasks_per_node() = part.tasks_per_node();
  for (int own = 0; own < cpus.size(); ++own) {
    plan.set_cpus_per_node(static_cast<int>(part.first_node()) + own, cpus[own]);
    plan.set_tasks_per_node(static_cast<int>(part.first_node()) + own, tasks[own]);
  }
  plan.set_tasks(part.tasks());
  plan.set_shown_step(part.step_id());
}

void Supervisor::tell_prepared(std::uint32_t id, const wire::StepRequest& request, std::vector<std::string> notes) {
  KeptStep& kept = steps_.at(id);
  kept.heard_us = monotonic_us();
  look_at_parts_us_ = kept.heard_us + part_patience_us;
  wire::StepNews news;
  news.set_kind(wire::StepNews::CREATED);
  news.set_prepared(true);
  news.set_step_id(id);
  std::string nodes;
  for (const StepShare& share : kept.prepared->shares) {
    nodes += (nodes.empty() ? "" : ",") + keeper_->nodes()[share.node];
    news.add_cpus_per_node(static_cast<std::uint32_t>(share.cpus.size()));
    news.add_tasks_per_node(share.tasks);
  }
  news.set_nodes(nodes);
  news.set_tasks(kept.prepared->tasks);
  for (std::string& note : notes) news.add_notes(std::move(note));
  tell_step_client(request, news);
}

void Supervisor::hear_of_part(std::uint32_t id, const wire::StepRequest& request) {
  if (!request.ask().has_part()) return tell_prepared(id, request, {});
  const wire::PartOfStep& part = request.ask().part();
  KeptStep& kept = steps_.at(id);
  const StepPlacement placement = *kept.prepared;
  if (!fits_together(part, placement)) {
    drop_part(id);
    try_waiting_steps();
    return refuse_step(request, 2014, "Requested node configuration is not available",
                       "the parts of the step do not fit together");
  }
  kept.prepared.reset();
  kept.request.mutable_ask()->mutable_part()->set_first_task(part.first_task());
  launch_step(id, request.ask(), placement);
  wire::StepNews news;
  news.set_kind(wire::StepNews::CREATED);
  news.set_step_id(id);
  tell_step_client(request, news);
  order_new_steps();
}

// Nothing of it ran; its number stays used.
void Supervisor::drop_part(std::uint32_t id) {
  const auto found = steps_.find(id);
  if (found == steps_.end() || !found->second.prepared) return;
  for (const std::string& node : keeper_->nodes_of(id)) keeper_->node_ended(id, node);
  found->second.fact.set_end(wire::StepFact::CANCELLED);
  note_ended(id);
  wire::StepNews news;
  news.set_kind(wire::StepNews::ENDED);
  news.set_step_id(id);
  tell_step_client(found->second.request, news);
  steps_.erase(found);
}

void Supervisor::drop_parts() {
  std::vector<std::uint32_t> parts;
  for (const auto& [id, step] : steps_)
    if (step.prepared) parts.push_back(id);
  for (const std::uint32_t id : parts) drop_part(id);
}

void Supervisor::drop_left_parts() {
  const std::int64_t now = monotonic_us();
  std::vector<std::uint32_t> left;
  look_at_parts_us_ = 0;
  for (const auto& [id, step] : steps_) {
    if (!step.prepared) continue;
    if (step.heard_us + part_patience_us <= now)
      left.push_back(id);
    else if (look_at_parts_us_ == 0 || step.heard_us + part_patience_us < look_at_parts_us_)
      look_at_parts_us_ = step.heard_us + part_patience_us;
  }
  for (const std::uint32_t id : left) drop_part(id);
  if (!left.empty()) try_waiting_steps();
}

}  // namespace millrace
