// src/core/planner/pass.cpp - see pass.h.
#include "core/planner/pass.h"

#include <algorithm>

namespace millrace {

Pass::Pass(State snapshot, PlannerSettings settings, Time now)
    : state_(std::move(snapshot)), settings_(settings), timeline_(state_, now), next_(state_.queue.begin()) {
  plan_.based_on = state_.version;
  plan_.made_at = now;
}

bool Pass::advance(std::int64_t steps) {
  const std::int64_t until = plan_.steps + steps;
  while (plan_.steps < until) {
    if (next_ == state_.queue.end()) return true;
    // Nobody needs less than one CPU; the first blocked job has been explained, the rest waits behind it.
    if (!timeline_.anything_free() && !blocked_partitions_.empty()) return true;
    if (tried_behind_ > settings_.depth) return true;
    const Job& job = state_.job((*next_).first.key);
    const Tried tried = try_job(job);
    // An array's rest stays at the front as long as its tasks find room.
    if (tried != Tried::placed || !job.is_array_rest()) ++next_;
    if (tried == Tried::blocked && !blocked_partitions_.empty()) ++tried_behind_;
  }
  return false;
}

// What keeps the job from starting whatever is free; `none` when only resources decide.
Reason Pass::obstacle(const Job& job) const {
  const Partition& partition = state_.partition(job.spec->partition);
  if (!partition.configured || partition.def.availability == Availability::down) return Reason::partition_down;
  if (partition.def.availability == Availability::inactive) return Reason::partition_inactive;
  if (job.spec->min_nodes > partition.def.max_nodes || (job.spec->max_nodes > 0 && job.spec->max_nodes < partition.def.min_nodes))
    return Reason::partition_node_limit;
  if (job.time_limit_minutes > partition.def.max_time_minutes) return Reason::partition_time_limit;
  for (const std::uint32_t index : job.spec->rare_request().required_nodes)
    if (!state_.node(NodeIndex{index}).is_usable()) return Reason::required_node_not_available;
  if (const ArrayState* array = state_.find_array(job.array)) {
    std::uint32_t started = 0;
    for (const auto& [key, count] : started_tasks_)
      if (key == job.array) started = count;
    if (array->spec.throttle > 0 && array->running + started >= array->spec.throttle) return Reason::array_task_limit;
    if (job.is_array_rest() && started >= array->rest.size()) return Reason::priority;  // every task of it is placed
  }
  return Reason::none;
}

Pass::Tried Pass::try_job(const Job& job) {
  ++plan_.steps;
  if (const Reason reason = obstacle(job); reason != Reason::none) {
    if (reason != Reason::priority) plan_.findings.push_back({job.key, reason, {}, {}});
    return Tried::skipped;
  }
  const bool behind = std::ranges::find(blocked_partitions_, job.spec->partition.value) != blocked_partitions_.end();
  if (behind && !settings_.backfill) return Tried::blocked;
  if (place(job)) return Tried::placed;
  if (!behind) block(job);
  return Tried::blocked;
}

bool Pass::place(const Job& job) {
  const Time now = plan_.made_at;
  const Time ends = job.time_limit_minutes == unlimited ? never : now + minutes(job.time_limit_minutes);
  const std::vector<Candidate> list = timeline_.candidates(*job.spec, ends, claims_);
  plan_.steps += static_cast<std::int64_t>(list.size());
  auto shares = choose_nodes(*job.spec, list, job.spec->rare_request().required_nodes.size(), timeline_.memory_counts());
  if (!shares) return false;
  timeline_.take(*shares, ends, claims_);
  if (job.array.value != 0) {
    const auto it = std::ranges::find(started_tasks_, job.array, &std::pair<JobKey, std::uint32_t>::first);
    if (it == started_tasks_.end())
      started_tasks_.emplace_back(job.array, 1);
    else
      ++it->second;
  }
  plan_.placements.push_back({job.key, job.attempt, *std::move(shares), !blocked_partitions_.empty()});
  return true;
}

void Pass::block(const Job& job) {
  Finding finding{job.key, Reason::resources, {}, {}};
  auto claim = timeline_.earliest(*job.spec, plan_.steps);
  if (claim) {
    finding.planned_start = claim->start;
    for (const NodeShare& share : claim->shares) finding.planned_nodes.push_back(share.node);
    blocked_partitions_.push_back(job.spec->partition.value);
    if (settings_.backfill) claims_.push_back(*std::move(claim));
  }
  // A job that cannot be placed even when everything ends (nodes down or drained) keeps nobody else waiting.
  plan_.findings.push_back(std::move(finding));
}

}  // namespace millrace
