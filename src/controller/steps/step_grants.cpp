// src/controller/steps/step_grants.cpp - see step_grants.h.
#include "controller/steps/step_grants.h"

#include <algorithm>

#include "controller/views/resources.h"
#include "core/model/assign.h"
#include "core/model/features.h"
#include "core/model/node_fit.h"
#include "core/model/withheld.h"

namespace millrace {
namespace {

// Those of the job's that were asked for; of what is only counted at most as many as the job has.
wire::DeviceGrant part_of(const wire::DeviceGrant& has, const wire::DeviceGrant& asked) {
  wire::DeviceGrant out = has;
  out.set_count(std::clamp<std::int64_t>(asked.count(), 0, has.count()));
  const bool one_by_one = has.name() != "shard" && has.name() != "mps" && has.devices_size() > 0;
  if (!one_by_one) return out;
  out.clear_devices();
  for (const std::uint32_t device : has.devices())
    if (std::ranges::find(asked.devices(), device) != asked.devices().end()) out.add_devices(device);
  out.set_count(out.devices_size());
  return out;
}

}  // namespace

void describe_allocation(const State& state, const Job& job, wire::LaunchPlan& to) {
  to.set_devices_asked(job.spec->resources && !job.spec->resources->gres.empty());
  for (const NodeShare& share : job.placement->shares) {
    const NodeDef& def = *state.node(share.node).def;
    const CpuShape shape = cpu_shape(def);
    wire::AllocationNode& node = *to.add_allocation();
    node.set_cores_per_socket(shape.cores);
    node.set_threads_per_core(shape.threads);
    for (std::string& feature : features_of(def)) node.add_features(std::move(feature));
    if (const CpuBits cpus = cpus_seen(def, *job.spec, share); !cpus.empty()) node.set_cpu_ids(format_bits(cpus));
    if (!share.detail) continue;
    put_devices(def, *share.detail, *node.mutable_devices());
  }
}

void keep_to_job(const Job& job, NodeIndex here, const wire::LaunchPlan& asked, wire::LaunchPlan& to) {
  const auto share = std::ranges::find(job.placement->shares, here, &NodeShare::node);
  if (share == job.placement->shares.end()) return;
  to.clear_allocation();
  to.clear_job_devices();
  to.clear_own_devices();
  if (asked.own_devices()) {
    const google::protobuf::RepeatedPtrField<wire::DeviceGrant> has = to.devices();
    to.set_own_devices(true);
    *to.mutable_job_devices() = has;
    to.clear_devices();
    for (const wire::DeviceGrant& grant : asked.devices()) {
      const auto same = std::ranges::find_if(
          has, [&](const wire::DeviceGrant& one) { return one.name() == grant.name() && one.type() == grant.type(); });
      const bool again = std::ranges::any_of(to.devices(), [&](const wire::DeviceGrant& one) {
        return one.name() == grant.name() && one.type() == grant.type();
      });
      if (same == has.end() || again) continue;
      if (wire::DeviceGrant part = part_of(*same, grant); part.count() > 0) *to.add_devices() = std::move(part);
    }
  }
  const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(share->memory.value, 0));
  to.set_job_memory_mib(most);
  // A part of a step over several components counts its nodes among those of all of them.
  const auto last = static_cast<std::uint32_t>(
      std::max(job.placement->shares.size(), static_cast<std::size_t>(to.tasks_per_node_size())));
  const int position = static_cast<int>(std::min(to.node_position(), last));
  to.set_node_position(static_cast<std::uint32_t>(position));
  while (to.memory_per_node_mib_size() <= position) to.add_memory_per_node_mib(0);
  const std::uint64_t wanted = to.memory_per_node_mib(position);
  if (most > 0 && (wanted == 0 || wanted > most)) to.set_memory_per_node_mib(position, most);
}

}  // namespace millrace
