// src/agent/health.cpp - see health.h.
#include "agent/health.h"

#include <utility>

namespace millrace {

HealthChecks::HealthChecks(Loop& loop, Programs& programs, HealthSettings settings)
    : loop_(loop), programs_(programs), settings_(std::move(settings)) {}

HealthChecks::~HealthChecks() {
  loop_.cancel(timer_);
  if (running_ != 0) programs_.kill(running_);
}

// Before the first job, whatever states are to be checked later.
void HealthChecks::start() {
  if (settings_.program.empty() || settings_.interval <= Duration{0}) return;
  check();
}

void HealthChecks::set_settings(HealthSettings settings) {
  settings_ = std::move(settings);
  if (running_ != 0) return;  // its end brings the next one
  loop_.cancel(std::exchange(timer_, 0));
  if (!settings_.program.empty() && settings_.interval > Duration{0}) next();
}

void HealthChecks::check() {
  ProgramRun run;
  run.program = settings_.program;
  run.environment = settings_.environment;
  run.limit = settings_.limit;
  running_ = programs_.run(std::move(run), [this](const ProgramEnd& end) {
    running_ = 0;
    if (!end.went_well()) settings_.log("health check: " + describe(settings_.program, end));
    next();
  });
}

void HealthChecks::next() {
  if (settings_.only_at_start || settings_.program.empty() || settings_.interval <= Duration{0}) return;
  timer_ = loop_.after(settings_.interval, [this] {
    timer_ = 0;
    if (settings_.is_busy() ? settings_.when_busy : settings_.when_idle)
      check();
    else
      next();
  });
}

}  // namespace millrace
