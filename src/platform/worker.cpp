// src/platform/worker.cpp - see worker.h.
#include "platform/worker.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace millrace {
namespace {

constexpr std::int64_t short_work_ns = 1'000'000;
constexpr std::int64_t rest_max_ns = 200'000'000;

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

ThreadWorker::ThreadWorker(Loop& loop, std::string name, Manner manner, std::size_t queue_max)
    : loop_(loop), manner_(manner), queue_max_(queue_max), thread_([this, name = std::move(name)] {
        ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
        work();
      }) {}

ThreadWorker::~ThreadWorker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  filled_.notify_one();
  stopped_.notify_one();
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

void ThreadWorker::rest(std::int64_t nanoseconds) {
  std::unique_lock lock(mutex_);
  stopped_.wait_for(lock, std::chrono::nanoseconds(nanoseconds), [this] { return stopping_; });
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
    const std::int64_t processor_before = manner_ == Manner::polite ? clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
    const std::int64_t before = manner_ == Manner::polite ? clock_ns(CLOCK_MONOTONIC) : 0;
    piece.work();
    piece.work = nullptr;  // what it held belongs to the past before `then` runs
    if (piece.then) loop_.post(std::move(piece.then));
    if (manner_ == Manner::prompt) continue;
    const std::int64_t worked = clock_ns(CLOCK_THREAD_CPUTIME_ID) - processor_before;
    if (worked > short_work_ns && (clock_ns(CLOCK_MONOTONIC) - before) * 10 > worked * 12)
      rest(std::min(rest_max_ns, 9 * worked));
  }
}

}  // namespace millrace
