// src/ports/loop.h - the one thread a service lives on: its clock, its timers, its queue of things to do next.
#pragma once

#include <cstdint>
#include <functional>

#include "base/quantity.h"

namespace millrace {

using Task = std::move_only_function<void()>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;  // wall clock: somebody may set it, forward or back, at any moment
  // For how long something takes: counted from some moment of the past, and nobody sets it.
  virtual Time steady() const { return now(); }
};

class Loop : public Clock {
 public:
  using TimerId = std::uint64_t;     // 0 is never given out
  virtual void post(Task task) = 0;  // runs later on this loop, in order
  virtual TimerId after(Duration delay, Task task) = 0;
  virtual void cancel(TimerId timer) = 0;  // a timer that has run or is unknown is ignored
};

// Work that may block or take long, done off the loop one piece at a time, in order; `then` runs on the loop
// afterwards.
class Worker {
 public:
  virtual ~Worker() = default;
  virtual void run(Task work, Task then) = 0;
};

}  // namespace millrace
