// src/step/attempt/errand.h - work on what a user owns, in a process of its own that has become the user and that
// nobody waits for longer than he wants.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "step/launch/launch.h"

namespace millrace {

// A path of a user's may be a pipe nobody reads, on a server that does not answer, or a tree without end: whoever
// touches it may never come back. A supervisor therefore never does. It sends somebody, who has the user's rights, no
// descriptor but `kept` (as number 3), and at most `limit_seconds` to live, even when the supervisor is gone.
// The process, or -1; the caller reaps it.
pid_t begin_errand(const UserIds& user, int kept, unsigned limit_seconds, const std::function<void()>& work);
// Waits until it has ended, and reaps it; false when it has not within that time.
bool wait_for_errand(pid_t pid, int within_ms);

// Lines of ours in the job's standard error, in turn. One that cannot be written in time is given up, and with it the
// file: whatever is there, it does not read.
class JobNotes {
 public:
  JobNotes() = default;
  JobNotes(const JobNotes&) = delete;
  JobNotes& operator=(const JobNotes&) = delete;
  ~JobNotes();

  void set_file(int fd);  // ours from now on
  void write(const UserIds& user, const std::string& line);
  pid_t writer() const { return writer_; }  // -1: none is at work
  bool ended(pid_t pid, int wait_status);   // of a child that was reaped; false: it was not our writer
  void finish(int within_ms);               // what has not been written by then is not

 private:
  void begin_next();

  int file_ = -1;
  UserIds user_;
  std::deque<std::string> lines_;
  pid_t writer_ = -1;
};

}  // namespace millrace
