// src/step/environment/compat_environment.cpp - see compat_environment.h.
#include "step/environment/compat_environment.h"

#include <vector>

#include "agent.pb.h"
#include "base/hostlist.h"
#include "core/model/compat_variable.h"

namespace millrace {
namespace {

struct Slots {
  std::string host;
  std::uint32_t tasks = 0;
};

std::vector<Slots> slots_of(const wire::LaunchPlan& plan) {
  std::vector<Slots> out;
  const auto hosts = expand_hostlist(plan.nodes());
  if (!hosts) return out;
  for (std::size_t i = 0; i < hosts->size(); ++i) {
    const int place = static_cast<int>(i);
    out.push_back({(*hosts)[i], place < plan.tasks_per_node_size() ? plan.tasks_per_node(place) : 1});
  }
  return out;
}

std::string repeated_hosts(const wire::LaunchPlan& plan, char separator) {
  std::string out;
  for (const Slots& each : slots_of(plan))
    for (std::uint32_t i = 0; i < each.tasks; ++i) out += each.host + separator;
  return out;
}

std::string host_counts(const wire::LaunchPlan& plan) {
  std::string out;
  for (const Slots& each : slots_of(plan))
    out += (out.empty() ? "" : " ") + each.host + ' ' + std::to_string(each.tasks);
  return out;
}

std::string task_total(const wire::LaunchPlan& plan) {
  std::uint64_t total = 0;
  for (const Slots& each : slots_of(plan)) total += each.tasks;
  return std::to_string(total);
}

std::string tasks_here(const wire::LaunchPlan& plan) {
  const auto position = static_cast<int>(plan.node_position());
  return std::to_string(position < plan.tasks_per_node_size() ? plan.tasks_per_node(position) : 1);
}

// 12, and of an array 12[3].
std::string name_with_task(std::string name, const wire::LaunchPlan& plan) {
  return plan.has_array_task() ? name + '[' + std::to_string(plan.array_task()) + ']' : name;
}
std::string number_of(const wire::LaunchPlan& plan) {
  return std::to_string(plan.has_array_task() ? plan.array_job_id() : plan.job_id());
}
std::string task_of(const wire::LaunchPlan& plan) {
  return plan.has_array_task() ? std::to_string(plan.array_task()) : "";
}

// LSF leaves this one out where it would be long, and points to the file.
constexpr std::size_t hosts_size_max = 4096;
std::string short_hosts(const wire::LaunchPlan& plan) {
  std::string out = repeated_hosts(plan, ' ');
  if (!out.empty()) out.pop_back();
  return out.size() <= hosts_size_max ? out : "";
}

struct Row {
  std::string_view front, name;
  std::string (*value)(const wire::LaunchPlan&);  // empty: the variable is not set
};
using Plan = wire::LaunchPlan;

// clang-format off
constexpr Row rows[] = {
    {"pbs", "PBS_JOBID", [](const Plan& p) { return name_with_task(number_of(p), p); }},
    {"pbs", "PBS_JOBNAME", [](const Plan& p) { return p.job().name(); }},
    {"pbs", "PBS_QUEUE", [](const Plan& p) { return p.partition(); }},
    {"pbs", "PBS_O_QUEUE", [](const Plan& p) { return p.partition(); }},
    {"pbs", "PBS_NUM_NODES", [](const Plan& p) { return std::to_string(p.cpus_per_node_size()); }},
    {"pbs", "PBS_NUM_PPN", tasks_here},
    {"pbs", "PBS_NP", task_total},
    {"pbs", "PBS_NODENUM", [](const Plan& p) { return std::to_string(p.node_position()); }},
    {"pbs", "PBS_TASKNUM", [](const Plan&) { return std::string{"1"}; }},
    {"pbs", "PBS_ARRAYID", task_of},       // Torque's
    {"pbs", "PBS_ARRAY_INDEX", task_of},   // PBS Professional's
    {"lsf", "LSB_JOBID", number_of},
    {"lsf", "LSB_BATCH_JID", [](const Plan& p) { return name_with_task(number_of(p), p); }},
    {"lsf", "LSB_JOBNAME", [](const Plan& p) { return name_with_task(p.job().name(), p); }},
    {"lsf", "LSB_JOBINDEX", [](const Plan& p) { return p.has_array_task() ? task_of(p) : "0"; }},
    {"lsf", "LSB_JOBINDEX_STEP", [](const Plan& p) { return p.has_array_task() ? std::to_string(p.array_task_step()) : ""; }},
    {"lsf", "LSB_JOBINDEX_END", [](const Plan& p) { return p.has_array_task() ? std::to_string(p.array_task_max()) : ""; }},
    {"lsf", "LSB_QUEUE", [](const Plan& p) { return p.partition(); }},
    {"lsf", "LSB_SUB_HOST", [](const Plan& p) { return p.job().submit_host(); }},
    {"lsf", "LSB_HOSTS", short_hosts},
    {"lsf", "LSB_MCPU_HOSTS", host_counts},
    {"lsf", "LSB_DJOB_NUMPROC", task_total},
};
// clang-format on

struct FileRow {
  std::string_view front, name;
};
constexpr FileRow files[] = {{"pbs", "PBS_NODEFILE"}, {"lsf", "LSB_DJOB_HOSTFILE"}};

}  // namespace

std::string_view add_compat(Environment& environment, const wire::LaunchPlan& plan) {
  const std::string front{environment.get(compat_marker)};
  environment.unset(compat_marker);
  for (const Row& row : rows) {
    if (row.front != front) continue;
    // One of an outer job would be taken for this one's.
    const std::string value = row.value(plan);
    value.empty() ? environment.unset(row.name) : environment.set(row.name, value);
  }
  for (const FileRow& row : files) {
    if (row.front != front) continue;
    environment.unset(row.name);
    return row.name;
  }
  return {};
}

std::string host_lines(const wire::LaunchPlan& plan) { return repeated_hosts(plan, '\n'); }

}  // namespace millrace
