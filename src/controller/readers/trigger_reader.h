// src/controller/readers/trigger_reader.h - runs the programs that people set with strigger, for what happened.
#pragma once

#include <vector>

#include "controller/readers/reader.h"
#include "controller/readers/trigger_watch.h"

namespace millrace {

class TriggerReader final : public Reader {
 public:
  explicit TriggerReader(const Context& context) : c_(context) {}
  void recovered(const State& state) override;
  void advanced(const Advance& step) override;
  void time(Time now) override;
  void reconfigured();

 private:
  void set_off(const std::vector<FiredTrigger>& fired);
  void carry_out(TriggerDecision decision);
  void run_as(UserId uid, ProgramRun run);

  const Context& c_;
  TriggerWatch watch_;
};

}  // namespace millrace
