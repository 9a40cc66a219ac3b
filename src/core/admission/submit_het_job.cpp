// src/core/admission/submit_het_job.cpp - see submit_het_job.h.
#include "core/admission/submit_het_job.h"

#include <algorithm>

#include "core/ledger/apply.h"

namespace millrace {
namespace {

using Checked = std::expected<void, Refusal>;

// What is said about the job as a whole is said before the first ':'.
Checked check_component(const SubmitJob& ask, bool leads) {
  if (!ask.array.empty()) return refuse(RefusalCode::invalid_array, "a heterogeneous job cannot be an array");
  if (ask.spec.interactive) return refuse(RefusalCode::not_supported, "only batch jobs can be heterogeneous");
  if (ask.wishes.time_min_minutes.value_or(0) != 0)
    return refuse(RefusalCode::not_supported, "the limit of a heterogeneous job cannot be shortened (--time-min)");
  if (leads) return {};
  if (!ask.dependency.empty())
    return refuse(RefusalCode::dependency, "the first component says what the job depends on");
  if (ask.priority) return refuse(RefusalCode::not_supported, "the first component has the priority of the job");
  return {};
}

std::unexpected<Refusal> of_component(std::size_t offset, Refusal refusal) {
  const std::string which = "component " + std::to_string(offset) + ": ";
  if (refusal.notes.empty())
    refusal.notes.push_back(which + slurm_text(refusal.code));
  else
    refusal.notes.back().insert(0, which);
  return std::unexpected(std::move(refusal));
}

// It waits, begins and comes back as its leader does.
void follow(JobSubmitted& component, const JobSubmitted& leader) {
  component.hold = leader.hold;
  component.priority = leader.priority;
  component.priority_fixed = leader.priority_fixed;
  component.spec.nice = leader.spec.nice;
  component.spec.requeue = leader.spec.requeue;
  component.spec.kill_on_invalid_dependency = leader.spec.kill_on_invalid_dependency;
}

}  // namespace

std::expected<DecidedSubmission, Refusal> decide(const State& state, std::vector<SubmitJob> components,
                                                 const Actor& actor, Time now) {
  SubmitJob& leader = components.front();
  if (components.size() == 1) return decide(state, leader, actor, now);
  if (leader.spec.submission != SubmissionKey{})
    if (const JobKey* known = state.submissions.find({leader.spec.owner->uid, leader.spec.submission}))
      return DecidedSubmission{state.job(*known).id, true, {}};
  if (components.size() > het_components_max)
    return refuse(RefusalCode::too_many_components,
                  "a heterogeneous job has at most " + std::to_string(het_components_max) + " components");
  for (std::size_t i = 0; i < components.size(); ++i) {
    if (auto allowed = check_component(components[i], i == 0); !allowed)
      return of_component(i, std::move(allowed).error());
    leader.hold = leader.hold || components[i].hold;
    leader.begin_at = std::max(leader.begin_at, components[i].begin_at);
  }
  // Each on what the ones before it left: limits count all of them.
  HetJobSubmitted whole;
  whole.at = now;
  State copy = state;
  const auto first = next_job_ids(state, state.last_id, static_cast<std::uint32_t>(components.size()));
  if (!first)
    return refuse(RefusalCode::too_many_jobs, "no consecutive numbers are left between FirstJobId and MaxJobId");
  for (std::size_t i = 0; i < components.size(); ++i) {
    SubmitJob& ask = components[i];
    if (i > 0) {
      ask.spec.submission = {};
      ask.script_bytes = leader.script_bytes;
      ask.hold = false;
      ask.begin_at = Time{};
      ask.spec.nice = 0;
    }
    auto one = decide(copy, ask, actor, now);
    if (!one) return of_component(i, std::move(one).error());
    JobSubmitted submitted = std::get<JobSubmitted>(std::move(one->events.front()));
    submitted.id = JobId{first->value + static_cast<std::uint32_t>(i)};
    if (i > 0) follow(submitted, whole.components.front());
    apply(copy, submitted);
    whole.components.push_back(std::move(submitted));
  }
  return DecidedSubmission{*first, false, {Event{std::move(whole)}}};
}

}  // namespace millrace
