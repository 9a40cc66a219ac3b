// src/apps/local_questions.h - what `millrace up`, `down` and `doctor` ask a controller.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "client/session.h"
#include "config/configuration.h"

namespace millrace {

SessionOptions session_options(const Configuration& configuration, Duration patience);

struct NodeCounts {
  std::uint32_t all = 0, ready = 0;    // ready: idle or at work, and answering
  std::vector<std::string> not_ready;  // "n3 is down: reason"
};
Result<NodeCounts> count_nodes(Session& session);

// The controller's clock minus ours; half of the round trip is its error.
Result<Duration> clock_difference(Session& session);

// Closes the partitions, so that nothing new starts, and cancels what runs; waits until all of it has ended.
struct EndedJobs {
  std::uint32_t cancelled = 0, pending = 0;
};
Result<EndedJobs> end_running_jobs(const Configuration& configuration, Duration patience);

}  // namespace millrace
