// src/agent/nursery.h - starts supervisors: through a loaded one that forks (millrace-step --nursery), or by a spawn of
// its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace millrace {

class Nursery final {
 public:
  explicit Nursery(std::string step_program) : program_(std::move(step_program)) {}
  Nursery(const Nursery&) = delete;
  Nursery& operator=(const Nursery&) = delete;
  ~Nursery();

  // Our end of a socket to a new supervisor that waits for its order.
  Result<int> start_supervisor();
  void reap();  // children of ours that have ended

 private:
  Result<void> spawn(int socket, const char* mode);
  bool hand_over(int socket);
  void close_nursery();

  const std::string program_;
  int orders_ = -1;
  std::vector<pid_t> children_;
};

}  // namespace millrace
