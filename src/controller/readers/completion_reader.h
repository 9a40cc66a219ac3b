// src/controller/readers/completion_reader.h - tells the site's file or program of each job that ended (JobCompType).
#pragma once

#include <vector>

#include "controller/readers/completion_program.h"
#include "controller/readers/job_completion.h"
#include "controller/readers/reader.h"

namespace millrace {

class CompletionReader final : public Reader {
 public:
  explicit CompletionReader(const Context& context) : c_(context), program_(context.programs, context.hooks.say) {}
  void recovered(const State& state) override;
  void advanced(const Advance& step) override;

 private:
  void record(const std::vector<JobCompletion>& completions, bool at_start);

  const Context& c_;
  JobCompletions ended_;
  CompletionProgram program_;
  bool tells_ = false;
};

}  // namespace millrace
