// src/controller/readers/job_completion.h - what is told of a job that ended: a line for a file, variables for a
// program (JobCompType). Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/ledger/state.h"

namespace millrace {

struct JobCompletion {
  JobId id;
  std::string line;                    // KEY=VALUE KEY=VALUE ...
  std::vector<std::string> variables;  // NAME=value
};

class JobCompletions {
 public:
  // Those that have ended before the controller started: told again, for a file that may lack them.
  std::vector<JobCompletion> remember(const State& state, const std::string& cluster);
  std::vector<JobCompletion> look(const State& state, JobKey key, const std::string& cluster);

 private:
  std::set<JobKey> told_;  // of those that are still known
};

JobCompletion completion_of(const State& state, const Job& job, const std::string& cluster);

}  // namespace millrace
