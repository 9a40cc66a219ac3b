// src/core/planner/explain.h - why a job waits, in words: what blocks it, what would let it start sooner, when it will
// start and how sure that is.
#pragma once

#include <memory>
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

// So many steps of planning one question is worth; what is not known then is left out.
constexpr std::int64_t question_steps = 20'000'000;

// Works an explanation of a pending job out, in slices: as long as a few planning passes in all, for a worker and not
// for the loop.
class Explaining {
 public:
  Explaining(State state, PlannerSettings settings, JobKey key, Time now, std::int64_t steps_most = question_steps);
  ~Explaining();
  // Does about this many steps of a pass more; true when it is worked out.
  bool advance(std::int64_t steps);
  std::int64_t steps() const;
  Explanation take();

 private:
  class Inner;
  std::unique_ptr<Inner> inner_;
};

// The same at once.
Explanation explain(const State& state, const PlannerSettings& settings, JobKey key, Time now);

// Of a job that started: what it waited for, one sentence each.
std::vector<std::string> wait_in_words(const Job& job);

}  // namespace millrace
