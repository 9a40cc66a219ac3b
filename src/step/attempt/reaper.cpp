// src/step/attempt/reaper.cpp - see reaper.h.
#include "step/attempt/reaper.h"

#include <sys/wait.h>

#include <csignal>

namespace millrace {

std::vector<EndedChild> reap_some(const std::function<bool(pid_t)>& is_task) {
  std::vector<EndedChild> out;
  while (out.size() < reaped_per_turn) {
    siginfo_t next{};
    if (waitid(P_ALL, 0, &next, WEXITED | WNOHANG | WNOWAIT) != 0 || next.si_pid <= 0) return out;
    EndedChild child;
    child.pid = next.si_pid;
    // Looked at before it is reaped: what it read and wrote goes with it.
    if (is_task(child.pid)) child.io = process_usage(child.pid);
    if (wait4(child.pid, &child.wait_status, WNOHANG, &child.used) != child.pid) return out;
    out.push_back(child);
  }
  raise(SIGCHLD);
  return out;
}

}  // namespace millrace
