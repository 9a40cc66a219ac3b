// src/sim/published.h - the recipe of the RLScheduler comparison (SC'20), to the letter: its numbers are how we know
// that ours mean something.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/metrics.h"
#include "sim/workload.h"

namespace millrace {

struct PublishedRecipe {
  std::int64_t processors = 0;
  OrderPolicy order = OrderPolicy::fcfs;
  bool backfill = false;
};

// Ten sequences of this many consecutive jobs, each from an empty machine.
constexpr std::size_t published_sequence = 1024;
constexpr std::size_t published_starts[] = {1981, 2756, 4299, 8850, 3316, 2714, 5228, 7762, 4022, 7085};

// Their way to load a trace: processors are the larger of allocated and requested, a missing request is the run time, a
// run time below 0 is 10 seconds, a run time of 0 is dropped. Run times may exceed requests.
Workload published_workload(const SwfTrace& trace, std::int64_t processors);

// The mean over the sequences. An error when the trace is too short for them.
Result<Metrics> replay_published(const Workload& workload, const PublishedRecipe& recipe);

}  // namespace millrace
