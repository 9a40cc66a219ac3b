// src/platform/event_loop.cpp - the only file that knows Boost.Asio; see event_loop.h.
#include "platform/event_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "base/assert.h"
#include "platform/descriptor.h"

namespace millrace {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

std::int64_t monotonic_us() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000 + now.tv_nsec / 1'000;
}

}  // namespace

struct EventLoop::Impl {
  using Deadline = std::pair<std::int64_t, TimerId>;  // equal times fire in the order they were asked for

  // Declared first, so that it dies last: what the timers and signal handlers hold may own descriptors watched by it.
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard{context.get_executor()};
  // One system timer for all of ours: a service arms and cancels thousands, nearly none of which fire.
  asio::steady_timer alarm{context};
  std::int64_t alarm_at = INT64_MAX;
  bool fire_posted = false;
  std::map<Deadline, Task> timers;
  std::map<TimerId, std::int64_t> deadline_of;
  TimerId last_timer = 0;
  struct SignalWatch {
    SignalWatch(asio::io_context& where, std::move_only_function<void(int)> what)
        : set(where), handler(std::move(what)) {}
    asio::signal_set set;
    std::move_only_function<void(int)> handler;
  };
  std::vector<std::unique_ptr<SignalWatch>> signals;

  void arm() {
    if (timers.empty() || timers.begin()->first.first >= alarm_at) return;
    alarm_at = timers.begin()->first.first;
    alarm.expires_at(std::chrono::steady_clock::time_point{std::chrono::microseconds{alarm_at}});
    alarm.async_wait([this](const error_code& problem) {
      if (problem) return;  // moved to an earlier time
      alarm_at = INT64_MAX;
      fire();
      arm();
    });
  }

  // What is due at once needs no alarm of the system, only another turn.
  void fire_soon() {
    if (std::exchange(fire_posted, true)) return;
    asio::post(context, [this] {
      fire_posted = false;
      fire();
      arm();
    });
  }

  void fire() {
    const std::int64_t now = monotonic_us();
    // A timer set from inside a timer has a later id, and waits for the next alarm even when its delay is zero.
    const TimerId newest = last_timer;
    for (auto it = timers.begin(); it != timers.end() && it->first.first <= now;) {
      if (it->first.second > newest) {
        ++it;
        continue;
      }
      const Deadline done = it->first;
      Task task = std::move(it->second);
      timers.erase(it);
      deadline_of.erase(done.second);
      task();
      it = timers.lower_bound(done);
    }
  }

  void await_signal(SignalWatch& watch) {
    watch.set.async_wait([this, &watch](const error_code& problem, int signal) {
      if (problem) return;
      watch.handler(signal);
      await_signal(watch);
    });
  }
};

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {}

EventLoop::~EventLoop() {
  impl_->deadline_of.clear();
  // A task's destructor may cancel timers of its own, so the map must not be in the middle of clear() then.
  while (!impl_->timers.empty()) {
    const auto task = impl_->timers.extract(impl_->timers.begin());
  }
}

void EventLoop::run() {
  impl_->context.run();
  impl_->context.restart();
}

void EventLoop::stop() { impl_->context.stop(); }

Time EventLoop::now() const {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return Time{now.tv_sec * 1'000'000 + now.tv_nsec / 1'000};
}

Time EventLoop::steady() const { return Time{monotonic_us()}; }

void EventLoop::post(Task task) { asio::post(impl_->context, std::move(task)); }

Loop::TimerId EventLoop::after(Duration delay, Task task) {
  const std::int64_t now = monotonic_us();
  // "Never" and its neighbours are legal delays; two centuries are as good and do not overflow.
  const std::int64_t wait = std::clamp<std::int64_t>(delay.value, 0, INT64_MAX / 1024);
  const TimerId id = ++impl_->last_timer;
  impl_->deadline_of.emplace(id, now + wait);
  impl_->timers.emplace(Impl::Deadline{now + wait, id}, std::move(task));
  if (wait == 0)
    impl_->fire_soon();
  else
    impl_->arm();
  return id;
}

void EventLoop::cancel(TimerId timer) {
  const auto found = impl_->deadline_of.find(timer);
  if (found == impl_->deadline_of.end()) return;
  const auto task = impl_->timers.extract({found->second, timer});  // dies last: its destructor may come back to us
  impl_->deadline_of.erase(found);
}

Result<void> EventLoop::on_signals(const std::vector<int>& signals, std::move_only_function<void(int)> handler) {
  auto watch = std::make_unique<Impl::SignalWatch>(impl_->context, std::move(handler));
  for (const int signal : signals) {
    error_code problem;
    (void)watch->set.add(signal, problem);
    if (problem) return fail(Errc::io, "watch signal " + std::to_string(signal) + ": " + problem.message());
  }
  impl_->signals.push_back(std::move(watch));
  impl_->await_signal(*impl_->signals.back());
  return {};
}

struct DescriptorWatch::Inner {
  Inner(asio::io_context& context, int descriptor, Task on_read, Task on_write)
      : stream(context), readable(std::move(on_read)), writable(std::move(on_write)) {
    error_code problem;
    (void)stream.assign(descriptor, problem);
    MR_ASSERT(!problem);
  }
  asio::posix::stream_descriptor stream;
  Task readable, writable;
  bool reading = false, writing = false, alive = true;
};

DescriptorWatch::DescriptorWatch(EventLoop& loop, int descriptor, Task readable, Task writable)
    : inner_(std::make_shared<Inner>(loop.impl_->context, descriptor, std::move(readable), std::move(writable))) {}

DescriptorWatch::~DescriptorWatch() {
  inner_->alive = false;
  inner_->stream.release();  // the descriptor is its owner's; pending waits end with an error that nobody hears
}

void DescriptorWatch::want_readable() {
  if (std::exchange(inner_->reading, true)) return;
  inner_->stream.async_wait(asio::posix::stream_descriptor::wait_read, [inner = inner_](const error_code&) {
    inner->reading = false;
    // An error is readiness too: the read that follows gets it with a better name.
    if (inner->alive) inner->readable();
  });
}

void DescriptorWatch::want_writable() {
  if (std::exchange(inner_->writing, true)) return;
  inner_->stream.async_wait(asio::posix::stream_descriptor::wait_write, [inner = inner_](const error_code&) {
    inner->writing = false;
    if (inner->alive) inner->writable();
  });
}

Result<std::unique_ptr<ProcessWatch>> ProcessWatch::start(EventLoop& loop, pid_t process,
                                                          std::move_only_function<void(ProcessEnd)> ended) {
  const long pidfd = ::syscall(SYS_pidfd_open, process, 0);
  if (pidfd < 0) {
    const Errc code = errno == ESRCH ? Errc::not_found : Errc::io;
    return fail_errno(code, "watch process " + std::to_string(process));
  }
  return adopt(loop, static_cast<int>(pidfd), std::move(ended));
}

std::unique_ptr<ProcessWatch> ProcessWatch::adopt(EventLoop& loop, int pidfd,
                                                  std::move_only_function<void(ProcessEnd)> ended) {
  return std::unique_ptr<ProcessWatch>(new ProcessWatch(loop, pidfd, std::move(ended)));
}

ProcessWatch::ProcessWatch(EventLoop& loop, int pidfd, std::move_only_function<void(ProcessEnd)> ended)
    : pidfd_(pidfd), ended_(std::move(ended)), watch_(loop, pidfd, [this] { reap(); }) {
  watch_.want_readable();
}

ProcessWatch::~ProcessWatch() { ::close(pidfd_); }

void ProcessWatch::reap() {
  constexpr auto by_pidfd = static_cast<idtype_t>(3);  // P_PIDFD, which the C library's header names only in part
  siginfo_t info{};
  ProcessEnd end;
  if (::waitid(by_pidfd, static_cast<id_t>(pidfd_), &info, WEXITED | WNOHANG) == 0) {
    if (info.si_pid == 0) return watch_.want_readable();  // woken for nothing
    end.known = true;
    (info.si_code == CLD_EXITED ? end.exit_code : end.signal) = info.si_status;
  }
  auto tell = std::move(ended_);  // the call may destroy us
  tell(end);
}

}  // namespace millrace
