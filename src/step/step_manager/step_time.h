// src/step/step_manager/step_time.h - the time limit of one step, and the warning before it. Pure.
#pragma once

#include <cstdint>

#include "agent.pb.h"

namespace millrace {

// Of a step's own, in minutes; 0: none.
std::uint32_t step_limit_of(const wire::JobDescription& step);
// As an update asks for it; likewise.
std::uint32_t step_limit_of(const wire::StepUpdate& update);

class StepTime {
 public:
  enum class Due : std::uint8_t { nothing, warning, end };

  void begin(const wire::JobDescription& asked, std::int64_t now_us);
  void set_limit(std::uint32_t minutes);  // counted from its begin, so a shorter one may be over already
  // It was suspended since then, and used none of its time.
  void resumed(std::int64_t suspended_us, std::int64_t now_us);

  std::int64_t due_us() const;        // when take_due() has something to say; INT64_MAX: never
  Due take_due(std::int64_t now_us);  // the warning once, the end again and again
  bool is_over() const { return end_again_us_ != 0; }
  std::uint32_t limit_minutes() const { return limit_minutes_; }
  const wire::JobSignal& warning() const { return warning_; }

 private:
  std::int64_t over_us() const;
  std::int64_t warning_us() const;

  std::int64_t begun_us_ = 0;  // monotonic; later by the time it was suspended
  std::uint32_t limit_minutes_ = 0;
  wire::JobSignal warning_;  // --signal
  bool warned_ = false;
  std::int64_t end_again_us_ = 0;  // 0: its time is not over
};

}  // namespace millrace
