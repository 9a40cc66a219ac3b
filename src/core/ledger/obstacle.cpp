// src/core/ledger/obstacle.cpp - see obstacle.h.
#include "core/ledger/obstacle.h"

#include <algorithm>

#include "core/ledger/licences.h"

namespace millrace {

static Reason reservation_obstacle(const State& state, const Job& job, Time now) {
  const std::string& name = job.spec->resource_request().reservation;
  if (name.empty()) return Reason::none;
  const Reservation* reservation = state.find_reservation(name);
  if (!reservation) return Reason::reservation_deleted;
  if (!may_use(*reservation, *job.spec->owner, job.spec->account)) return Reason::reservation_invalid;
  if (reservation->starts(now) > now && !reservation->has(reserve_flex)) return Reason::reservation;
  return Reason::none;
}

Reason standing_obstacle(const State& state, const Job& job, Time now, std::uint32_t started_now,
                         std::optional<PartitionIndex> where) {
  if (job.requeue_held && job.held_why == HeldWhy::too_often) return Reason::requeued_too_often;
  if (job.requeue_held) return job.launch_failed ? Reason::launch_failed_held : Reason::requeued_held;
  if (job.hold != Hold::none) return job.hold == Hold::user ? Reason::held_by_user : Reason::held_by_admin;
  if (job.dependency_never) return Reason::dependency_never_satisfied;
  // One without dependencies whose begin time has just come becomes eligible with the next event. Those of a component
  // are its leader's.
  const bool waits_for_jobs = job.dependencies || job.is_component();
  if (!job.eligible_at.is_set()) return job.begin_at > now || !waits_for_jobs ? Reason::begin_time : Reason::dependency;
  const Partition& partition = state.partition(where.value_or(job.spec->partition));
  if (!partition.configured || partition.def.availability == Availability::down) return Reason::partition_down;
  if (partition.def.availability == Availability::inactive) return Reason::partition_inactive;
  const bool too_wide = job.spec->min_nodes > partition.def.max_nodes;
  const bool too_narrow = job.spec->max_nodes > 0 && job.spec->max_nodes < partition.def.min_nodes;
  if (too_wide || too_narrow) return Reason::partition_node_limit;
  if (job.time_limit_minutes > partition.def.max_time_minutes) return Reason::partition_time_limit;
  // A node may have left the partition since the job asked for it.
  for (const std::uint32_t index : job.spec->rare_request().required_nodes)
    if (!state.node(NodeIndex{index}).is_usable() ||
        std::ranges::find(partition.nodes, NodeIndex{index}) == partition.nodes.end())
      return Reason::required_node_not_available;
  if (const Reason reserved = reservation_obstacle(state, job, now); reserved != Reason::none) return reserved;
  const ResourceRequest& ask = job.spec->resource_request();
  if (!ask.licences.empty() && !choose_licences(ask, licences_free_for(state, job, now))) return Reason::licenses;
  const ArrayState* array = state.find_array(job.array);
  if (array && array->spec.throttle > 0 && array->running + started_now >= array->spec.throttle)
    return Reason::array_task_limit;
  return Reason::none;
}

}  // namespace millrace
