// src/controller/loop/spare_room.h - room on the disk of the event log for what may wait: starts of jobs, resumptions,
// preemptions. The reserve is for ends, cancels and what nodes report.
#pragma once

#include <vector>

#include "controller/loop/commit.h"
#include "controller/loop/daemon_lines.h"

namespace millrace {

class SpareRoom final {
 public:
  SpareRoom(const Commit& commit, DaemonLines& lines) : commit_(commit), lines_(lines) {}
  // The log hears of it when that changes.
  bool has_room_for(const std::vector<Event>& events);
  bool is_short() const { return short_; }  // as far as was asked

 private:
  const Commit& commit_;
  DaemonLines& lines_;
  bool short_ = false;
};

}  // namespace millrace
