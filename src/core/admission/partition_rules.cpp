// src/core/admission/partition_rules.cpp - see partition_rules.h.
#include "core/admission/partition_rules.h"

#include <algorithm>

#include "core/model/request_limits.h"

namespace millrace {
namespace {

std::uint32_t parts(Mebibytes whole, Mebibytes part) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>((whole.value + part.value - 1) / part.value, 1, 1'000'000));
}

std::expected<void, Refusal> check_size(const PartitionDef& def, const JobSpec& spec, std::uint32_t minutes) {
  if (minutes > def.max_time_minutes)
    return refuse(RefusalCode::invalid_time_limit,
                  "partition " + def.name + " allows at most " + std::to_string(def.max_time_minutes) + " minutes");
  if (spec.min_nodes > def.max_nodes)
    return refuse(RefusalCode::invalid_node_count,
                  "partition " + def.name + " allows at most " + std::to_string(def.max_nodes) + " nodes");
  if (spec.max_nodes > 0 && spec.max_nodes < def.min_nodes)
    return refuse(RefusalCode::invalid_node_count,
                  "partition " + def.name + " wants at least " + std::to_string(def.min_nodes) + " nodes");
  return {};
}

}  // namespace

std::expected<void, Refusal> check_access(const PartitionDef& def, const JobSpec& spec, const Actor& actor) {
  const bool is_root = spec.owner->uid.value == 0;
  if (def.availability == Availability::drain || def.availability == Availability::inactive)
    return refuse(RefusalCode::partition_not_available);
  if (def.root_only && !is_root)
    return refuse(RefusalCode::access_denied, "partition " + def.name + " is for root only");
  if (def.disable_root_jobs && is_root)
    return refuse(RefusalCode::access_denied, "partition " + def.name + " takes no jobs of root");
  const auto in = [](const auto& list, const auto& value) { return std::ranges::find(list, value) != list.end(); };
  const bool group_ok =
      def.allow_groups.empty() || actor.is_admin || in(def.allow_gids, spec.owner->gid.value) ||
      std::ranges::any_of(spec.owner->groups, [&](std::uint32_t gid) { return in(def.allow_gids, gid); });
  if (!group_ok) return refuse(RefusalCode::group_not_permitted);
  if ((!def.allow_accounts.empty() && !in(def.allow_accounts, spec.account)) || in(def.deny_accounts, spec.account))
    return refuse(RefusalCode::invalid_account);
  if (!def.submit_hosts.empty() && !is_root && !in(def.submit_hosts, spec.owner->submit_host))
    return refuse(RefusalCode::access_denied,
                  "partition " + def.name + " takes no jobs from host " + spec.owner->submit_host);
  if (def.require_reservation && spec.resource_request().reservation.empty())
    return refuse(RefusalCode::reservation_invalid, "partition " + def.name + " is used with --reservation only");
  return {};
}

std::expected<void, Refusal> check_partition_limits(const State& state, const std::vector<PartitionIndex>& partitions,
                                                    const JobSpec& spec, std::uint32_t minutes) {
  if (!state.policy->enforce_partition_limits) return {};
  std::expected<void, Refusal> first;
  std::size_t beyond = 0;
  for (const PartitionIndex each : partitions)
    if (auto size = check_size(state.partition(each).def, spec, minutes); !size && ++beyond == 1)
      first = std::move(size);
  if (beyond == partitions.size() || (beyond > 0 && state.policy->enforce_every_partition)) return first;
  return {};
}

void complete_gpus(JobSpec& spec, const PartitionDef& partition, const Policy& policy) {
  const auto is_gpu = [](const GresAsk& ask) { return ask.name == "gpu"; };
  if (std::ranges::none_of(spec.resource_request().gres, is_gpu)) return;
  ResourceRequest request = spec.resource_request();
  const std::uint32_t cpus =
      partition.default_cpus_per_gpu > 0 ? partition.default_cpus_per_gpu : policy.default_cpus_per_gpu;
  if (cpus > 0 && request.cpus_per_gpu == 0 && spec.cpus_per_task == 0) request.cpus_per_gpu = cpus;
  const std::int64_t memory =
      partition.default_memory_per_gpu > 0 ? partition.default_memory_per_gpu : policy.default_memory_per_gpu;
  if (memory > 0 && request.memory_per_gpu == 0 && !spec.memory_per_cpu && !spec.memory_per_node && !spec.exclusive)
    request.memory_per_gpu = memory;
  if (!(request == spec.resource_request())) spec.resources = SharedValue(std::move(request));
}

void complete_memory(JobSpec& spec, const PartitionDef& partition, const Policy& policy) {
  if (spec.memory_per_cpu || spec.memory_per_node || spec.resource_request().memory_per_gpu > 0) return;
  if (partition.default_memory_per_cpu)
    spec.memory_per_cpu = partition.default_memory_per_cpu;
  else if (partition.default_memory_per_node)
    spec.memory_per_node = partition.default_memory_per_node;
  else if (policy.default_memory_per_cpu)
    spec.memory_per_cpu = policy.default_memory_per_cpu;
  else if (policy.default_memory_per_node)
    spec.memory_per_node = policy.default_memory_per_node;
}

std::expected<void, Refusal> limit_memory(JobSpec& spec, const PartitionDef& partition, const Policy& policy) {
  const bool own = partition.max_memory_per_cpu || partition.max_memory_per_node;
  const auto per_cpu = own ? partition.max_memory_per_cpu : policy.max_memory_per_cpu;
  const auto per_node = own ? partition.max_memory_per_node : policy.max_memory_per_node;
  if (per_node && spec.memory_per_node && spec.memory_per_node->value > per_node->value)
    return refuse(RefusalCode::invalid_task_memory,
                  "at most " + std::to_string(per_node->value) + " MiB on a node are allowed here");
  if (per_node && spec.memory_per_cpu) {
    const std::int64_t least =
        bounded_product(bounded_product(spec.memory_per_cpu->value, std::max(spec.cpus_per_task, 1u)),
                        std::max(spec.tasks_per_node, 1u));
    if (least > per_node->value)
      return refuse(RefusalCode::invalid_task_memory,
                    "at most " + std::to_string(per_node->value) + " MiB on a node are allowed here");
  }
  if (!per_cpu || per_cpu->value <= 0) return {};
  if (spec.memory_per_cpu && spec.memory_per_cpu->value > per_cpu->value) {
    const std::uint32_t times = parts(*spec.memory_per_cpu, *per_cpu);
    if (std::uint64_t{spec.cpus_per_task} * times > 1'000'000) return refuse(RefusalCode::bad_task_count);
    spec.cpus_per_task *= times;
    spec.memory_per_cpu = Mebibytes{(spec.memory_per_cpu->value + times - 1) / times};
  }
  if (spec.memory_per_node && spec.memory_per_node->value > 0)
    spec.min_cpus_per_node = std::max(spec.min_cpus_per_node, parts(*spec.memory_per_node, *per_cpu));
  return {};
}

}  // namespace millrace
