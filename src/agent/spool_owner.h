// src/agent/spool_owner.h - whose the node's spool is: one agent at a time, and which spool it is.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace millrace {

// Held for the life of the process and kept by its forks; programs it starts do not inherit it.
class SpoolLock {
 public:
  // Refused while another agent has it, with who that is. One that was just killed is given a moment.
  static Result<SpoolLock> take(const std::string& spool);
  SpoolLock(SpoolLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  SpoolLock& operator=(SpoolLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~SpoolLock();
  void sign() const;  // writes the number of this process for others to read; after the last fork

 private:
  explicit SpoolLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

// Its name, made with it and never changed: a spool with another one knows nothing of the attempts of the one before.
// When it is made, whatever still runs of a spool that was there before is killed.
Result<std::string> identify_spool(const std::string& spool);

}  // namespace millrace
