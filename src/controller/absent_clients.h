// src/controller/absent_clients.h - InactiveLimit: allocations whose srun or salloc has been gone for too long. Pure:
// the caller has the clock.
#pragma once

#include <map>
#include <vector>

#include "core/ledger/state.h"

namespace millrace {

// Counts only those that had a client in this life of the controller: one of `salloc --no-shell` has none on purpose.
class AbsentClients {
 public:
  void came(JobKey key) { left_.erase(key); }
  void left(const State& state, JobKey key, Time now);
  // Those that are due, each once; without a limit none.
  std::vector<JobKey> take_due(const State& state, Duration limit, Time now);

 private:
  std::map<JobKey, Time> left_;
};

}  // namespace millrace
