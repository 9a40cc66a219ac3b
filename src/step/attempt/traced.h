// src/step/attempt/traced.h - processes of the job whom somebody traces (ptrace) beyond their end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace millrace {

// A traced process that has ended is its tracer's first: until that one waits for it, or ends, we do not get it. The
// tracer may be any process of the same user, also of another job.

// No thread of it is alive: all are zombies, or it is gone. A zombie may have living threads, where only the first one
// has ended.
bool is_dead(pid_t pid);

// The wait status of a child that is dead and that we cannot wait for; nothing: it lives, or we can.
std::optional<int> held_end(pid_t child);

// With PTRACE_O_TRACEEXIT a process stops once more after SIGKILL, with all of its memory, until its tracer lets it go
// on; no other signal reaches it. Who is still stopped for a tracer of the same user a second after the first round of
// SIGKILL is set free by ending the tracer. Nothing of root's is ended.
class TracerBreaker {
 public:
  // Before each round of SIGKILL. True: set_free() those whom it is for.
  bool is_due(std::int64_t now_us);
  void set_free(const std::vector<pid_t>& pids) const;

 private:
  std::int64_t first_round_us_ = 0, last_round_us_ = 0;
};

}  // namespace millrace
