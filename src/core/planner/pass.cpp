// src/core/planner/pass.cpp - see pass.h.
#include "core/planner/pass.h"

#include <algorithm>

#include "core/ledger/obstacle.h"

namespace millrace {

Pass::Pass(State snapshot, PlannerSettings settings, Time now)
    : state_(std::move(snapshot)), settings_(std::move(settings)), timeline_(state_, now, settings_.unreachable), next_(state_.queue.begin()) {
  plan_.based_on = state_.version;
  plan_.made_at = now;
  plan_.next_key = state_.next_key;
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

std::uint32_t Pass::started_tasks(JobKey array) const {
  const auto it = std::ranges::find(started_tasks_, array, &std::pair<JobKey, std::uint32_t>::first);
  return it == started_tasks_.end() ? 0 : it->second;
}

Pass::Tried Pass::try_job(const Job& job) {
  ++plan_.steps;
  const std::uint32_t started = job.array.value != 0 ? started_tasks(job.array) : 0;
  if (job.is_array_rest() && started >= state_.arrays.at(job.array)->rest.size()) return Tried::skipped;  // all of it is placed
  if (standing_obstacle(state_, job, plan_.made_at, started) != Reason::none) return Tried::skipped;
  const bool behind = std::ranges::find(blocked_partitions_, job.spec->partition.value) != blocked_partitions_.end();
  if (behind && settings_.backfill == Backfill::none) return Tried::blocked;
  if (place(job)) return Tried::placed;
  if (!behind) block(job);
  return Tried::blocked;
}

bool Pass::place(const Job& job) {
  const Time now = plan_.made_at;
  const Time ends = planned_end(now, job.time_limit_minutes);
  const std::vector<Candidate> list = timeline_.candidates(*job.spec, ends, claims_);
  plan_.steps += static_cast<std::int64_t>(list.size());
  auto shares = choose_nodes(*job.spec, list, job.spec->rare_request().required_nodes.size(), timeline_.rules());
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
    if (settings_.backfill != Backfill::none) claims_.push_back(*std::move(claim));
  }
  // A job that cannot be placed even when everything ends (nodes down or drained) keeps nobody else waiting.
  plan_.findings.push_back(std::move(finding));
}

}  // namespace millrace
