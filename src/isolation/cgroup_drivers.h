// src/isolation/cgroup_drivers.h - what the drivers of cgroup.h share.
#pragma once

#include <string>
#include <vector>

#include "isolation/cgroup.h"

namespace millrace {

// job/step below `node_folder`, made as far as it is missing. An old step folder is emptied by `evict` and made anew.
Result<void> make_step_folder(const std::string& node_folder, const std::string& job, const std::string& step,
                              void (*evict)(const std::string& step_folder));
bool remove_step_folder(const std::string& node_folder, const std::string& job, const std::string& step);
std::vector<pid_t> pids_in(const std::string& file);

std::unique_ptr<JobCgroup> make_cgroup_v1(const CgroupFolders& folders, const std::string& job,
                                          const std::string& step);
std::unique_ptr<JobCgroup> make_cgroup_v2(const CgroupFolders& folders, const std::string& job,
                                          const std::string& step);

}  // namespace millrace
