// src/config/suggestions.cpp - see suggestions.h.
#include "config/suggestions.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"

namespace millrace {
namespace {

using Lines = std::vector<std::string>;

std::string names_of(const std::vector<ConfiguredNode>& nodes, bool (*wanted)(const ConfiguredNode&)) {
  std::vector<std::string> names;
  for (const ConfiguredNode& node : nodes)
    if (wanted(node)) names.push_back(node.name);
  return names.empty() ? std::string{} : compress_hostlist(names);
}

void about_programs(const Configuration& c, const HostLooks& host, Lines& out) {
  const NodeLifeSettings& life = c.node_life;
  const auto look = [&](std::string_view key, const std::string& path) {
    if (path.empty() || path.find_first_of("*?[") != std::string::npos || host.is_executable(path)) return;
    out.push_back(std::string{key} + "=" + path +
                  ": there is no such program on this host; each host it is run on needs it");
  };
  for (const std::string& program : life.prolog) look("Prolog", program);
  for (const std::string& program : life.epilog) look("Epilog", program);
  for (const std::string& program : life.controller_prolog) look("PrologSlurmctld", program);
  for (const std::string& program : life.controller_epilog) look("EpilogSlurmctld", program);
  look("HealthCheckProgram", life.health_check);
  look("RebootProgram", life.reboot_program);
  look("SuspendProgram", c.power.suspend_program);
  look("ResumeProgram", c.power.resume_program);
  look("TaskProlog", c.task_prolog);
  look("TaskEpilog", c.task_epilog);
}

void about_identity(const Configuration& c, const HostLooks& host, Lines& out) {
  if (c.slurm_user != "root" && !host.has_user(c.slurm_user))
    out.push_back("SlurmUser=" + c.slurm_user + ": there is no such user on this host; `useradd --system " +
                  c.slurm_user + "` makes it, SlurmUser=root does without");
  const std::string socket = c.munge_socket.empty() ? "/run/munge/munge.socket.2" : c.munge_socket;
  if (c.munge && !host.exists(socket))
    out.push_back("AuthType=auth/munge: munged does not run on this host (" + socket +
                  "); without it a node needs a key file, which `millrace key` makes");
  if (c.controllers.size() > 1)
    out.push_back("SlurmctldHost: the second and further controllers are not built yet; only the first is used");
}

void about_nodes(const Configuration& c, Lines& out) {
  const std::string small = names_of(c.nodes, [](const ConfiguredNode& n) { return n.memory.value <= 1; });
  if (c.memory_is_consumable && !small.empty())
    out.push_back("NodeName=" + small +
                  ": without RealMemory a node has 1 MiB, and no job that asks for memory starts there; `slurmd -C` "
                  "prints the right line");
  const std::string single = names_of(c.nodes, [](const ConfiguredNode& n) { return n.cpus <= 1; });
  if (!single.empty()) out.push_back("NodeName=" + single + ": one processor; `slurmd -C` prints what a machine has");
}

void about_isolation(const Configuration& c, Lines& out) {
  if (!c.isolation.task_cgroup) {
    out.emplace_back(
        "TaskPlugin: without task/cgroup jobs can use processors, memory and devices that they were not given");
    return;
  }
  const CgroupSettings& cgroup = c.isolation.cgroup;
  if (!cgroup.constrain_cores && !cgroup.constrain_memory && !cgroup.constrain_devices)
    out.emplace_back(
        "TaskPlugin=task/cgroup has nothing to hold jobs to: ConstrainCores=yes, ConstrainRAMSpace=yes and "
        "ConstrainDevices=yes go into cgroup.conf");
}

void about_planning(const Configuration& c, Lines& out) {
  for (const ConfiguredPartition& partition : c.partitions)
    if (!partition.max_time_minutes && !partition.default_time_minutes)
      out.push_back("PartitionName=" + partition.name +
                    ": without DefaultTime and MaxTime jobs that name no time are planned as endless, and backfill has "
                    "no gaps to fill; DefaultTime=1:00:00 would help");
  if (c.partitions.empty())
    out.emplace_back("there is no PartitionName line, so no job can be submitted");
  else if (std::ranges::none_of(c.partitions, &ConfiguredPartition::is_default))
    out.emplace_back("no partition has Default=YES: every job must name one with -p");
  if (const auto it = c.given.find("schedulerparameters"); it != c.given.end())
    for (const std::string_view word : split(it->second, ','))
      for (const std::string_view slow : {"defer", "max_rpc_cnt", "bf_yield_interval", "bf_max_time",
                                          "batch_sched_delay", "sched_min_interval", "bf_window", "bf_resolution"})
        if (trim(word).substr(0, trim(word).find('=')) == slow)
          out.push_back("SchedulerParameters=" + std::string{trim(word)} +
                        " makes room for slow passes, which Millrace does not have; it may go");
  if (!c.measure_tasks)
    out.emplace_back(
        "JobAcctGatherType: without jobacct_gather/cgroup or /linux what running jobs use is measured only when "
        "somebody asks (sstat)");
}

}  // namespace

HostLooks this_host() {
  return {[](const std::string& path) { return access(path.c_str(), X_OK) == 0; },
          [](const std::string& path) { return access(path.c_str(), F_OK) == 0; },
          [](const std::string& user) { return getpwnam(user.c_str()) != nullptr; }};
}

std::vector<std::string> suggestions(const Configuration& configuration, const HostLooks& host) {
  Lines out;
  about_identity(configuration, host, out);
  about_nodes(configuration, out);
  about_programs(configuration, host, out);
  about_isolation(configuration, out);
  about_planning(configuration, out);
  return out;
}

}  // namespace millrace
