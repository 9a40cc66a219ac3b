// src/core/admission/change_partition.cpp - see change_partition.h.
#include "core/admission/change_partition.h"

#include <algorithm>

namespace millrace {
namespace {

bool is_name(const std::string& name) {
  return !name.empty() && name != "DEFAULT" && name.find_first_of(" ,=\t\n\"'\\#*()") == std::string::npos;
}

bool asks_for(const Job& job, PartitionIndex partition) {
  const auto& more = job.spec->resource_request().more_partitions;
  return job.spec->partition == partition || std::ranges::find(more, partition.value) != more.end();
}

}  // namespace

Decision decide_set_partition(const State& state, const PartitionDef& def, bool create, const Actor& actor, Time now) {
  if (!actor.is_admin) return refuse(RefusalCode::access_denied);
  if (!is_name(def.name))
    return refuse(RefusalCode::invalid_partition, "'" + def.name + "' is no name for a partition");
  const bool known = state.find_partition(def.name).has_value();
  if (create && known)
    return refuse(RefusalCode::invalid_partition,
                  "partition " + def.name + " is there already; scontrol update changes it");
  if (!create && !known) return refuse(RefusalCode::invalid_partition, "invalid partition specified: " + def.name);
  const auto found = find_nodes(state, def.nodes);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!found[i]) return refuse(RefusalCode::invalid_node_name, "there is no node " + def.nodes[i]);
  if (!def.qos.empty() && !state.find_qos(def.qos))
    return refuse(RefusalCode::invalid_qos, "there is no QOS " + def.qos + "; sacctmgr add qos makes one");
  if (def.default_time_minutes > def.max_time_minutes)
    return refuse(RefusalCode::invalid_time_limit, "DefaultTime may not be longer than MaxTime");
  if (def.preempt_mode == PreemptMode::suspend && !state.policy->gang)
    return refuse(
        RefusalCode::not_supported,
        "PreemptMode=SUSPEND needs GANG in the PreemptMode of the cluster, so that suspended jobs go on again");
  return std::vector<Event>{PartitionChanged{def, actor.uid, now}};
}

Decision decide_delete_partition(const State& state, const std::string& name, const Actor& actor, Time now) {
  if (!actor.is_admin) return refuse(RefusalCode::access_denied);
  const auto index = state.find_partition(name);
  if (!index) return refuse(RefusalCode::invalid_partition);
  for (const auto& [key, job] : state.jobs)
    if (job->state != JobState::ended && asks_for(*job, *index))
      return refuse(RefusalCode::partition_in_use, "job " + std::to_string(job->id.value) + " is in partition " + name);
  for (const auto& [id, reservation] : state.reservations)
    if (reservation->partition == index->value)
      return refuse(RefusalCode::partition_in_use, "reservation " + reservation->name + " is of partition " + name);
  return std::vector<Event>{PartitionDeleted{*index, actor.uid, now}};
}

Decision decide_damping(std::uint32_t factor, const Actor& actor, Time now) {
  if (!actor.is_admin) return refuse(RefusalCode::access_denied);
  if (factor == 0) return refuse(RefusalCode::not_supported, "a factor of at least 1 would be right");
  return std::vector<Event>{DampingChanged{factor, now}};
}

}  // namespace millrace
