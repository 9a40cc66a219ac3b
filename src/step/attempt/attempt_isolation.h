// src/step/attempt/attempt_isolation.h - how an attempt is kept apart from the others on its node: its cgroup, its
// CPUs, its own /tmp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "agent.pb.h"
#include "base/log.h"
#include "core/model/cpu_bind.h"
#include "isolation/cgroup.h"
#include "step/attempt/spool.h"
#include "step/environment/environment.h"
#include "step/launch/launch.h"

namespace millrace {

// begin() before anything of the job runs: what is made there is written down first, so that an agent that finds us
// dead can clear it away. Then bind() for each task. end() when everything is dead; a cgroup that cannot be removed is
// left to the agent's next start, and the job's end does not wait for it.
class AttemptIsolation {
 public:
  AttemptIsolation(const wire::LaunchPlan& plan, const wire::Isolation& order) : plan_(plan), order_(order) {}

  Result<void> begin(std::uint32_t tasks, AttemptSpool& spool, Environment& environment, Log& log);
  void bind(TaskSpec& spec, std::uint32_t rank, std::uint32_t local_rank) const;
  const JobCgroup* cgroup() const { return cgroup_.get(); }  // null: before begin(), and where there are none
  bool is_empty() const;                                     // nobody is in the cgroup
  void kill_all() const;
  std::uint64_t oom_kills() const;
  void end();

 private:
  Result<void> choose_cpus(std::uint32_t tasks, Environment& environment);

  const wire::LaunchPlan& plan_;
  const wire::Isolation& order_;
  std::unique_ptr<JobCgroup> cgroup_;
  CpuBind bind_;
  MemoryBind memory_bind_;
  std::vector<std::uint32_t> allocated_cpus_;          // empty: tasks are not bound
  std::vector<std::vector<std::uint32_t>> task_cpus_;  // by local rank
};

}  // namespace millrace
