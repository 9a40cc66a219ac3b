// src/sim/published.cpp - see published.h.
#include "sim/published.h"

#include <algorithm>
#include <queue>
#include <span>

namespace millrace {
namespace {

// One sequence. Events one at a time: an arrival that is not after the next end comes first. What the policy picked
// stays picked until it starts, and the start found for it when it was blocked stays the bound for what may overtake
// it.
class Sequence {
 public:
  Sequence(const Workload& workload, std::span<const WorkloadJob> jobs, const PublishedRecipe& recipe)
      : workload_(workload), jobs_(jobs), replay_(one_machine(recipe.processors), settings_of(recipe)) {}

  std::vector<ReplayedJob> go() {
    while (next_ < jobs_.size() || !ends_.empty()) {
      if (next_ < jobs_.size() && (ends_.empty() || jobs_[next_].submit <= ends_.top().first))
        arrive();
      else
        depart();
      start();
    }
    return std::move(out_);
  }

 private:
  static PlannerSettings settings_of(const PublishedRecipe& recipe) {
    PlannerSettings settings;
    settings.order = recipe.order;
    settings.backfill = recipe.backfill ? Backfill::strict : Backfill::none;
    settings.depth = UINT32_MAX;
    settings.use_expected = true;
    settings.score_origin = trace_time(0);
    // Their scores take the wait of a job that has not started as its start, -1, less its submit time. So do we here,
    // or their numbers for wfp3 and unicep would not come out.
    settings.waits_until = trace_time(-1);
    return settings;
  }

  void arrive() {
    const WorkloadJob& job = jobs_[next_++];
    now_ = std::max(now_, job.submit);
    const auto key =
        replay_.submit(ask_of(workload_, job), static_cast<std::uint32_t>(job.requested), trace_time(job.submit));
    MR_ASSERT(key && key->value == next_);  // nothing is refused by an empty configuration, so keys count the jobs
    out_.push_back({job.submit, -1, -1, workload_.processors_of(job), {}});
  }

  void depart() {
    now_ = std::max(now_, ends_.top().first);
    replay_.end(JobKey{ends_.top().second}, trace_time(now_));
    ends_.pop();
  }

  void start() {
    for (const JobKey key : replay_.plan(trace_time(now_))) {
      ReplayedJob& job = out_[key.value - 1];
      job.start = now_;
      job.end = now_ + jobs_[key.value - 1].run;
      ends_.emplace(job.end, key.value);
    }
    auto& pinned = replay_.planner.pinned;
    if (pinned && out_[pinned->key.value - 1].start >= 0) pinned.reset();
    if (!pinned && !replay_.findings().empty()) {
      const Finding& head = replay_.findings().front();
      pinned = PinnedHead{head.key, head.planned_start};
    }
  }

  using End = std::pair<std::int64_t, std::uint64_t>;  // second, job key
  const Workload& workload_;
  std::span<const WorkloadJob> jobs_;
  Replay replay_;
  std::int64_t now_ = 0;
  std::size_t next_ = 0;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<ReplayedJob> out_;
};

}  // namespace

Workload published_workload(const SwfTrace& trace, std::int64_t processors) {
  Workload workload;
  std::size_t zero = 0, too_wide = 0;
  for (const SwfJob& from : trace.jobs) {
    WorkloadJob job;
    const std::int64_t width = std::max(from.allocated, from.requested_processors);
    job.run = from.run < 0 ? 10 : from.run;
    job.requested = from.requested_time == -1 ? job.run : from.requested_time;
    job.submit = from.submit;
    if (job.run == 0) {
      ++zero;
      continue;
    }
    if (width <= 0 || width > processors) {
      ++too_wide;
      continue;
    }
    job.requested = std::max<std::int64_t>(job.requested, 1);
    job.tasks = static_cast<std::uint32_t>(width);
    job.user = from.user < 0 ? 0 : static_cast<std::uint32_t>(from.user);
    workload.jobs.push_back(job);
  }
  if (zero > 0) workload.notes.push_back(std::to_string(zero) + " jobs with a run time of 0 left out");
  if (too_wide > 0)
    workload.notes.push_back(std::to_string(too_wide) + " jobs without processors or wider than the machine left out");
  return workload;
}

Result<Metrics> replay_published(const Workload& workload, const PublishedRecipe& recipe) {
  const std::size_t needed = std::ranges::max(published_starts) + published_sequence;
  if (workload.jobs.size() < needed)
    return fail(Errc::invalid, "the ten sequences need " + std::to_string(needed) + " jobs, and the trace has " +
                                   std::to_string(workload.jobs.size()));
  std::vector<Metrics> runs;
  for (const std::size_t first : published_starts) {
    const std::span<const WorkloadJob> jobs = std::span{workload.jobs}.subspan(first, published_sequence);
    runs.push_back(measure(Sequence(workload, jobs, recipe).go(), recipe.processors, Until::last_start));
  }
  return mean_of(runs);
}

}  // namespace millrace
