// src/agent/accelerator_watch.h - a process of its own looks at the accelerators: a maker's library or driver that
// hangs or crashes does not take the agent with it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent.pb.h"
#include "agent/readiness.h"
#include "base/quantity.h"
#include "wire/frame.h"

namespace millrace {

class AcceleratorWatch {
 public:
  struct Settings {
    std::string program;  // our own
    std::vector<std::string> arguments;
    std::function<void(std::string_view)> log;
    std::function<void(const wire::AcceleratorReport&)> seen;
  };
  AcceleratorWatch(Loop& loop, Readiness& readiness, Settings settings);
  ~AcceleratorWatch();
  AcceleratorWatch(const AcceleratorWatch&) = delete;
  AcceleratorWatch& operator=(const AcceleratorWatch&) = delete;

  // Before the loop runs: waits for the first report. False: none came in time, and none is waited for any more.
  bool first_look(int patience_ms);
  // Asks for another; what it brings is seen later.
  void look_again();

 private:
  bool start();
  void end(std::string_view why);
  bool take();  // false: it has ended

  Loop& loop_;
  Readiness& readiness_;
  const Settings settings_;
  pid_t pid_ = 0;
  int socket_ = -1;
  std::unique_ptr<Watch> watch_;
  FrameReader reader_;
  bool asked_ = false;
  std::string last_problem_;
  Time not_before_{};  // one that ended is not started again at once
};

}  // namespace millrace
