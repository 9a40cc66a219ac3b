// src/core/planner/explain.h - why a job waits, in words: what blocks it, what would let it start sooner, when it will
// start and how sure that is.
#pragma once

#include <string>
#include <vector>

#include "core/planner/suggest.h"

namespace millrace {

struct Explanation {
  Reason reason{};
  std::vector<std::string> words;  // whole sentences, the most important first
  Time start;                      // expected; not set: it cannot be said
  std::vector<std::uint32_t> nodes;
  std::string certainty;  // how sure that is
  std::vector<Suggestion> suggestions;
};

// Of a pending job. Takes as long as a few planning passes: for a worker, not for the loop.
Explanation explain(const State& state, const PlannerSettings& settings, JobKey key, Time now);

// Of a job that started: what it waited for, one sentence each.
std::vector<std::string> wait_in_words(const Job& job);

}  // namespace millrace
