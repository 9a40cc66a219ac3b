// src/agent/node_isolation.h - what this node does to keep its jobs apart, found out once; and what that means for each
// attempt.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/configuration.h"
#include "isolation/cgroup_search.h"
#include "isolation/cpu_places.h"

namespace millrace::wire {
class Isolation;
class LaunchPlan;
}  // namespace millrace::wire

namespace millrace {

struct NodeIsolationFacts {
  std::string node;
  std::string spool;
  std::uint32_t threads_per_core = 1;  // of the node's line in slurm.conf
  std::uint32_t cpus = 1;
  std::vector<NodeGres> kinds;             // with their device files
  std::vector<std::string> spare_devices;  // files that are nobody's
  std::string sys = "/sys";
  std::string own_cgroup;  // text of /proc/self/cgroup
  std::uint64_t machine_memory_mib = 0;
  bool root = false;
};

class NodeIsolation {
 public:
  // Makes the node's cgroups; what cannot be done is said, once.
  static Result<NodeIsolation> prepare(const IsolationSettings& settings, NodeIsolationFacts facts,
                                       const std::function<void(std::string_view)>& say);

  wire::Isolation of(const wire::LaunchPlan& plan) const;
  // The agent leaves: the node's cgroups go with it, unless jobs are in them.
  void leave() const { remove_node_folders(folders_); }
  const CgroupFolders& folders() const { return folders_; }

 private:
  NodeIsolation(const IsolationSettings& settings, NodeIsolationFacts facts)
      : settings_(settings), facts_(std::move(facts)) {}
  void find(const std::function<void(std::string_view)>& say);
  bool has(std::string_view controller) const;
  void limit_memory(std::uint64_t given, auto& out) const;
  void limit_memory(const wire::LaunchPlan& plan, wire::Isolation& out) const;
  void place(const wire::LaunchPlan& plan, wire::Isolation& out) const;
  void make_private(const wire::LaunchPlan& plan, wire::Isolation& out) const;

  IsolationSettings settings_;
  NodeIsolationFacts facts_;
  std::string private_base_;  // below it a folder for each job
  CgroupFolders folders_;
  std::vector<std::string> missing_;
  std::vector<CpuPlace> machine_;
  bool cpus_fit_ = false;
  bool whole_cores_ = false;  // a CPU of slurm.conf is a core of this machine
};

// Device files of the node: those this attempt was given, and the rest.
struct DeviceFiles {
  std::vector<std::string> own, others;
};
DeviceFiles device_files(const std::vector<NodeGres>& kinds, const wire::LaunchPlan& plan);

// Kills and clears away what an order (serialized) of a dead supervisor made. False: some of it is not dead yet.
bool clear_isolation(const std::string& order);
// Whether it says that the attempt's processes are in a cgroup of its own, which no other process can enter.
bool has_cgroup(const std::string& order);

}  // namespace millrace
