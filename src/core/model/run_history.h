// src/core/model/run_history.h - how long a job will run, from what its user's last jobs did: users ask for far more
// than they need.
#pragma once

#include <cstdint>

#include "base/fields.h"

namespace millrace {

// The run times of a user's last two jobs that ended, in seconds; 0: there is none yet.
struct RunHistory {
  std::uint32_t last = 0, before = 0;
  bool operator==(const RunHistory&) const = default;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit(2, "last", self.last);
    visit(3, "before", self.before);
  }
};

RunHistory remember_run(RunHistory history, std::uint32_t run_seconds);

// The mean of both, at most what was requested; what was requested where fewer than two are known. At least 1.
// When a job runs longer than predicted, planned_release (core/planner/timeline.h) goes back to its limit.
std::uint32_t predicted_seconds(const RunHistory& history, std::uint32_t requested_seconds);

}  // namespace millrace
