// src/step/attempt/step_log.h - what a supervisor says of its work: to the log of its agent, and to srun where srun
// asked for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent.pb.h"
#include "base/log.h"
#include "step/attempt/channel.h"
#include "step/stdio/srun_streams.h"

namespace millrace {

class StepLog final : public Log {
 public:
  // While the agent is away its lines are lost: it is its log.
  StepLog(const wire::ToStep& order, Channel& agent, SrunStreams& streams);
  void take_wish(const wire::LogWish& wish);
  void srun_is_there();  // it hears what was said before

 private:
  void write(LogLevel level, std::string_view prefix, std::string_view text) override;

  Channel& agent_;
  SrunStreams& streams_;
  std::string name_;  // of the job or step, before each line
  LogLevel agent_level_ = LogLevel::quiet;
  std::optional<LogLevel> srun_level_;
  bool has_srun_ = false;
  std::vector<std::string> early_;  // for srun
};

}  // namespace millrace
