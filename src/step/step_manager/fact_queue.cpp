// src/step/step_manager/fact_queue.cpp - see fact_queue.h.
#include "step/step_manager/fact_queue.h"

#include <algorithm>

namespace millrace {

void FactQueue::add(wire::StepFact fact, std::int64_t now_us, std::int64_t within_us) {
  const std::uint32_t id = fact.id();
  facts_[id] = std::move(fact);
  if (under_way_.empty()) due_us_ = std::min(due_us_, now_us + within_us);
}

std::int64_t FactQueue::due_us() const { return facts_.empty() ? INT64_MAX : due_us_; }

std::optional<wire::StepFacts> FactQueue::next_batch(std::int64_t now_us) {
  if (facts_.empty() || now_us < due_us_) return std::nullopt;
  wire::StepFacts batch;
  batch.set_number(++number_);
  under_way_.clear();
  for (const auto& [id, fact] : facts_) {
    if (batch.facts_size() == batch_max) break;
    *batch.add_facts() = fact;
    under_way_.push_back({id, fact.ended(), fact.time_limit_minutes()});
  }
  due_us_ = now_us + answer_patience_us;
  return batch;
}

void FactQueue::heard(std::uint64_t number, std::int64_t now_us) {
  if (number != number_ || under_way_.empty()) return;  // of a batch that was made anew: the newer one is answered too
  for (const Told& told : under_way_) {
    const auto found = facts_.find(told.step);
    const bool same = found != facts_.end() && found->second.ended() == told.ended &&
                      found->second.time_limit_minutes() == told.time_limit_minutes;
    if (same) facts_.erase(found);
  }
  const bool more_waits = under_way_.size() == batch_max;
  under_way_.clear();
  due_us_ = facts_.empty() ? INT64_MAX : more_waits ? now_us : now_us + gather_us;
}

std::vector<wire::StepFact> FactQueue::unheard() const {
  std::vector<wire::StepFact> out;
  for (const auto& [id, fact] : facts_) out.push_back(fact);
  return out;
}

}  // namespace millrace
