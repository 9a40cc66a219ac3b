// src/agent/health.h - HealthCheckProgram: run now and then; what it finds it tells by itself, with scontrol.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ports/loop.h"
#include "ports/programs.h"

namespace millrace {

struct HealthSettings {
  std::string program;           // empty: none
  Duration limit = seconds(60);  // HealthCheckTimeout
  Duration interval{};           // 0: never; the next one begins so long after the last has ended
  bool when_idle = true, when_busy = true, only_at_start = false;
  std::vector<std::string> environment{};
  std::function<bool()> is_busy = [] { return false; };
  std::function<void(std::string_view)> log = [](std::string_view) {};
};

class HealthChecks final {
 public:
  HealthChecks(Loop& loop, Programs& programs, HealthSettings settings);
  ~HealthChecks();
  void start();
  void set_settings(HealthSettings settings);  // a check that runs is let go on

 private:
  void check();
  void next();

  Loop& loop_;
  Programs& programs_;
  HealthSettings settings_;
  Programs::Id running_ = 0;
  Loop::TimerId timer_ = 0;
};

}  // namespace millrace
