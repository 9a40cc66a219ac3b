// src/platform/worker.h - one thread for work that may block; its results come back through the loop.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "ports/loop.h"

namespace millrace {

// A polite one gives way on a machine that has more to do than processors: what takes it long is followed by a rest. A
// low priority would do the same and, on such a machine, stop it while it holds a lock that others need. run() may be
// called from any thread. Above `queue_max` waiting pieces it blocks the caller: better a loop that is late than a
// queue that eats the machine. The destructor does what is queued, then joins; what `then` would have done is left to
// the loop, if it still runs.
class ThreadWorker final : public Worker {
 public:
  enum class Manner : std::uint8_t { prompt, polite };
  explicit ThreadWorker(Loop& loop, std::string name = "worker", Manner manner = Manner::prompt,
                        std::size_t queue_max = 100'000);
  ~ThreadWorker() override;
  ThreadWorker(const ThreadWorker&) = delete;
  ThreadWorker& operator=(const ThreadWorker&) = delete;

  void run(Task work, Task then) override;

 private:
  struct Piece {
    Task work, then;
  };
  void work();
  void rest(std::int64_t nanoseconds);

  Loop& loop_;
  const Manner manner_;
  const std::size_t queue_max_;
  std::mutex mutex_;
  std::condition_variable filled_, taken_, stopped_;
  std::deque<Piece> queue_;
  bool stopping_ = false;
  std::thread thread_;  // last: it starts when everything it uses is there
};

}  // namespace millrace
