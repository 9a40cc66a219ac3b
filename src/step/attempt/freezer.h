// src/step/attempt/freezer.h - stops all processes below this one and lets them go on; the place for a cgroup's
// freezer.
#pragma once

#include <cstdint>

namespace millrace {

// First SIGTSTP, which a program may catch to put things in order, two seconds later SIGSTOP, as Slurm does; then again
// until nothing runs, because a process may have been forked meanwhile. Times are monotonic microseconds. Where the
// attempt has a cgroup of its own, freezing it takes the place of SIGSTOP.
class Freezer {
 public:
  void freeze(std::int64_t now_us);
  void thaw();
  std::int64_t due_us() const { return due_us_; }  // when on_time has something to do; INT64_MAX: nothing
  void on_time(std::int64_t now_us);

 private:
  std::int64_t due_us_ = INT64_MAX;
  bool was_quiet_ = false;  // the last look found nothing that runs
};

}  // namespace millrace
