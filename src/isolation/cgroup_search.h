// src/isolation/cgroup_search.h - which cgroups this machine has, and the node's own place in them.
#pragma once

#include <string>
#include <vector>

#include "isolation/cgroup.h"

namespace millrace {

struct CgroupSearch {
  bool allow_v1 = true, allow_v2 = true;
  std::string mountpoint = "/sys/fs/cgroup";
  std::string slice;                     // a cgroup below the mount point to live in; empty: chosen here
  std::string own;                       // text of /proc/self/cgroup
  std::string node_folder;               // millrace_NODE_xxxxxxxx
  std::vector<std::string> controllers;  // wanted: memory, cpuset, cpu, pids, devices (v2 needs none for it)
  bool move_others =
      false;  // of a container whose first cgroup is full of processes: move them aside, not only ourselves
};

struct FoundCgroups {
  CgroupFolders folders;             // driver none: not used
  std::string problem;               // why not
  std::vector<std::string> missing;  // wanted controllers that are not there
};

// Makes the node's folders. In v1 they lie below the agent's own cgroup, so that limits set from outside still hold. In
// v2 they lie at the top: a cgroup that holds processes cannot give controllers to those below it, and below the
// agent's service its supervisor (systemd) could not start it again while jobs run.
FoundCgroups find_cgroups(const CgroupSearch& search);
// Those that are empty: no job runs.
void remove_node_folders(const CgroupFolders& folders);

// millrace_NODE_xxxxxxxx; the number comes from the spool's path, so that nodes of one name in two clusters on one
// machine do not meet.
std::string node_folder_name(const std::string& node, const std::string& spool);

}  // namespace millrace
