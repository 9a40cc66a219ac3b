// src/core/model/run_history.cpp - see run_history.h.
#include "core/model/run_history.h"

#include <algorithm>

namespace millrace {

RunHistory remember_run(RunHistory history, std::uint32_t run_seconds) {
  return {std::max(run_seconds, 1u), history.last};
}

std::uint32_t predicted_seconds(const RunHistory& history, std::uint32_t requested_seconds) {
  const std::uint32_t requested = std::max(requested_seconds, 1u);
  if (history.last == 0 || history.before == 0) return requested;
  const auto mean = (static_cast<std::uint64_t>(history.last) + history.before) / 2;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(mean, requested));
}

}  // namespace millrace
