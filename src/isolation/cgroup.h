// src/isolation/cgroup.h - the cgroup of one step: its limits, its processes, their end; drivers for v1 and v2.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace millrace {

enum class CgroupDriver : std::uint8_t { none, v1, v2 };

// The node's own cgroups, below which each job has one with one for each step in it:
//   millrace_NODE_xxxxxxxx/job_12/step_batch        after the first requeue: job_12.1
struct CgroupFolders {
  struct Folder {
    std::string controller;  // v1: memory, cpuset ...; v2: empty, and there is one folder
    std::string path;
  };
  CgroupDriver driver = CgroupDriver::none;
  std::vector<Folder> folders;
};

struct DeviceNumber {
  bool block = false;
  std::uint32_t major = 0, minor = 0;
  bool operator==(const DeviceNumber&) const = default;
};
// Of a device file; nothing when it is none.
std::optional<DeviceNumber> device_number(const std::string& file);

struct CgroupLimits {
  std::optional<std::uint64_t> memory, memory_high, swap;  // bytes; swap beyond memory
  std::optional<std::uint32_t> swappiness;
  std::string cpus;                 // "0-3,8", the kernel's numbers; empty: all of the parent's
  std::uint32_t cpu_weight = 0;     // 1 to 10000, 100 is usual; 0: as it is
  std::uint64_t processes_max = 0;  // 0: no limit
  bool oom_kills_all = false;       // memory shortage ends every process of the step (v2)
  std::vector<DeviceNumber> denied_devices;
};

struct CgroupUsage {
  std::optional<std::uint64_t> memory_peak_bytes, cpu_us;
};

// Of one step. Everything may be called again and again; whoever needs the processes gone asks until processes() is
// empty.
class JobCgroup {
 public:
  virtual ~JobCgroup() = default;
  // What a process of an earlier attempt left there is killed. `job`: of all its steps here together.
  virtual Result<void> create(const CgroupLimits& step, const CgroupLimits& job) = 0;
  Result<void> create(const CgroupLimits& both) { return create(both, both); }
  // Moves the calling process, which must have one thread (it is a task between fork and exec).
  virtual Result<void> join() const = 0;
  virtual std::vector<pid_t> processes() const = 0;
  virtual CgroupUsage usage() const = 0;
  virtual std::uint64_t oom_kills() const = 0;  // since create()
  virtual Result<void> freeze() const = 0;      // asks; the kernel may need a moment
  virtual Result<void> thaw() const = 0;
  virtual void kill_all() const = 0;  // no process escapes it by forking
  // The step's, and the job's when no other step is left in it. False: somebody is still in there.
  virtual bool remove() = 0;
};

// For driver none: one that has no processes and limits nothing.
std::unique_ptr<JobCgroup> make_job_cgroup(const CgroupFolders& folders, const std::string& job,
                                           const std::string& step);

}  // namespace millrace
