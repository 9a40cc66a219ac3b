// src/controller/readers/completion_program.h - runs the site's program for jobs that ended
// (JobCompType=jobcomp/script): one after the other; nothing waits for it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "controller/readers/job_completion.h"
#include "ports/programs.h"

namespace millrace {

class CompletionProgram final {
 public:
  static constexpr std::size_t waiting_max = 10'000;
  static constexpr std::int64_t limit_seconds = 60;

  CompletionProgram(Programs* programs, std::function<void(const std::string&)> say)
      : programs_(programs), say_(std::move(say)) {}
  void tell(const std::string& program, const JobCompletion& completion);

 private:
  struct Run {
    JobId id;
    std::string program;
    std::vector<std::string> variables;
  };
  void run_next();

  Programs* programs_;  // null: nothing can be run
  std::function<void(const std::string&)> say_;
  std::deque<Run> waiting_;
  bool running_ = false;
};

}  // namespace millrace
