// src/isolation/cgroup_v1.cpp - cgroups of the old kind: a tree for each controller, and a process is in one place of
// each.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "isolation/cgroup_drivers.h"
#include "isolation/control_file.h"

namespace millrace {
namespace {

// 100 is usual in v2, 1024 in v1.
std::uint64_t shares_of(std::uint32_t weight) {
  return std::clamp<std::uint64_t>(std::uint64_t{weight} * 1024 / 100, 2, 262'144);
}

void kill_listed(const std::string& step_folder) {
  for (const pid_t pid : pids_in(step_folder + "/cgroup.procs"))
    if (pid != getpid()) kill(pid, SIGKILL);
}

class CgroupV1 final : public JobCgroup {
 public:
  CgroupV1(const CgroupFolders& folders, std::string job, std::string step)
      : folders_(folders.folders), job_(std::move(job)), step_(std::move(step)) {}

  Result<void> create(const CgroupLimits& limits, const CgroupLimits& job) override {
    for (const auto& folder : folders_) {
      MR_TRY_VOID(make_step_folder(folder.path, job_, step_, kill_listed));
      if (folder.controller == "cpuset") MR_TRY_VOID(fill_cpuset(folder.path, limits.cpus, job.cpus));
    }
    MR_TRY_VOID(limit_memory(limits, job));
    if (const std::string* cpu = path_of("cpu"); cpu != nullptr && limits.cpu_weight != 0)
      MR_TRY_VOID(write_both(*cpu, "cpu.shares", std::to_string(shares_of(limits.cpu_weight)),
                             std::to_string(shares_of(job.cpu_weight))));
    if (const std::string* pids = path_of("pids"); pids != nullptr && limits.processes_max != 0)
      MR_TRY_VOID(
          write_both(*pids, "pids.max", std::to_string(limits.processes_max), std::to_string(limits.processes_max)));
    if (const std::string* devices = path_of("devices")) {
      MR_TRY_VOID(deny(job_folder(*devices), job.denied_devices));
      MR_TRY_VOID(deny(step_folder(*devices), limits.denied_devices));
    }
    oom_kills_before_ = count_oom_kills();
    return {};
  }

  // `tasks` moves one thread, which is all there is, and is some thirty times cheaper than `cgroup.procs`.
  Result<void> join() const override {
    for (const auto& folder : folders_) MR_TRY_VOID(write_control(step_folder(folder.path) + "/tasks", "0"));
    return {};
  }

  std::vector<pid_t> processes() const override { return pids_in(tracking() + "/cgroup.procs"); }

  CgroupUsage usage() const override {
    CgroupUsage usage;
    if (const std::string* memory = path_of("memory"))
      if (const std::string text = read_control(step_folder(*memory) + "/memory.max_usage_in_bytes"); !text.empty())
        usage.memory_peak_bytes = std::strtoull(text.c_str(), nullptr, 10);
    if (const std::string* cpu = path_of("cpuacct"))
      if (const std::string text = read_control(step_folder(*cpu) + "/cpuacct.usage"); !text.empty())
        usage.cpu_us = std::strtoull(text.c_str(), nullptr, 10) / 1000;
    return usage;
  }

  std::uint64_t oom_kills() const override {
    const std::uint64_t count = count_oom_kills();
    return count > oom_kills_before_ ? count - oom_kills_before_ : 0;
  }

  Result<void> freeze() const override { return set_state("FROZEN"); }
  Result<void> thaw() const override { return set_state("THAWED"); }

  // Frozen, nobody can fork away from the list; the signal works when they thaw. Without a freezer the caller's next
  // round gets those that did.
  void kill_all() const override {
    static_cast<void>(freeze());
    kill_listed(tracking());
    static_cast<void>(thaw());
  }

  bool remove() override {
    bool gone = true;
    for (const auto& folder : folders_) gone = remove_step_folder(folder.path, job_, step_) && gone;
    return gone;
  }

 private:
  const std::string* path_of(std::string_view controller) const {
    for (const auto& folder : folders_)
      if (folder.controller == controller) return &folder.path;
    return nullptr;
  }
  std::string job_folder(const std::string& node) const { return node + "/" + job_; }
  std::string step_folder(const std::string& node) const { return node + "/" + job_ + "/" + step_; }
  std::string tracking() const {
    const std::string* freezer = path_of("freezer");
    return step_folder(freezer != nullptr ? *freezer : folders_.front().path);
  }

  Result<void> write_both(const std::string& node, const std::string& file, std::string_view of_step,
                          std::string_view of_job) const {
    MR_TRY_VOID(write_control(job_folder(node) + "/" + file, of_job));
    return write_control(step_folder(node) + "/" + file, of_step);
  }
  static Result<void> deny(const std::string& folder, const std::vector<DeviceNumber>& numbers) {
    for (const DeviceNumber& device : numbers)
      MR_TRY_VOID(write_control(folder + "/devices.deny", (device.block ? "b " : "c ") + std::to_string(device.major) +
                                                              ":" + std::to_string(device.minor) + " rwm"));
    return {};
  }

  // A new cpuset is empty and takes no process; each level first gets what the one above has.
  Result<void> fill_cpuset(const std::string& node, const std::string& of_step, const std::string& of_job) const {
    std::string parent = node;
    for (const std::string& folder : {job_folder(node), step_folder(node)}) {
      const std::string& cpus = folder == job_folder(node) ? of_job : of_step;
      for (const char* file : {"/cpuset.mems", "/cpuset.cpus"}) {
        const bool ours = !cpus.empty() && std::string_view{file} == "/cpuset.cpus";
        MR_TRY_VOID(write_control(folder + file, ours ? cpus : read_control(parent + file)));
      }
      parent = folder;
    }
    return {};
  }

  Result<void> limit_memory(const CgroupLimits& limits, const CgroupLimits& job) const {
    const std::string* memory = path_of("memory");
    if (memory == nullptr) return {};
    MR_TRY_VOID(limit_memory(job_folder(*memory), job));
    return limit_memory(step_folder(*memory), limits);
  }

  static Result<void> limit_memory(const std::string& folder, const CgroupLimits& limits) {
    const auto write = [&](const char* file, std::uint64_t number) {
      return write_control(folder + file, std::to_string(number));
    };
    // Missing where the kernel does not account swap: then there is nothing to limit it with.
    const bool swap = limits.memory && limits.swap && has_control(folder + "/memory.memsw.limit_in_bytes");
    // Memory must never be above memory with swap, and either may be what is raised; the one that is in the way is
    // tried again.
    if (limits.memory && !write("/memory.limit_in_bytes", *limits.memory)) {
      if (!swap) return write("/memory.limit_in_bytes", *limits.memory);
      MR_TRY_VOID(write("/memory.memsw.limit_in_bytes", *limits.memory + *limits.swap));
      MR_TRY_VOID(write("/memory.limit_in_bytes", *limits.memory));
    }
    if (limits.memory_high) MR_TRY_VOID(write("/memory.soft_limit_in_bytes", *limits.memory_high));
    if (swap) MR_TRY_VOID(write("/memory.memsw.limit_in_bytes", *limits.memory + *limits.swap));
    if (limits.swappiness) MR_TRY_VOID(write("/memory.swappiness", *limits.swappiness));
    return {};
  }

  std::uint64_t count_oom_kills() const {
    const std::string* memory = path_of("memory");
    return memory == nullptr
               ? 0
               : control_number(read_control(step_folder(*memory) + "/memory.oom_control"), "oom_kill").value_or(0);
  }

  Result<void> set_state(std::string_view state) const {
    const std::string* freezer = path_of("freezer");
    if (freezer == nullptr) return fail(Errc::unavailable, "this machine has no freezer cgroup");
    return write_control(step_folder(*freezer) + "/freezer.state", state);
  }

  const std::vector<CgroupFolders::Folder> folders_;
  const std::string job_, step_;
  std::uint64_t oom_kills_before_ = 0;
};

}  // namespace

std::unique_ptr<JobCgroup> make_cgroup_v1(const CgroupFolders& folders, const std::string& job,
                                          const std::string& step) {
  return std::make_unique<CgroupV1>(folders, job, step);
}

}  // namespace millrace
