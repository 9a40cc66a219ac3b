// src/step/attempt/attempt_usage.h - what the tasks of an attempt use: looked at when somebody asks and now and then,
// and summed up at their ends.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "agent.pb.h"
#include "step/attempt/proc.h"
#include "step/attempt/running_task.h"

namespace millrace {

class AttemptUsage {
 public:
  explicit AttemptUsage(std::uint32_t look_every_seconds)  // 0: only when asked
      : every_us_(static_cast<std::int64_t>(look_every_seconds) * 1'000'000) {}

  void look(std::vector<RunningTask>& tasks, std::int64_t now_us);  // at running tasks, with what they started
  std::int64_t due_us() const { return due_us_; }                   // when to look again; INT64_MAX: when asked
  void take_end(std::vector<RunningTask>& tasks, pid_t pid, const rusage& used,
                const ProcessUsage& io);  // of a child that has ended
  void take_gpus(const wire::LaunchPlan& plan, const wire::GpuReadings& readings);
  // As it was seen last. `all`: every process of the attempt.
  wire::StepSample sample(const std::vector<RunningTask>& tasks, const std::vector<pid_t>& all) const;
  const wire::StepUsage& total() const { return total_; }  // of all that has ended

 private:
  std::int64_t every_us_;
  std::int64_t due_us_ = INT64_MAX;
  wire::StepUsage total_;
};

}  // namespace millrace
