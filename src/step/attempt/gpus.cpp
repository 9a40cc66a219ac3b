// src/step/attempt/gpus.cpp - see gpus.h.
#include "step/attempt/gpus.h"

#include <algorithm>
#include <numeric>

#include "agent.pb.h"
#include "base/index_set.h"
#include "base/text.h"

namespace millrace {
namespace {

constexpr std::pair<std::uint32_t, const char*> makers_names[] = {
    {1, "CUDA_VISIBLE_DEVICES"}, {2, "ROCR_VISIBLE_DEVICES"}, {4, "ZE_AFFINITY_MASK"}, {8, "GPU_DEVICE_ORDINAL"}};

std::uint32_t gpus_per_task(const wire::LaunchPlan& plan) {
  std::int64_t sum = 0;
  for (const std::string_view entry : split(plan.job().resources().gpus_per_task(), ','))
    sum += std::max<std::int64_t>(parse_integer(entry.substr(entry.rfind(':') + 1)).value_or(0), 0);
  return static_cast<std::uint32_t>(std::min<std::int64_t>(sum, 1024));
}

}  // namespace

Gpus::Gpus(const wire::LaunchPlan& plan, const wire::Isolation& isolation)
    : variables_(isolation.gpu_variables() == 0 ? 15 : isolation.gpu_variables()),
      node_has_gpus_(plan.node_has_gpus()),
      is_step_(plan.job().interactive()) {
  for (const wire::DeviceGrant& grant : plan.devices()) {
    if (grant.name() != "gpu" && grant.name() != "shard" && grant.name() != "mps") continue;
    for (const std::uint32_t device : grant.devices()) {
      Gpu gpu{device, "", ""};
      for (const wire::Gpu& known : isolation.gpus()) {
        if (known.device() != device) continue;
        gpu = {known.unique_id().empty() ? known.number() : device, known.unique_id(), known.near_cpus()};
        break;
      }
      gpus_.push_back(std::move(gpu));
    }
  }
  job_is_told_ = plan.own_devices();
  std::ranges::sort(gpus_, {}, &Gpu::number);
  // Behind a fence libraries find only what is the job's, and count from 0.
  for (std::size_t i = 0; i < gpus_.size(); ++i)
    if (gpus_[i].name.empty()) gpus_[i].name = std::to_string(isolation.devices_fenced() ? i : gpus_[i].number);
  if (!plan.job().gpu_bind().empty()) {
    auto bind = parse_gpu_bind(plan.job().gpu_bind());
    if (bind)
      bind_ = *std::move(bind);
    else
      problem_ = bind.error().story;
  }
  if (bind_.kind == GpuBindKind::unset && gpus_per_task(plan) > 0)
    bind_ = {GpuBindKind::per_task, false, gpus_per_task(plan), {}, {}};
}

void Gpus::set(Environment& environment, const std::vector<std::size_t>& chosen) const {
  std::string names, numbers;
  for (const std::size_t i : chosen) {
    names += (names.empty() ? "" : ",") + gpus_[i].name;
    numbers += (numbers.empty() ? "" : ",") + std::to_string(gpus_[i].number);
  }
  for (const auto& [maker, name] : makers_names)
    if ((variables_ & maker) != 0) environment.set(name, names);
  if (is_step_ && !gpus_.empty()) environment.set("SLURM_STEP_GPUS", numbers);
}

void Gpus::show(Environment& environment) const {
  if (gpus_.empty()) {
    if (node_has_gpus_) set(environment, {});
    return;
  }
  std::vector<std::size_t> all(gpus_.size());
  std::iota(all.begin(), all.end(), 0u);
  set(environment, all);
  if (job_is_told_) return;
  std::string numbers;
  for (const Gpu& gpu : gpus_) numbers += (numbers.empty() ? "" : ",") + std::to_string(gpu.number);
  environment.set("SLURM_JOB_GPUS", numbers);
}

std::vector<std::size_t> Gpus::near_to(const std::vector<std::uint32_t>& cpus) const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const auto near = parse_index_set(gpus_[i].near_cpus, 1'000'000);
    if (!near || near->empty() || cpus.empty() ||
        std::ranges::any_of(cpus, [&](std::uint32_t cpu) { return near->contains(cpu); }))
      out.push_back(i);
  }
  return out;
}

std::vector<std::size_t> Gpus::chosen_for(std::uint32_t local_rank, const std::vector<std::uint32_t>& cpus) const {
  std::vector<std::size_t> out;
  const auto take = [&](std::size_t gpu) {
    if (gpu < gpus_.size() && std::ranges::find(out, gpu) == out.end()) out.push_back(gpu);
  };
  switch (bind_.kind) {
    case GpuBindKind::per_task:
      for (std::size_t i = 0; i < bind_.count; ++i) take(static_cast<std::size_t>(local_rank) * bind_.count + i);
      break;
    case GpuBindKind::map:
      take(bind_.list[local_rank % bind_.list.size()]);
      break;
    case GpuBindKind::mask: {
      const auto& mask = bind_.masks[local_rank % bind_.masks.size()];
      for (std::size_t gpu = 0; gpu < mask.size() * 64; ++gpu)
        if ((mask[gpu / 64] >> (gpu % 64) & 1) != 0) take(gpu);
      break;
    }
    case GpuBindKind::closest:
      out = near_to(cpus);
      break;
    case GpuBindKind::single: {
      const std::vector<std::size_t> near = near_to(cpus);
      if (!near.empty()) take(near[local_rank / bind_.count % near.size()]);
      break;
    }
    default:
      break;
  }
  std::ranges::sort(out);
  return out;
}

Result<void> Gpus::show_task(Environment& environment, std::uint32_t local_rank,
                             const std::vector<std::uint32_t>& cpus) const {
  if (!problem_.empty()) return fail(Errc::invalid, "gpu-bind: " + problem_);
  if (gpus_.empty() || bind_.kind == GpuBindKind::unset || bind_.kind == GpuBindKind::none) return {};
  const std::vector<std::size_t> chosen = chosen_for(local_rank, cpus);
  if (chosen.empty()) return {};  // too few for all of them: none in particular
  set(environment, chosen);
  return {};
}

}  // namespace millrace
