// src/controller/readers/absent_clients.h - jobs whose srun or salloc is gone: an allocation after InactiveLimit, a job
// that still waits after a short grace. Pure: the caller has the clock.
#pragma once

#include <map>
#include <vector>

#include "core/ledger/state.h"

namespace millrace {

// A waiting job of srun or salloc is of no use without its client, and its port may soon be somebody else's. A client
// whose connection breaks, or whose controller is started again, comes back within seconds. Time here is counted in
// calls, one a second, so that a step of the clock ends nobody's job.
constexpr std::uint32_t client_grace_seconds = 30;
constexpr std::uint32_t client_grace_at_start_seconds = 120;  // relays must find the controller first

// `steady` is of the clock that nobody sets. Counts only those that had a client in this life of the controller, or
// wait for one: an allocation of `salloc
// --no-shell` that runs has none on purpose.
class AbsentClients {
 public:
  void came(JobKey key) { left_.erase(key); }
  void left(const State& state, JobKey key, Time steady);
  // It was submitted, and its client has yet to ask how it comes along.
  void expect(const State& state, JobKey key, Time steady);
  // The controller has just started: every waiting job has yet to hear of its client.
  void expect_all(const State& state, Time steady);
  // Those that run and are due, each once; without a limit none.
  std::vector<JobKey> take_due(const State& state, Duration limit, Time now, Time steady);
  // A second has passed: those that still wait and whose grace is over, each once.
  std::vector<JobKey> take_abandoned(const State& state);

 private:
  struct Gone {
    Time since;
    std::uint32_t grace_seconds = client_grace_seconds;
  };
  std::map<JobKey, Gone> left_;
};

}  // namespace millrace
