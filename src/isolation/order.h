// src/isolation/order.h - from the agent's words (wire::Isolation) to what is done.
#pragma once

#include <memory>

#include "isolation/cgroup.h"
#include "isolation/cpu_places.h"
#include "isolation/private_folders.h"

namespace millrace::wire {
class Isolation;
}

namespace millrace {

CgroupFolders folders_in(const wire::Isolation& order);
std::unique_ptr<JobCgroup> cgroup_in(const wire::Isolation& order);
CgroupLimits limits_in(const wire::Isolation& order);
CgroupLimits job_limits_in(const wire::Isolation& order);  // of all steps of the job together
std::vector<CpuPlace> places_in(const wire::Isolation& order);
PrivateFolders private_folders_in(const wire::Isolation& order);

}  // namespace millrace
