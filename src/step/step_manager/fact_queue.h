// src/step/step_manager/fact_queue.h - what a step manager has to tell of its steps, in batches, until each is known to
// be in the log. Pure: the caller has the clock and the wire.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "agent.pb.h"

namespace millrace {

// One batch is under way at a time, so that what comes meanwhile goes together; a batch nobody has answered is made
// anew, with what has come since. Whoever hears one twice sees that by the numbers of the steps.
class FactQueue {
 public:
  static constexpr std::int64_t gather_us = 200'000;
  static constexpr std::int64_t answer_patience_us = 5'000'000;
  static constexpr int batch_max = 500;

  void add(wire::StepFact fact, std::int64_t now_us,
           std::int64_t within_us = gather_us);  // a start, or the whole of a step with its end
  bool is_heard(std::uint32_t step) const { return !facts_.contains(step); }  // as it was last added
  std::optional<wire::StepFacts> next_batch(std::int64_t now_us);             // none: not now
  void heard(std::uint64_t number, std::int64_t now_us);
  std::int64_t due_us() const;  // when next_batch() will have one; INT64_MAX: when something is added

  // Everything not known to be heard, in the order of the steps.
  std::vector<wire::StepFact> unheard() const;

 private:
  std::map<std::uint32_t, wire::StepFact> facts_;
  struct Told {
    std::uint32_t step = 0;
    bool ended = false;
    std::uint32_t time_limit_minutes = 0;
  };
  std::vector<Told> under_way_;
  std::uint64_t number_ = 0;  // of the latest batch
  std::int64_t due_us_ = INT64_MAX;
};

}  // namespace millrace
