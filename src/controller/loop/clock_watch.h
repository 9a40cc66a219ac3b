// src/controller/loop/clock_watch.h - notices when somebody sets the clock of the controller's machine.
//
// Whoever is about to decide something by the time calls look() first, so that what was to last so long from now on
// still does. A step of the clock becomes a fact before anything else is decided, and `stepped` hears of it then.
#pragma once

#include <functional>

#include "controller/loop/commit.h"
#include "controller/loop/daemon_lines.h"
#include "ports/loop.h"

namespace millrace {

class ClockWatch final {
 public:
  using Stepped = std::move_only_function<void(Duration by)>;
  ClockWatch(Loop& loop, Commit& commit, DaemonLines& lines, Stepped stepped)
      : loop_(loop), commit_(commit), lines_(lines), stepped_(std::move(stepped)) {}

  void start();  // from now on
  void look();
  Time started_at() const { return started_at_; }

 private:
  Loop& loop_;
  Commit& commit_;
  DaemonLines& lines_;
  Stepped stepped_;
  Time started_at_;
  Duration ahead_;  // of the steady clock; when that changes, somebody has set the clock
};

}  // namespace millrace
