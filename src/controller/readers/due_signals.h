// src/controller/readers/due_signals.h - --signal: which running jobs are to be told that their time is nearly over,
// and when.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/ledger/state.h"
#include "job.pb.h"

namespace millrace {

// Derived from the ledger and forgotten with the process: after a restart a signal may go out again, which a supervisor
// that has had it knows.
class DueSignals {
 public:
  struct Due {
    JobKey key;
    wire::JobSignal signal;
  };
  void look_at(const State& state, JobKey key);  // it has changed, or may have
  void look_at_all(const State& state);
  Time next() const;  // never: none
  std::vector<Due> take(Time now);
  void put_off(const State& state, JobKey key, Time until);  // one that was taken: a node of it does not answer

 private:
  struct Entry {
    Attempt attempt;
    Time at;
    wire::JobSignal signal;
  };
  void forget(JobKey key);
  std::map<JobKey, Entry> waiting_;
  std::set<std::pair<Time, JobKey>> order_;
  std::map<JobKey, Attempt> sent_;  // of jobs that still run
};

}  // namespace millrace
