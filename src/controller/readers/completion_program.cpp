// src/controller/readers/completion_program.cpp - see completion_program.h.
#include "controller/readers/completion_program.h"

namespace millrace {

void CompletionProgram::tell(const std::string& program, const JobCompletion& completion) {
  if (!programs_) return;
  if (waiting_.size() >= waiting_max) {
    say_("job " + std::to_string(completion.id.value) + ": " + std::to_string(waiting_max) + " ended jobs wait for " +
         program + "; it is not told of this one");
    return;
  }
  waiting_.push_back({completion.id, program, completion.variables});
  run_next();
}

void CompletionProgram::run_next() {
  if (running_ || waiting_.empty()) return;
  Run next = std::move(waiting_.front());
  waiting_.pop_front();
  running_ = true;
  ProgramRun run;
  run.program = next.program;
  run.environment = std::move(next.variables);
  run.environment.push_back("PATH=/usr/bin:/bin:/usr/sbin:/sbin");
  run.limit = seconds(limit_seconds);
  programs_->run(std::move(run), [this, id = next.id, program = next.program](const ProgramEnd& end) {
    running_ = false;
    if (!end.went_well()) say_("job " + std::to_string(id.value) + ": " + describe(program, end));
    run_next();
  });
}

}  // namespace millrace
