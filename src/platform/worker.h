// src/platform/worker.h - one thread for work that may block; its results come back through the loop.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "ports/loop.h"

namespace millrace {

// run() may be called from any thread. Above `queue_max` waiting pieces it blocks the caller: better a loop that is
// late than a queue that eats the machine. The destructor does what is queued, then joins; what `then` would have done
// is left to the loop, if it still runs.
class ThreadWorker final : public Worker {
 public:
  explicit ThreadWorker(Loop& loop, std::string name = "worker", std::size_t queue_max = 100'000);
  ~ThreadWorker() override;
  ThreadWorker(const ThreadWorker&) = delete;
  ThreadWorker& operator=(const ThreadWorker&) = delete;

  void run(Task work, Task then) override;

 private:
  struct Piece {
    Task work, then;
  };
  void work();

  Loop& loop_;
  const std::size_t queue_max_;
  std::mutex mutex_;
  std::condition_variable filled_, taken_;
  std::deque<Piece> queue_;
  bool stopping_ = false;
  std::thread thread_;  // last: it starts when everything it uses is there
};

}  // namespace millrace
