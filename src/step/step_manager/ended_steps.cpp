// src/step/step_manager/ended_steps.cpp - see ended_steps.h.
#include "step/step_manager/ended_steps.h"

namespace millrace {

void EndedSteps::add(const std::string& secret, std::uint32_t step) {
  if (secret.empty() || !steps_.emplace(secret, step).second) return;
  order_.push_back(secret);
  if (order_.size() <= known_max) return;
  steps_.erase(order_.front());
  order_.pop_front();
}

std::optional<std::uint32_t> EndedSteps::find(const std::string& secret) const {
  const auto found = steps_.find(secret);
  return found == steps_.end() ? std::nullopt : std::optional{found->second};
}

}  // namespace millrace
