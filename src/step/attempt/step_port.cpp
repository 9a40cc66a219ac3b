// src/step/attempt/step_port.cpp - see step_port.h.
#include "step/attempt/step_port.h"

#include <ctime>

#include "agent.pb.h"

namespace millrace {

static std::int64_t clock_us(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

void StepPort::send(const wire::StepFromNode& message) {
  wire::FromStep envelope;
  *envelope.mutable_step() = message;
  agent_.send(envelope.SerializeAsString());
}

std::int64_t StepPort::monotonic_us() const { return clock_us(CLOCK_MONOTONIC); }

std::int64_t StepPort::wall_us() const { return clock_us(CLOCK_REALTIME); }

}  // namespace millrace
