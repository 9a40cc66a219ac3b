// src/step/step_manager/step_plans.cpp - see step_plans.h.
#include "step/step_manager/step_plans.h"

#include <algorithm>
#include <numeric>

#include "base/hostlist.h"
#include "core/model/step.h"
#include "step/step_manager/step_time.h"
#include "wire/step_facts.h"

namespace millrace {
namespace {

constexpr std::uint64_t tasks_max = 1'000'000, nodes_max = 100'000;

std::vector<std::string> names_of(const std::vector<std::string>& nodes, const StepPlacement& placement) {
  std::vector<std::string> names;
  for (const StepShare& share : placement.shares) names.push_back(nodes[share.node]);
  return names;
}

// What a step does not say itself about memory it has from its job.
void inherit_memory(const wire::JobDescription& from, wire::JobDescription& job) {
  if (job.has_memory_per_node_mib() || job.has_memory_per_cpu_mib() || job.resources().has_memory_per_gpu_mib()) return;
  if (from.has_memory_per_cpu_mib())
    job.set_memory_per_cpu_mib(from.memory_per_cpu_mib());
  else if (from.has_memory_per_node_mib())
    job.set_memory_per_node_mib(from.memory_per_node_mib());
}

// The agent of this node takes it from here; for other nodes the controller keeps to what the job has.
void give_devices(const wire::LaunchPlan& job, const StepAllocator& allocator, const StepShare& share,
                  wire::LaunchPlan& there) {
  const NodeBelongings& has = allocator.belongings(share.node);
  there.set_job_memory_mib(static_cast<std::uint64_t>(has.memory_mib));
  if (!allocator.knows_devices()) {
    if (share.node == 0) *there.mutable_devices() = job.devices();
    return;
  }
  there.set_own_devices(true);
  for (wire::DeviceGrant& grant : grants_of(has, share.taking.devices)) *there.add_devices() = std::move(grant);
  for (wire::DeviceGrant& grant : grants_of(has, all_devices(has))) *there.add_job_devices() = std::move(grant);
}

// The program's, where the step has no name of its own: that of its job came with the environment.
std::string name_of(const wire::JobDescription& step, const std::string& job_name) {
  if (!step.name().empty() && step.name() != job_name) return step.name();
  return step.command().empty() ? step.name() : step.command().substr(step.command().rfind('/') + 1);
}

}  // namespace

wire::LaunchPlan plan_for_steps(const wire::LaunchPlan& job) {
  wire::LaunchPlan plan = job;
  plan.clear_script();
  plan.clear_environment();
  plan.clear_allocation();
  plan.mutable_job()->clear_arguments();
  return plan;
}

wire::LaunchPlan plan_of_step(const wire::LaunchPlan& of_job, const StepAllocator& allocator,
                              const wire::CreateStep& ask, const StepPlacement& placement, std::uint32_t id,
                              const std::string& ports) {
  wire::LaunchPlan plan = of_job;
  plan.clear_devices();
  plan.set_environment(ask.environment());
  wire::JobDescription& job = *plan.mutable_job();
  job = ask.step();
  job.set_interactive(true);
  job.set_account(of_job.job().account());
  job.set_qos(of_job.job().qos());
  job.set_exclusive(of_job.job().exclusive());
  job.set_submit_host(of_job.job().submit_host());
  inherit_memory(of_job.job(), job);
  plan.set_step(id);
  plan.set_allocation_nodes(of_job.nodes());
  *plan.mutable_allocation_cpus_per_node() = of_job.cpus_per_node();
  plan.set_nodes(compress_hostlist(names_of(allocator.nodes(), placement)));
  plan.clear_cpus_per_node();
  plan.clear_tasks_per_node();
  plan.clear_memory_per_node_mib();
  plan.clear_ranks();
  for (const StepShare& share : placement.shares) {
    plan.add_cpus_per_node(static_cast<std::uint32_t>(share.cpus.size()));
    plan.add_tasks_per_node(share.tasks);
    plan.add_memory_per_node_mib(static_cast<std::uint64_t>(share.taking.memory_mib));
  }
  plan.set_tasks(placement.tasks);
  plan.set_ports(ports);
  if (ask.has_part()) make_part(ask.part(), plan);
  return plan;
}

std::vector<wire::LaunchPlan> plans_of_nodes(const wire::LaunchPlan& job, const wire::LaunchPlan& step,
                                             const StepAllocator& allocator, const wire::CreateStep& ask,
                                             const StepPlacement& placement) {
  std::vector<wire::LaunchPlan> plans(placement.shares.size());
  const auto ranks = allocator.ranks_of(placement.shares, step.job().resources());
  for (std::size_t i = 0; i < placement.shares.size(); ++i) {
    const StepShare& share = placement.shares[i];
    plans[i].set_node_position(ask.part().first_node() + static_cast<std::uint32_t>(i));
    plans[i].set_node_name(allocator.nodes()[share.node]);
    for (const std::uint32_t rank : ranks[i]) plans[i].add_ranks(ask.part().first_task() + rank);
    for (const std::uint32_t cpu : share.cpus) plans[i].add_step_cpus(cpu);
    give_devices(job, allocator, share, plans[i]);
  }
  return plans;
}

Result<std::string> ports_for(const wire::CreateStep& ask, const StepPlacement& placement, const IndexSet& used) {
  if (!ask.has_resv_ports()) return std::string{};
  std::uint64_t count = ask.resv_ports();
  if (count == 0)
    for (const StepShare& share : placement.shares) count = std::max<std::uint64_t>(count, share.tasks);
  IndexSet free = parse_index_set(ask.job_ports(), UINT16_MAX).value_or(IndexSet{});
  if (free.size() < count) return fail(Errc::invalid, "the job has too few ports");
  used.for_each([&](std::uint32_t port) { free.erase(port); });
  if (free.size() < count) return fail(Errc::unavailable, "Requested nodes are busy");
  return format_ranges(take_some(free, count));
}

bool fits_together(const wire::PartOfStep& part, const StepPlacement& placement) {
  const std::uint64_t end = std::uint64_t{part.first_node()} + placement.shares.size();
  const std::uint64_t tasks =
      std::accumulate(part.tasks_per_node().begin(), part.tasks_per_node().end(), std::uint64_t{0});
  const auto nodes = static_cast<std::uint64_t>(part.tasks_per_node_size());
  return end <= nodes && nodes <= nodes_max && part.cpus_per_node_size() == part.tasks_per_node_size() &&
         tasks == part.tasks() && tasks <= tasks_max && std::uint64_t{part.first_task()} + placement.tasks <= tasks;
}

// To its tasks the step has the nodes and tasks of all parts. What a node has of its own is looked up by its place
// among them, and is what its step manager gave it, whatever srun says.
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

wire::StepFact fact_of_start(const wire::LaunchPlan& step, const std::string& job_name,
                             const wire::StepRequest& request, const StepAllocator& allocator,
                             const StepPlacement& placement) {
  const wire::JobDescription& asked = request.ask().step();
  wire::StepFact fact;
  fact.set_id(step.step());
  fact.set_name(step.step() == interactive_step ? "interactive" : name_of(asked, job_name));
  fact.set_nodes(step.nodes());
  fact.set_tasks(step.tasks());
  fact.set_ports(step.ports());
  fact.set_cpus(std::accumulate(step.cpus_per_node().begin(), step.cpus_per_node().end(), 0u));
  fact.set_memory_mib(
      std::accumulate(step.memory_per_node_mib().begin(), step.memory_per_node_mib().end(), std::uint64_t{0}));
  fact.set_srun_host(asked.submit_host());
  fact.set_srun_pid(request.ask().srun_pid());
  fact.set_distribution(asked.resources().distribution());
  fact.set_time_limit_minutes(step_limit_of(asked));
  std::vector<wire::DeviceGrant> devices;
  for (const StepShare& share : placement.shares)
    for (wire::DeviceGrant& grant : grants_of(allocator.belongings(share.node), share.taking.devices))
      devices.push_back(std::move(grant));
  const wire::StepWishes wishes = shown_wishes(request.ask(), devices);
  if (wishes.ByteSizeLong() > 0) *fact.mutable_wishes() = wishes;
  return fact;
}

void add_end(wire::StepFact& fact, const wire::AttemptStatus& status) {
  fact.set_exit_code(std::max(fact.exit_code(), status.exit_code()));
  fact.set_exit_signal(std::max(fact.exit_signal(), status.exit_signal()));
  add_usage(*fact.mutable_usage(), status.usage());
  if (fact.end() == wire::StepFact::CANCELLED || fact.end() == wire::StepFact::TIMED_OUT) return;
  switch (status.end()) {
    case wire::AttemptStatus::LAUNCH_FAILED:
      fact.set_end(wire::StepFact::NOT_LAUNCHED);
      break;
    case wire::AttemptStatus::SUPERVISOR_LOST:
      fact.set_end(wire::StepFact::LOST);
      break;
    case wire::AttemptStatus::OUT_OF_MEMORY:
      fact.set_end(wire::StepFact::OUT_OF_MEMORY);
      break;
    default:
      break;
  }
}

}  // namespace millrace
