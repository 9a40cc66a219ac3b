// src/agent/readiness.h - being told when a descriptor can be read or written; the real loop's watches stand behind it.
#pragma once

#include <memory>

#include "ports/loop.h"

namespace millrace {

// Each want_*() asks for one call. After the watch is gone no call comes; a call may destroy its watch.
class Watch {
 public:
  virtual ~Watch() = default;
  virtual void want_readable() = 0;
  virtual void want_writable() = 0;
};

class Readiness {
 public:
  virtual ~Readiness() = default;
  virtual std::unique_ptr<Watch> watch(int descriptor, Task readable, Task writable) = 0;
};

}  // namespace millrace
