// src/core/planner/pass.h - one look through the queue in priority order: first come first served, with EASY backfill behind the first blocked job.
#pragma once

#include "core/planner/plan.h"
#include "core/planner/timeline.h"

namespace millrace {

// Works on a snapshot, in slices of counted steps, on any thread; between slices it may be thrown away for a newer one.
class Pass {
 public:
  Pass(State snapshot, PlannerSettings settings, Time now);
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  // Does about this many steps more; true when the pass is finished.
  bool advance(std::int64_t steps);
  Plan take() { return std::move(plan_); }

 private:
  enum class Tried : std::uint8_t { placed, blocked, skipped };
  Tried try_job(const Job& job);
  std::uint32_t started_tasks(JobKey array) const;  // placed by this pass
  bool place(const Job& job);
  void block(const Job& job);

  State state_;
  PlannerSettings settings_;
  Timeline timeline_;
  SharedMap<QueueKey, Nothing>::Iterator next_;
  std::vector<FutureClaim> claims_;                // one per partition whose head is blocked
  std::vector<std::uint32_t> blocked_partitions_;
  std::vector<std::pair<JobKey, std::uint32_t>> started_tasks_;  // per array, in this pass
  std::uint32_t tried_behind_ = 0;
  Plan plan_;
};

}  // namespace millrace
