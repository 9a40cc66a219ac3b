// src/controller/loop/wait_log.cpp - see wait_log.h.
#include "controller/loop/wait_log.h"

namespace millrace {

constexpr std::size_t spans_max = 16;  // of one job; a reason that comes and goes is not told for ever

void WaitLog::note(const Plan& plan, const State& state) {
  for (const Finding& finding : plan.findings) {
    WaitHistory& history = waiting_[finding.key];
    if (history.spans.size() < spans_max && (history.spans.empty() || history.spans.back().reason != finding.reason))
      history.spans.push_back({finding.reason, plan.made_at});
    if (!history.planned_start.is_set() && finding.planned_start.is_set()) {
      history.planned_at = plan.made_at;
      history.planned_start = finding.planned_start;
    }
  }
  if (waiting_.size() <= 1000 + 2 * plan.findings.size()) return;
  std::erase_if(waiting_, [&](const auto& entry) {
    const Job* job = state.find_job(entry.first);
    return !job || job->state != JobState::pending;
  });
}

std::optional<WaitHistory> WaitLog::take(const Job& job, Time now) {
  WaitHistory history;
  if (const auto it = waiting_.find(job.key); it != waiting_.end()) {
    history = it->second;
    if (!job.is_array_rest()) waiting_.erase(it);
  }
  // Before a plan spoke of it, it stood behind others; a start within seconds is no wait.
  const Time eligible = job.eligible_at.is_set() ? job.eligible_at : job.submitted_at;
  const Time first = history.spans.empty() ? now : history.spans.front().from;
  if (first - eligible > seconds(5)) history.spans.insert(history.spans.begin(), {Reason::priority, eligible});
  if (history.spans.empty()) return std::nullopt;
  return history;
}

}  // namespace millrace
