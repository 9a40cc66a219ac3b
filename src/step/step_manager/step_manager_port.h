// src/step/step_manager/step_manager_port.h - what a step manager needs of the world.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace millrace::wire {
class StepFromNode;
}  // namespace millrace::wire

namespace millrace {

// No call waits for anybody, and none calls the step manager back.
class StepManagerPort {
 public:
  virtual ~StepManagerPort() = default;
  // To the agent of this node, which obeys it or passes it on. It may get lost, and nobody says so.
  virtual void send(const wire::StepFromNode& message) = 0;
  // This number was given out, and never is again, even by whoever finds the attempt without us.
  virtual Result<void> write_step(std::uint32_t id) = 0;
  virtual std::int64_t monotonic_us() const = 0;
  virtual std::int64_t wall_us() const = 0;  // since 1970; for the log alone
};

}  // namespace millrace
