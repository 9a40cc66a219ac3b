// src/controller/loop/reconcile.cpp - see reconcile.h.
#include "controller/loop/reconcile.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace millrace {
namespace {

// A batch job has a process on its first node only, and so has a component of one, for its steps; srun's tasks are on
// all of them.
bool runs_here(const Job& job, NodeIndex here) {
  const auto& shares = job.placement->shares;
  if (job.is_component() && !job.placement->supervised) return false;
  if (job.spec->is_batch() && !job.placement->on_all_nodes) return shares.front().node == here;
  return std::ranges::any_of(shares, [&](const NodeShare& share) { return share.node == here && !share.released; });
}

KillWhy why_of(const Job& job) {
  if (job.preempt_due.is_set()) return KillWhy::preempted;
  if (job.requeue_wanted) return KillWhy::requeued;
  return job.outcome == Outcome::timeout ? KillWhy::time_limit : KillWhy::cancelled;
}

bool gave_up(const Job& job, NodeIndex here) {
  return std::ranges::any_of(job.placement->shares, [&](const NodeShare& share) {
    return share.node == here && share.given_up && !share.released;
  });
}

// Whoever keeps the steps of the job still wants to hear how one ended here, also where the job's own tasks are
// through.
bool answers_for_steps(const Job* job, Attempt attempt, NodeIndex here) {
  if (!job || job->attempt != attempt || !job->placement) return false;
  if (job->state != JobState::running && job->state != JobState::suspended) return false;
  return std::ranges::any_of(job->placement->shares,
                             [&](const NodeShare& share) { return share.node == here && !share.lost; });
}

bool may_have_steps(const Job* job, Attempt attempt, NodeIndex here) {
  return answers_for_steps(job, attempt, here) &&
         std::ranges::any_of(job->placement->shares,
                             [&](const NodeShare& share) { return share.node == here && !share.released; });
}

}  // namespace

std::vector<Intent> difference(const State& state, NodeIndex here, const std::vector<AttemptReport>& reported) {
  std::vector<Intent> intents;
  const auto* node = state.nodes.find(here);
  if (!node) return intents;
  // A node may have thousands of both: each is looked for, not looked through.
  std::map<std::pair<JobKey, Attempt>, const AttemptReport*> of_attempts;
  std::set<std::pair<JobKey, Attempt>> with_steps;
  for (const AttemptReport& report : reported) {
    if (!report.step)
      of_attempts.try_emplace({report.key, report.attempt}, &report);
    else if (!report.ended)
      with_steps.emplace(report.key, report.attempt);
  }
  for (const JobKey key : (*node)->jobs) {
    const Job& job = state.job(key);
    const bool leaves = job.placement->resized_at.is_set() && gave_up(job, here);
    // What was launched for its steps goes before what holds the node for them.
    if (leaves && with_steps.contains({key, job.attempt})) continue;
    if (!runs_here(job, here)) {
      if (leaves) intents.emplace_back(LetGoIntent{key, job.attempt});
      continue;
    }
    const auto found = of_attempts.find({key, job.attempt});
    const AttemptReport* seen = found == of_attempts.end() ? nullptr : found->second;
    const bool running_there = seen && !seen->ended;
    // One that is to go is killed even if the node does not know it: the launch may still be on its way.
    if ((job.state == JobState::completing || leaves) && (!seen || running_there))
      intents.emplace_back(KillIntent{key, job.attempt, why_of(job)});
    else if (job.state == JobState::running && !seen && state.job(leader_of(job)).program == JobProgram::none &&
             !job.boots)
      intents.emplace_back(LaunchIntent{key, job.attempt});
    // One that was suspended before it was launched is launched when it is resumed.
    const bool stopped = job.state == JobState::suspended;
    if (running_there && seen->suspended != stopped && job.state != JobState::completing)
      intents.emplace_back(SuspendIntent{key, job.attempt, stopped});
  }
  for (const AttemptReport& report : reported) {
    const Job* job = state.find_job(report.key);
    if (report.step) {
      if (report.ended && !answers_for_steps(job, report.attempt, here))
        intents.emplace_back(ForgetIntent{report.key, report.attempt, report.step});
      else if (!report.ended && !may_have_steps(job, report.attempt, here))
        intents.emplace_back(
            KillIntent{report.key, report.attempt, job ? why_of(*job) : KillWhy::not_wanted, report.step});
      continue;  // otherwise their step manager sees to them
    }
    const bool wanted = job && job->attempt == report.attempt && job->placement &&
                        std::ranges::binary_search((*node)->jobs, report.key) && runs_here(*job, here);
    if (wanted) continue;
    if (report.ended)
      intents.emplace_back(ForgetIntent{report.key, report.attempt});
    else
      intents.emplace_back(KillIntent{report.key, report.attempt, KillWhy::not_wanted});
  }
  return intents;
}

}  // namespace millrace
