// src/controller/readers/job_programs.h - PrologSlurmctld and EpilogSlurmctld: what the controller runs for a job
// before it is launched and after it is gone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/readers/reader.h"

namespace millrace {

// What has to be run is in the ledger (Job::program), so that a controller after a crash runs it again; what nobody
// waits for any more is killed.
class JobPrograms final : public Reader {
 public:
  explicit JobPrograms(const Context& context) : c_(context) {}
  void recovered(const State& state) override;
  void advanced(const Advance& step) override;

 private:
  struct Running {
    Attempt attempt;
    JobProgram which{};
    std::vector<std::string> left;
    Duration limit{};
    Programs::Id id = 0;  // 0: between two, or done
  };
  void look_at(JobKey key);
  void run_next(JobKey key);
  void ended(JobKey key, bool failed);

  const Context& c_;
  std::map<JobKey, Running> running_;
};

}  // namespace millrace
