// src/sim/scenario_explain.cpp - see scenario_explain.h.
#include "sim/scenario_explain.h"

#include "core/ledger/limits.h"
#include "core/ledger/obstacle.h"
#include "core/planner/explain.h"

namespace millrace {

Reason squeue_reason(const State& state, const Job& job, std::span<const Finding> findings, Time now) {
  Reason reason = standing_obstacle(state, job, now);
  const auto limit = whole_start_hit(state, job, now);
  if (reason == Reason::none) reason = limit ? reason_of(*limit) : Reason::priority;
  for (const Finding& finding : findings)
    if (finding.key == job.key) reason = finding.reason;
  return reason;
}

std::string explain_answer(const State& state, const PlannerSettings& settings,
                           const std::vector<std::string>& expectation, const Job* job, Time now) {
  const std::string& kind = expectation[0];
  if ((kind != "says" && kind != "silent") || !job || job->state != JobState::pending) return {};
  const Explanation found = explain(state, settings, job->key, now);
  std::string all;
  for (const std::string& sentence : found.words) all += sentence + " ";
  if (found.start.is_set())
    all += "Starts at " + std::to_string(found.start.seconds() - 1'000'000) + " " + found.certainty + ". ";
  for (const Suggestion& each : found.suggestions)
    all += "Change: " + each.change +
           (each.now ? " starts now. " : " starts at " + std::to_string(each.start.seconds() - 1'000'000) + ". ");
  std::string wanted;
  for (std::size_t i = 2; i < expectation.size(); ++i) wanted += (wanted.empty() ? "" : " ") + expectation[i];
  const bool said = all.contains(wanted);
  return kind + " " + expectation[1] + " " + (said == (kind == "says") ? wanted : all);
}

}  // namespace millrace
