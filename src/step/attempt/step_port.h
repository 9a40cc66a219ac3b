// src/step/attempt/step_port.h - what the step manager of an attempt reaches through its supervisor.
#pragma once

#include "step/attempt/channel.h"
#include "step/attempt/spool.h"
#include "step/step_manager/step_manager_port.h"

namespace millrace {

class StepPort final : public StepManagerPort {
 public:
  StepPort(AttemptSpool& spool, Channel& agent) : spool_(spool), agent_(agent) {}
  void send(const wire::StepFromNode& message) override;  // lost while no agent is there
  Result<void> write_step(std::uint32_t id) override { return spool_.write_step(id); }
  std::int64_t monotonic_us() const override;
  std::int64_t wall_us() const override;

 private:
  AttemptSpool& spool_;
  Channel& agent_;
};

}  // namespace millrace
