// src/step/environment/device_environment.cpp - see device_environment.h.
#include "step/environment/device_environment.h"

#include <algorithm>

#include "agent.pb.h"
#include "base/text.h"

namespace millrace {
namespace {

std::string joined(const std::vector<std::uint32_t>& numbers) {
  std::string out;
  for (const std::uint32_t number : numbers) out += (out.empty() ? "" : ",") + std::to_string(number);
  return out;
}

std::vector<std::uint32_t> gpus_of(const google::protobuf::RepeatedPtrField<wire::DeviceGrant>& grants) {
  std::vector<std::uint32_t> out;
  for (const wire::DeviceGrant& grant : grants)
    if (grant.name() == "gpu") out.insert(out.end(), grant.devices().begin(), grant.devices().end());
  std::ranges::sort(out);
  return out;
}

void add_parts(Environment& environment, const wire::LaunchPlan& plan) {
  for (const wire::DeviceGrant& grant : plan.devices()) {
    const bool shard = grant.name() == "shard", mps = grant.name() == "mps";
    if (!shard && !mps) continue;
    if (shard) environment.set_number("SLURM_SHARDS_ON_NODE", grant.count());
    if (mps && grant.parts_of_device() > 0)
      environment.set_number("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                             std::clamp<std::int64_t>(grant.count() * 100 / grant.parts_of_device(), 1, 100));
  }
}

void add_asked(Environment& environment, const wire::ResourceWishes& ask) {
  const auto text = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) environment.set(name, value);
  };
  const auto number = [&](std::string_view name, std::uint64_t value) {
    if (value != 0) environment.set_number(name, static_cast<std::int64_t>(value));
  };
  text("SLURM_GPUS", ask.gpus());
  text("SLURM_GPUS_PER_NODE", ask.gpus_per_node());
  text("SLURM_GPUS_PER_TASK", ask.gpus_per_task());
  text("SLURM_GPUS_PER_SOCKET", ask.gpus_per_socket());
  number("SLURM_CPUS_PER_GPU", ask.cpus_per_gpu());
  number("SLURM_MEM_PER_GPU", ask.memory_per_gpu_mib());
  number("SLURM_NTASKS_PER_SOCKET", ask.tasks_per_socket());
  number("SLURM_NTASKS_PER_CORE", ask.tasks_per_core());
  number("SLURM_NTASKS_PER_GPU", ask.tasks_per_gpu());
  number("SLURM_THREADS_PER_CORE", ask.threads_per_core());
  text("SLURM_HINT", ask.hint());
  if (!ask.tres_per_task().empty()) {
    const std::string before{environment.get("SLURM_TRES_PER_TASK")};
    environment.set("SLURM_TRES_PER_TASK", before.empty() ? ask.tres_per_task() : before + "," + ask.tres_per_task());
  }
  if (ask.segment() != 0) environment.set_number("SLURM_JOB_SEGMENT_SIZE", ask.segment());
  if (ask.distribution().empty()) return;
  const std::string first = lower(ask.distribution().substr(0, ask.distribution().find_first_of(":,")));
  environment.set("SLURM_DISTRIBUTION", first.starts_with("plane") ? "plane" : ask.distribution());
  if (first.starts_with("plane=")) environment.set("SLURM_DIST_PLANESIZE", std::string_view{first}.substr(6));
}

}  // namespace

void add_devices(Environment& environment, const wire::LaunchPlan& plan) {
  add_asked(environment, plan.job().resources());
  if (!plan.job().gpu_bind().empty()) environment.set("SLURM_GPU_BIND", plan.job().gpu_bind());
  if (!plan.licenses().empty()) environment.set("SLURM_JOB_LICENSES", plan.licenses());
  const std::vector<std::uint32_t> gpus = gpus_of(plan.devices()),
                                   of_job = gpus_of(plan.own_devices() ? plan.job_devices() : plan.devices());
  if (!of_job.empty()) environment.set("SLURM_JOB_GPUS", joined(of_job));
  if (!gpus.empty()) environment.set_number("SLURM_GPUS_ON_NODE", static_cast<std::int64_t>(gpus.size()));
  add_parts(environment, plan);
}

}  // namespace millrace
