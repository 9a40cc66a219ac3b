// src/core/admission/suspend_job.cpp - see suspend_job.h.
#include "core/admission/suspend_job.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/ledger/apply.h"
#include "core/ledger/cpu_holders.h"

namespace millrace {
namespace {

// Which CPUs are taken, node by node, while it is decided who goes on.
class Occupied {
 public:
  explicit Occupied(const State& state) : state_(state) {}
  bool overlaps(const Job& job) const {
    return std::ranges::any_of(job.placement->shares, [&](const NodeShare& share) {
      const auto it = bits_.find(share.node);
      return !share.released && it != bits_.end() && have_common_bits(it->second, bits_of(share));
    });
  }
  void add(const Job& job) {
    for (const NodeShare& share : job.placement->shares)
      if (!share.released) add_bits(bits_[share.node], bits_of(share));
  }

 private:
  CpuBits bits_of(const NodeShare& share) const { return cpus_of(*state_.node(share.node).def, share); }
  const State& state_;
  std::map<NodeIndex, CpuBits> bits_;
};

bool takes_turns(const Job& job) {
  return job.placement->shared && (job.state == JobState::running || job.wants_cpus_back());
}

}  // namespace

Decision decide_suspend(const State& state, const SelectedJob& which, const Actor& actor, Time now) {
  const Job& job = state.job(which.key);
  if (!actor.is_admin) return refuse(RefusalCode::access_denied);
  if (job.het) return refuse(RefusalCode::not_supported, "heterogeneous jobs cannot be suspended yet");
  if (which.task || job.state == JobState::pending) return refuse(RefusalCode::job_pending);
  if (job.state == JobState::completing || job.state == JobState::ended) return refuse(RefusalCode::already_done);
  const bool kept = job.state == JobState::suspended && !job.suspension->wants_cpus;
  if (kept) return refuse(RefusalCode::suspended);
  return std::vector<Event>{JobSuspended{job.key, SuspendWhy::administrator, {}, actor.uid, now}};
}

Decision decide_resume(const State& state, const SelectedJob& which, const Actor& actor, Time now) {
  const Job& job = state.job(which.key);
  if (!actor.is_admin) return refuse(RefusalCode::access_denied);
  if (job.state == JobState::completing || job.state == JobState::ended) return refuse(RefusalCode::already_done);
  if (which.task || job.state != JobState::suspended) return refuse(RefusalCode::not_suspended);
  std::vector<Event> events;
  if (!job.suspension->wants_cpus) events.emplace_back(JobResumeWanted{job.key, actor.uid, now});
  if (cpus_are_free(state, job)) events.emplace_back(JobResumed{job.key, now});
  return events;
}

std::vector<Event> decide_resumptions(const State& state, Time now) {
  std::vector<const Job*> waiting;
  for (const auto& [key, nothing] : state.suspended)
    if (const Job& job = state.job(key); job.suspension->wants_cpus) waiting.push_back(&job);
  if (waiting.empty()) return {};
  std::ranges::sort(waiting, {}, [&](const Job* job) {
    const std::uint32_t tier = state.partition(job->spec->partition).def.priority_tier;
    return std::tuple{unlimited - tier, unlimited - job->priority, job->suspension->changed_at, job->key};
  });
  std::vector<Event> events;
  State after = state;
  for (const Job* job : waiting) {
    if (!cpus_are_free(after, *job)) continue;
    const Event resumed = JobResumed{job->key, now};
    apply(after, resumed);
    events.push_back(resumed);
  }
  return events;
}

std::vector<Event> decide_turn(const State& state, Time now) {
  std::vector<const Job*> turning;
  Occupied occupied(state);
  for (const auto& [key, nothing] : state.active) {
    const Job& job = state.job(key);
    if (state.policy->gang && takes_turns(job))
      turning.push_back(&job);
    else if (job.holds_cpus())
      occupied.add(job);
  }
  std::ranges::sort(turning, {}, [](const Job* job) {
    const Time since = job->suspension ? job->suspension->changed_at : job->started_at;
    return std::tuple{job->state == JobState::running, since, job->key};
  });
  TimeSliceTurned turned{{}, {}, now};
  for (const Job* job : turning) {
    const bool runs = !occupied.overlaps(*job);
    if (runs) occupied.add(*job);
    if (runs && job->state == JobState::suspended) turned.resumed.push_back(job->key);
    if (!runs && job->state == JobState::running) turned.suspended.push_back(job->key);
  }
  return {turned};
}

}  // namespace millrace
