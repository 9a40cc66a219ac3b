// src/step/attempt/reaper.h - children of the supervisor that have ended, a bounded number at a time.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "step/attempt/proc.h"

namespace millrace {

// A task may make children of its parent, which is us (CLONE_PARENT), as fast as the kernel can. Whoever reaped until
// none is left would never hear that the job is to end.
constexpr std::size_t reaped_per_turn = 100;

struct EndedChild {
  pid_t pid = -1;
  int wait_status = 0;
  rusage used{};
  ProcessUsage io{};  // of tasks only: it costs more to read than a process costs to make
};
// Where more are left SIGCHLD is raised again, which must be blocked: the caller's signalfd is readable, in its turn.
std::vector<EndedChild> reap_some(const std::function<bool(pid_t)>& is_task);

}  // namespace millrace
