// src/agent/supervisor_starter.h - starts supervisors: through a loaded one that forks (millrace-step --prefork), or by
// a spawn of its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace millrace {

class SupervisorStarter final {
 public:
  explicit SupervisorStarter(std::string step_program) : program_(std::move(step_program)) {}
  SupervisorStarter(const SupervisorStarter&) = delete;
  SupervisorStarter& operator=(const SupervisorStarter&) = delete;
  ~SupervisorStarter();

  // Our end of a socket to a new supervisor that waits for its order.
  Result<int> start_supervisor();
  void reap();  // children of ours that have ended

 private:
  Result<void> spawn(int socket, const char* mode);
  bool hand_over(int socket);
  void close_prefork_server();

  const std::string program_;
  int orders_ = -1;
  std::vector<pid_t> children_;
};

}  // namespace millrace
