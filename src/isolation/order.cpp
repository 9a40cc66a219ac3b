// src/isolation/order.cpp - see order.h.
#include "isolation/order.h"

#include "agent.pb.h"

namespace millrace {

CgroupFolders folders_in(const wire::Isolation& order) {
  CgroupFolders out;
  if (order.driver() == wire::Isolation::CGROUP_V1) out.driver = CgroupDriver::v1;
  if (order.driver() == wire::Isolation::CGROUP_V2) out.driver = CgroupDriver::v2;
  for (const auto& folder : order.folders()) out.folders.push_back({folder.controller(), folder.path()});
  return out;
}

std::unique_ptr<JobCgroup> cgroup_in(const wire::Isolation& order) {
  return make_job_cgroup(folders_in(order), order.job(), order.step());
}

CgroupLimits limits_in(const wire::Isolation& order) {
  CgroupLimits limits;
  if (order.has_memory_bytes()) limits.memory = order.memory_bytes();
  if (order.has_memory_high_bytes()) limits.memory_high = order.memory_high_bytes();
  if (order.has_swap_bytes()) limits.swap = order.swap_bytes();
  if (order.has_swappiness()) limits.swappiness = order.swappiness();
  limits.cpus = order.cpus();
  limits.cpu_weight = order.cpu_weight();
  limits.processes_max = order.processes_max();
  for (const std::string& file : order.denied_devices())
    if (const auto number = device_number(file)) limits.denied_devices.push_back(*number);
  return limits;
}

CgroupLimits job_limits_in(const wire::Isolation& order) {
  CgroupLimits limits = limits_in(order);
  if (!order.has_whole_job()) return limits;
  const wire::WholeJob& job = order.whole_job();
  limits.memory = job.has_memory_bytes() ? std::optional{job.memory_bytes()} : std::nullopt;
  limits.memory_high = job.has_memory_high_bytes() ? std::optional{job.memory_high_bytes()} : std::nullopt;
  limits.swap = job.has_swap_bytes() ? std::optional{job.swap_bytes()} : std::nullopt;
  limits.cpus = job.cpus();
  limits.cpu_weight = job.cpu_weight();
  limits.denied_devices.clear();
  for (const std::string& file : job.denied_devices())
    if (const auto number = device_number(file)) limits.denied_devices.push_back(*number);
  return limits;
}

std::vector<CpuPlace> places_in(const wire::Isolation& order) {
  std::vector<CpuPlace> places;
  for (const auto& place : order.places())
    places.push_back({place.cpu(), place.core(), place.socket(), place.memory_node()});
  return places;
}

PrivateFolders private_folders_in(const wire::Isolation& order) {
  PrivateFolders out;
  out.base = order.private_base();
  for (const auto& folder : order.private_folders()) out.folders.push_back({folder.target(), folder.source()});
  out.own_shm = order.private_shm();
  out.init_script = order.private_init_script();
  return out;
}

}  // namespace millrace
