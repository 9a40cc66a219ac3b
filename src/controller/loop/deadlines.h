// src/controller/loop/deadlines.h - what the ledger does when a time has come: limits, begin times, ends of grace,
// turns of those who share CPUs, records that go.
#pragma once

#include "controller/loop/context.h"

namespace millrace {

class Deadlines final {
 public:
  explicit Deadlines(const Context& context) : c_(context) {}
  // A timer for the next of them, wherever that may have moved.
  void arm();

 private:
  void expire();

  const Context& c_;
  Loop::TimerId timer_ = 0;
  Time armed_ = never;
};

}  // namespace millrace
