// src/step/step_manager/step_time.cpp - see step_time.h.
#include "step/step_manager/step_time.h"

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

constexpr std::int64_t minute_us = 60'000'000, second_us = 1'000'000;
constexpr std::int64_t end_again_after_us = 5 * second_us;  // a controller that was away did not pass the first one on
constexpr std::uint32_t unlimited_minutes = 0xffffffff;

}  // namespace

std::uint32_t step_limit_of(const wire::JobDescription& step) {
  const bool has_one = step.has_time_limit_minutes() && step.time_limit_minutes() != unlimited_minutes;
  return has_one ? step.time_limit_minutes() : 0;
}

std::uint32_t step_limit_of(const wire::StepUpdate& update) {
  return update.time_limit_minutes() == unlimited_minutes ? 0 : update.time_limit_minutes();
}

void StepTime::begin(const wire::JobDescription& asked, std::int64_t now_us) {
  begun_us_ = now_us;
  limit_minutes_ = step_limit_of(asked);
  if (asked.step_options().has_signal()) warning_ = asked.step_options().signal();
}

void StepTime::set_limit(std::uint32_t minutes) {
  limit_minutes_ = minutes;
  warned_ = false;
}

void StepTime::resumed(std::int64_t suspended_us, std::int64_t now_us) {
  begun_us_ += now_us - std::max(suspended_us, begun_us_);
}

std::int64_t StepTime::over_us() const { return begun_us_ + limit_minutes_ * minute_us; }

std::int64_t StepTime::warning_us() const {
  return warning_.signal() != 0 && !warned_ ? over_us() - warning_.seconds() * second_us : INT64_MAX;
}

std::int64_t StepTime::due_us() const {
  if (end_again_us_ != 0) return end_again_us_;
  return limit_minutes_ == 0 ? INT64_MAX : std::min(over_us(), warning_us());
}

StepTime::Due StepTime::take_due(std::int64_t now_us) {
  if (now_us < due_us()) return Due::nothing;
  if (end_again_us_ == 0 && now_us < over_us()) {
    warned_ = true;
    return Due::warning;
  }
  end_again_us_ = now_us + end_again_after_us;
  return Due::end;
}

}  // namespace millrace
