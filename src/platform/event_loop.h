// src/platform/event_loop.h - the real loop: timers, a queue any thread may post to, descriptors, signals, ends of
// processes.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "ports/loop.h"

namespace millrace {

// One thread calls run(); everything except post() and stop() belongs to that thread. Tasks still queued when the loop
// is destroyed are destroyed without having run.
class EventLoop final : public Loop {
 public:
  EventLoop();
  ~EventLoop() override;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  void run();   // until stop(); a stop() before run() makes the next run() return at once
  void stop();  // from any thread

  Time now() const override;
  Time steady() const override;
  void post(Task task) override;                      // from any thread
  TimerId after(Duration delay, Task task) override;  // measured on the monotonic clock
  void cancel(TimerId timer) override;

  // Calls `handler` on the loop for each of these signals, from now until the loop goes. At most once per signal set.
  Result<void> on_signals(const std::vector<int>& signals, std::move_only_function<void(int)> handler);

 private:
  friend class DescriptorWatch;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Readiness of a descriptor that somebody else owns and keeps open at least as long as the watch. Each want_*() asks
// for one call; asking twice is asking once. Both calls may destroy the watch; after its end no call comes.
class DescriptorWatch {
 public:
  DescriptorWatch(EventLoop& loop, int descriptor, Task readable, Task writable = {});
  ~DescriptorWatch();
  DescriptorWatch(const DescriptorWatch&) = delete;
  DescriptorWatch& operator=(const DescriptorWatch&) = delete;

  void want_readable();
  void want_writable();

 private:
  struct Inner;
  std::shared_ptr<Inner> inner_;
};

struct ProcessEnd {
  bool known = false;  // false: not our child, so only that it ended is known
  int exit_code = 0;
  int signal = 0;  // not 0: killed by it
};

// Waits for the end of one process through a pidfd; reaps it when it is our child.
class ProcessWatch {
 public:
  static Result<std::unique_ptr<ProcessWatch>> start(EventLoop& loop, pid_t process,
                                                     std::move_only_function<void(ProcessEnd)> ended);
  // The same for a pidfd the caller already holds (from clone3); it is closed with the watch.
  static std::unique_ptr<ProcessWatch> adopt(EventLoop& loop, int pidfd,
                                             std::move_only_function<void(ProcessEnd)> ended);
  ~ProcessWatch();
  int pidfd() const { return pidfd_; }

 private:
  ProcessWatch(EventLoop& loop, int pidfd, std::move_only_function<void(ProcessEnd)> ended);
  void reap();

  int pidfd_;
  std::move_only_function<void(ProcessEnd)> ended_;
  DescriptorWatch watch_;
};

}  // namespace millrace
