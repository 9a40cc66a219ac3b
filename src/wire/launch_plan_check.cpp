// src/wire/launch_plan_check.cpp - see launch_plan_check.h.
#include "wire/launch_plan_check.h"

#include <numeric>

#include "agent.pb.h"
#include "core/model/request_limits.h"

namespace millrace {
namespace {

constexpr std::uint32_t plan_nodes_max = 65536;      // as many as a list of nodes can name
constexpr std::uint64_t plan_cpus_max = 10'000'000;  // of all its nodes together

}  // namespace

Result<void> check_plan(const wire::LaunchPlan& plan) {
  const auto& tasks = plan.tasks_per_node();
  if (plan.node_position() >= plan_nodes_max)
    return fail(Errc::invalid, "invalid plan: this is node " + std::to_string(plan.node_position()) +
                                   " of the job (expected less than " + std::to_string(plan_nodes_max) + ")");
  const auto& cpus = plan.cpus_per_node();
  if (std::accumulate(cpus.begin(), cpus.end(), std::uint64_t{0}) > plan_cpus_max)
    return fail(Errc::invalid, "invalid plan: too many CPUs (expected at most " + std::to_string(plan_cpus_max) + ")");
  const auto sum = std::accumulate(tasks.begin(), tasks.end(), std::uint64_t{0});
  if (sum > tasks_max || plan.tasks() > tasks_max)
    return fail(Errc::invalid, "invalid plan: it has " + std::to_string(std::max(sum, std::uint64_t{plan.tasks()})) +
                                   " tasks (expected at most " + std::to_string(tasks_max) + ")");
  return {};
}

}  // namespace millrace
