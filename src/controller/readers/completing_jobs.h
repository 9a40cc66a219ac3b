// src/controller/readers/completing_jobs.h - CompleteWait: while jobs leave their nodes no others start, so that a wide
// one finds them together.
#pragma once

#include <map>

#include "controller/readers/reader.h"

namespace millrace {

class CompletingJobs final : public Reader {
 public:
  explicit CompletingJobs(const Clock& clock) : clock_(clock) {}
  void recovered(const State& state) override;
  void advanced(const Advance& step) override;
  // To be told of every job that changed.
  void look_at(const State& state, JobKey key, Time now);
  // How long nobody may start yet; 0: at once. One that takes longer than the limit holds up no one.
  Duration wait(Duration limit, Time now) const;

 private:
  const Clock& clock_;
  std::map<JobKey, Time> since_;
};

}  // namespace millrace
