// src/step/attempt/step_log.cpp - see step_log.h.
#include "step/attempt/step_log.h"

#include <algorithm>

#include "step/environment/environment.h"

namespace millrace {
namespace {

// "[5.0] ", "[5.batch] "
std::string name_before_lines(const wire::LaunchPlan& plan) {
  if (plan.has_step() || plan.job().interactive()) return "[" + step_name(plan) + "] ";
  return "[" + std::to_string(plan.job_id()) +
         (plan.node_position() == 0 && !plan.job().allocation_only() ? ".batch] " : ".extern] ");
}

}  // namespace

StepLog::StepLog(const wire::ToStep& order, Channel& agent, SrunStreams& streams)
    : agent_(agent), streams_(streams), name_(name_before_lines(order.run())) {
  const wire::StepOptions& options = order.run().job().step_options();
  if (options.has_supervisor_level() && order.run().job().interactive())
    srun_level_ = static_cast<LogLevel>(std::min(options.supervisor_level(), static_cast<std::uint32_t>(loudest)));
  take_wish(order.log());
}

void StepLog::take_wish(const wire::LogWish& wish) {
  agent_level_ = static_cast<LogLevel>(std::min(wish.level(), static_cast<std::uint32_t>(loudest)));
  set_flags(wish.flags());
  level_ = std::max(agent_level_, srun_level_.value_or(LogLevel::quiet));
}

void StepLog::srun_is_there() {
  has_srun_ = true;
  for (const std::string& line : std::exchange(early_, {})) streams_.note(line);
}

void StepLog::write(LogLevel level, std::string_view prefix, std::string_view text) {
  if (srun_level_ && level <= *srun_level_ && level > LogLevel::error) {  // errors it is told without asking
    std::string line = "slurmstepd: " + std::string{prefix} + std::string{text};
    if (has_srun_)
      streams_.note(line);
    else
      early_.push_back(std::move(line));
  }
  if (level > agent_level_ || !agent_.is_open()) return;
  wire::FromStep message;
  message.mutable_log()->set_level(static_cast<std::uint32_t>(level));
  message.mutable_log()->set_text(name_ + std::string{prefix} + std::string{text});
  agent_.send(message.SerializeAsString());
}

}  // namespace millrace
