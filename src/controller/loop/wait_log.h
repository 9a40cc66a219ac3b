// src/controller/loop/wait_log.h - what plans said about waiting jobs, until they start and it becomes part of their
// history.
#pragma once

#include <map>

#include "core/planner/plan.h"

namespace millrace {

class WaitLog final {
 public:
  void note(const Plan& plan, const State& state);
  // What is known of this job, which starts now.
  std::optional<WaitHistory> take(const Job& job, Time now);

 private:
  std::map<JobKey, WaitHistory> waiting_;
};

}  // namespace millrace
