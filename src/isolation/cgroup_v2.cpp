// src/isolation/cgroup_v2.cpp - cgroups of the new kind: one tree; only its leaves hold processes, and a step is a
// leaf.
#include <signal.h>
#include <unistd.h>

#include <utility>

#include "base/text.h"
#include "isolation/cgroup_drivers.h"
#include "isolation/control_file.h"
#include "isolation/device_program.h"

namespace millrace {
namespace {

void kill_group(const std::string& step_folder) {
  if (write_control(step_folder + "/cgroup.kill", "1")) return;
  // Kernels before 5.14: frozen, nobody can fork away from the list; a frozen process dies of SIGKILL all the same.
  static_cast<void>(write_control(step_folder + "/cgroup.freeze", "1"));
  for (const pid_t pid : pids_in(step_folder + "/cgroup.procs"))
    if (pid != getpid()) kill(pid, SIGKILL);
  static_cast<void>(write_control(step_folder + "/cgroup.freeze", "0"));
}

class CgroupV2 final : public JobCgroup {
 public:
  CgroupV2(const CgroupFolders& folders, std::string job, std::string step)
      : node_(folders.folders.front().path),
        job_(std::move(job)),
        step_(std::move(step)),
        job_folder_(node_ + "/" + job_),
        step_folder_(job_folder_ + "/" + step_) {}

  Result<void> create(const CgroupLimits& limits, const CgroupLimits& job) override {
    MR_TRY_VOID(make_step_folder(node_, job_, step_, kill_group));
    // What the agent had enabled for the node; whoever comes second changes nothing.
    const std::string controllers = read_control(job_folder_ + "/cgroup.controllers");
    for (const std::string_view name : split(trim(controllers), ' '))
      if (!name.empty()) MR_TRY_VOID(write_control(job_folder_ + "/cgroup.subtree_control", "+" + std::string{name}));
    MR_TRY_VOID(constrain(job_folder_, job));
    MR_TRY_VOID(constrain(step_folder_, limits));
    if (limits.oom_kills_all) MR_TRY_VOID(write_control(step_folder_ + "/memory.oom.group", "1"));
    if (job.cpu_weight != 0 && has_control(job_folder_ + "/cpu.weight"))
      MR_TRY_VOID(write_control(job_folder_ + "/cpu.weight", std::to_string(job.cpu_weight)));
    if (!limits.denied_devices.empty()) MR_TRY_VOID(deny_devices(step_folder_, limits.denied_devices));
    oom_kills_before_ = count_oom_kills();
    return {};
  }

  Result<void> join() const override { return write_control(step_folder_ + "/cgroup.procs", "0"); }
  std::vector<pid_t> processes() const override { return pids_in(step_folder_ + "/cgroup.procs"); }

  CgroupUsage usage() const override {
    CgroupUsage usage;
    if (const std::string text = read_control(step_folder_ + "/memory.peak"); !text.empty())
      usage.memory_peak_bytes = std::strtoull(text.c_str(), nullptr, 10);
    usage.cpu_us = control_number(read_control(step_folder_ + "/cpu.stat"), "usage_usec");
    return usage;
  }

  std::uint64_t oom_kills() const override {
    const std::uint64_t count = count_oom_kills();
    return count > oom_kills_before_ ? count - oom_kills_before_ : 0;
  }

  Result<void> freeze() const override { return write_control(step_folder_ + "/cgroup.freeze", "1"); }
  Result<void> thaw() const override { return write_control(step_folder_ + "/cgroup.freeze", "0"); }
  void kill_all() const override { kill_group(step_folder_); }
  bool remove() override { return remove_step_folder(node_, job_, step_); }

 private:
  static Result<void> constrain(const std::string& folder, const CgroupLimits& limits) {
    if (limits.memory) MR_TRY_VOID(write_control(folder + "/memory.max", std::to_string(*limits.memory)));
    if (limits.memory_high) MR_TRY_VOID(write_control(folder + "/memory.high", std::to_string(*limits.memory_high)));
    if (limits.swap && has_control(folder + "/memory.swap.max"))
      MR_TRY_VOID(write_control(folder + "/memory.swap.max", std::to_string(*limits.swap)));
    if (!limits.cpus.empty()) MR_TRY_VOID(write_control(folder + "/cpuset.cpus", limits.cpus));
    if (limits.processes_max != 0)
      MR_TRY_VOID(write_control(folder + "/pids.max", std::to_string(limits.processes_max)));
    return {};
  }
  std::uint64_t count_oom_kills() const {
    return control_number(read_control(step_folder_ + "/memory.events"), "oom_kill").value_or(0);
  }

  const std::string node_, job_, step_, job_folder_, step_folder_;
  std::uint64_t oom_kills_before_ = 0;
};

}  // namespace

std::unique_ptr<JobCgroup> make_cgroup_v2(const CgroupFolders& folders, const std::string& job,
                                          const std::string& step) {
  return std::make_unique<CgroupV2>(folders, job, step);
}

}  // namespace millrace
