// src/config/isolation.h - how jobs are kept apart on a node: what cgroup.conf, job_container.conf and a few keys of
// slurm.conf say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

enum class CgroupVersion : std::uint8_t { autodetect, v1, v2, disabled };

// cgroup.conf, with Slurm's defaults: nothing is constrained.
struct CgroupSettings {
  CgroupVersion version = CgroupVersion::autodetect;
  std::string mountpoint = "/sys/fs/cgroup";
  std::string slice;  // CgroupSlice: below the mount point; empty: chosen by the agent
  bool constrain_cores = false;
  bool constrain_devices = false;
  bool constrain_memory = false;
  bool constrain_swap = false;
  double allowed_memory_percent = 100;  // of what the job was given
  double allowed_swap_percent = 0;
  double max_memory_percent = 100;  // of the machine's memory
  double max_swap_percent = 100;
  std::uint64_t min_memory_mib = 30;
  std::optional<std::uint32_t> swappiness;
  bool enable_controllers = false;
  std::uint64_t processes_max = 0;  // MillraceMaxProcesses: of a job on a node; 0: no limit
  bool operator==(const CgroupSettings&) const = default;
};

// job_container.conf, of one node after all its lines.
struct ContainerSettings {
  std::vector<std::string> nodes;  // empty: all
  std::string base_path;           // a folder of this node; empty: none
  bool auto_base_path = false;     // made when it is missing
  std::vector<std::string> folders = {"/tmp", "/dev/shm"};
  bool shared = false;
  std::string init_script;
  bool operator==(const ContainerSettings&) const = default;
};

struct IsolationSettings {
  CgroupSettings cgroup;
  bool track_by_cgroup = true;  // ProctrackType
  bool task_cgroup = false;     // TaskPlugin
  bool task_affinity = false;
  std::string default_bind;                   // TaskPluginParam, as a --cpu-bind
  bool private_folders = false;               // NamespaceType
  std::vector<ContainerSettings> containers;  // the first that names a node, or all nodes, is its
  bool operator==(const IsolationSettings&) const = default;
};

}  // namespace millrace
