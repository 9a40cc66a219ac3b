// src/core/planner/suggest.h - what would let a waiting job start sooner: each change was tried on a copy of the plan.
#pragma once

#include <string>
#include <vector>

#include "core/ledger/event.h"
#include "core/planner/trial.h"

namespace millrace {

// The smallest change of its kind: any larger one of the same kind would do as well.
struct Suggestion {
  std::string change;  // "with a time limit of up to 59 minutes"
  Time start;
  bool now = false;
  JobModified event;  // what was tried
};

// "2 hours 5 minutes", "1 task".
std::string span_words(Duration span);
std::string count_of(std::int64_t count, const std::string& what);

// For a job that starts as in `as_is` (not set: never). The memo is for these trials alone.
std::vector<Suggestion> suggestions_for(const State& state, const PlannerSettings& settings, const Job& job, Time now,
                                        const Trial& as_is, Memo& memo);

}  // namespace millrace
