// src/controller/loop/fact_log.h - what the controller's log says about facts: of jobs in words, of everything as it
// stands in the event log, of subsystems what they were told to say.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/log.h"
#include "core/ledger/state.h"
#include "core/planner/plan.h"

namespace millrace {

// Nothing is made of a fact while nobody wants to hear of it. The words of a decision are held back until it is known
// that it holds: between `happened` and `tell` somebody may find that it breaks a law.
class FactLog final {
 public:
  FactLog(Log& log, Log& schedule) : log_(log), schedule_(schedule) {}
  bool is_silent() const {
    return !log_.wants(LogLevel::verbose) && !log_.wants_flags() && !schedule_.wants(LogLevel::info);
  }

  void happened(const State& after, const Event& event);
  void tell();
  void forget() { lines_.clear(); }
  void planned(const State& state, const Plan& plan, std::size_t queued, Duration took);

 private:
  void say_of_job(const State& after, const Event& event);
  void say_of_start(const State& after, const JobPlaced& placed);
  void say_of_steps(const State& after, const struct StepsReported& told);
  void say_of_subsystems(const State& after, const Event& event);
  void decided(std::string text);  // about a job: to the log, and to that of the scheduler
  template <class Make>
  void hold(LogLevel level, Make&& make) {
    if (log_.wants(level)) lines_.push_back({&log_, level, std::string{make()}});
  }
  template <class Make>
  void hold(DebugFlag flag, Make&& make) {
    if (log_.wants(flag)) lines_.push_back({&log_, flag, std::string{make()}});
  }

  struct Line {
    Log* to;
    std::variant<LogLevel, DebugFlag> as;
    std::string text;
  };
  Log& log_;
  Log& schedule_;
  std::vector<Line> lines_;  // of a decision that may yet be taken back
};

}  // namespace millrace
