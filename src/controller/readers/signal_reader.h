// src/controller/readers/signal_reader.h - tells running jobs that their time is nearly over, as they asked for with
// --signal.
#pragma once

#include <functional>

#include "controller/readers/due_signals.h"
#include "controller/readers/reader.h"

namespace millrace {

class SignalReader final : public Reader {
 public:
  // To the nodes of a job. False: not all of them answer at present.
  using SignalNodes = std::function<bool(const Job&, const wire::SignalAttempt&)>;

  SignalReader(const Context& context, SignalNodes signal_nodes)
      : c_(context), signal_nodes_(std::move(signal_nodes)) {}
  void recovered(const State& state) override;
  void advanced(const Advance& step) override;
  void clock_set(Duration by) override;

 private:
  void arm();
  void send_due();

  const Context& c_;
  SignalNodes signal_nodes_;
  DueSignals due_;
  Loop::TimerId timer_ = 0;
  Time armed_ = never;
};

}  // namespace millrace
