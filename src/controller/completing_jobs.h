// src/controller/completing_jobs.h - CompleteWait: while jobs leave their nodes no others start, so that a wide one
// finds them together. Pure: the caller has the clock.
#pragma once

#include <map>

#include "core/ledger/state.h"

namespace millrace {

class CompletingJobs {
 public:
  // To be told of every job that changed.
  void look_at(const State& state, JobKey key, Time now);
  // How long nobody may start yet; 0: at once. One that takes longer than the limit holds up no one.
  Duration wait(Duration limit, Time now) const;

 private:
  std::map<JobKey, Time> since_;
};

}  // namespace millrace
