// src/step/device_environment.cpp - see device_environment.h.
#include "step/device_environment.h"

#include <algorithm>

#include "base/text.h"
#include "millrace.pb.h"

namespace millrace {
namespace {

std::string joined(const std::vector<std::uint32_t>& numbers) {
  std::string out;
  for (const std::uint32_t number : numbers) out += (out.empty() ? "" : ",") + std::to_string(number);
  return out;
}

std::vector<std::uint32_t> gpus_of(const wire::LaunchPlan& plan) {
  std::vector<std::uint32_t> out;
  for (const wire::DeviceGrant& grant : plan.devices())
    if (grant.name() == "gpu") out.insert(out.end(), grant.devices().begin(), grant.devices().end());
  std::ranges::sort(out);
  return out;
}

// Every maker's libraries look for another name.
void set_visible(Environment& environment, const std::string& list) {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "GPU_DEVICE_ORDINAL"}) environment.set(name, list);
}

void add_parts(Environment& environment, const wire::LaunchPlan& plan) {
  for (const wire::DeviceGrant& grant : plan.devices()) {
    const bool shard = grant.name() == "shard", mps = grant.name() == "mps";
    if (!shard && !mps) continue;
    const std::vector<std::uint32_t> gpu(grant.devices().begin(), grant.devices().end());
    set_visible(environment, joined(gpu));
    environment.set("SLURM_JOB_GPUS", joined(gpu));
    if (shard) environment.set_number("SLURM_SHARDS_ON_NODE", grant.count());
    if (mps && grant.parts_of_device() > 0)
      environment.set_number("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", std::clamp<std::int64_t>(grant.count() * 100 / grant.parts_of_device(), 1, 100));
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
  if (ask.distribution().empty()) return;
  const std::string first = lower(ask.distribution().substr(0, ask.distribution().find_first_of(":,")));
  environment.set("SLURM_DISTRIBUTION", first.starts_with("plane") ? "plane" : ask.distribution());
  if (first.starts_with("plane=")) environment.set("SLURM_DIST_PLANESIZE", std::string_view{first}.substr(6));
}

}  // namespace

void add_devices(Environment& environment, const wire::LaunchPlan& plan) {
  add_asked(environment, plan.job().resources());
  if (!plan.licenses().empty()) environment.set("SLURM_JOB_LICENSES", plan.licenses());
  const std::vector<std::uint32_t> gpus = gpus_of(plan);
  if (!gpus.empty()) {
    environment.set("SLURM_JOB_GPUS", joined(gpus));
    if (plan.job().interactive()) environment.set("SLURM_STEP_GPUS", joined(gpus));
    environment.set_number("SLURM_GPUS_ON_NODE", static_cast<std::int64_t>(gpus.size()));
    set_visible(environment, joined(gpus));
  } else if (plan.node_has_gpus()) {
    set_visible(environment, "");  // there are some, and none of them is this job's
  }
  add_parts(environment, plan);
}

void add_task_devices(Environment& environment, const wire::LaunchPlan& plan, std::uint32_t local_rank) {
  std::uint64_t per_task = 0;
  for (const std::string_view entry : split(plan.job().resources().gpus_per_task(), ','))
    per_task += static_cast<std::uint64_t>(std::max<std::int64_t>(parse_integer(entry.substr(entry.rfind(':') + 1)).value_or(0), 0));
  if (per_task == 0 || !plan.job().interactive()) return;
  const std::vector<std::uint32_t> gpus = gpus_of(plan);
  const std::uint64_t first = local_rank * per_task;
  if (first + per_task > gpus.size()) return;
  const auto from = gpus.begin() + static_cast<std::ptrdiff_t>(first);
  const std::string own = joined({from, from + static_cast<std::ptrdiff_t>(per_task)});
  set_visible(environment, own);
  environment.set("SLURM_STEP_GPUS", own);
}

}  // namespace millrace
