// src/platform/worker.cpp - see worker.h.
#include "platform/worker.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace millrace {

ThreadWorker::ThreadWorker(Loop& loop, std::string name, std::size_t queue_max)
    : loop_(loop), queue_max_(queue_max), thread_([this, name = std::move(name)] {
        ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
        work();
      }) {}

ThreadWorker::~ThreadWorker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  filled_.notify_one();
  thread_.join();
}

void ThreadWorker::run(Task work, Task then) {
  {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [this] { return queue_.size() < queue_max_; });
    queue_.push_back({std::move(work), std::move(then)});
  }
  filled_.notify_one();
}

void ThreadWorker::work() {
  // Signals are the loop's business: a handler running here would interrupt a write for nothing.
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (;;) {
    Piece piece;
    {
      std::unique_lock lock(mutex_);
      filled_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      piece = std::move(queue_.front());
      queue_.pop_front();
    }
    taken_.notify_one();
    piece.work();
    piece.work = nullptr;  // what it held belongs to the past before `then` runs
    if (piece.then) loop_.post(std::move(piece.then));
  }
}

}  // namespace millrace
