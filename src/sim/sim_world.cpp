// src/sim/sim_world.cpp - see sim_world.h.
#include "sim/sim_world.h"

#include <algorithm>

namespace millrace {

std::uint64_t SimWorld::at(Time when, Task task) {
  const std::uint64_t number = ++last_;
  when = std::max(when, now_);
  queue_.emplace(std::pair{when, number}, std::move(task));
  when_.emplace(number, when);
  return number;
}

void SimWorld::cancel(std::uint64_t number) {
  const auto it = when_.find(number);
  if (it == when_.end()) return;
  const auto entry = queue_.find({it->second, number});
  when_.erase(it);
  // What the task holds may cancel others when it goes: out of the table first.
  Task gone = std::move(entry->second);
  queue_.erase(entry);
}

bool SimWorld::step() {
  if (queue_.empty()) return false;
  const auto first = queue_.begin();
  now_ = first->first.first;
  when_.erase(first->first.second);
  Task task = std::move(first->second);
  queue_.erase(first);
  ++steps_;
  task();
  return true;
}

void SimProcess::kill() {
  const auto pending = std::move(pending_);
  for (const auto& [timer, number] : pending) world_.cancel(number);
}

Loop::TimerId SimProcess::schedule(Time when, Task task) {
  const TimerId timer = ++last_;
  pending_[timer] = world_.at(when, [this, timer, task = std::move(task)]() mutable {
    pending_.erase(timer);
    task();
  });
  return timer;
}

void SimProcess::post(Task task) {
  last_post_ = std::max(last_post_, world_.now());
  schedule(last_post_, std::move(task));
}

Loop::TimerId SimProcess::after(Duration delay, Task task) { return schedule(world_.now() + delay, std::move(task)); }

void SimProcess::cancel(TimerId timer) {
  const auto it = pending_.find(timer);
  if (it == pending_.end()) return;
  const std::uint64_t number = it->second;
  pending_.erase(it);
  world_.cancel(number);
}

void SimWorker::run(Task work, Task then) {
  const Duration takes{static_cast<std::int64_t>(world_.random.below(static_cast<std::uint64_t>(slowest_.value) + 1))};
  free_at_ = std::max(free_at_, world_.now()) + takes;
  // A timer of the process: if the process dies, neither the work nor what follows happens.
  loop_.after(free_at_ - world_.now(), [this, work = std::move(work), then = std::move(then)]() mutable {
    work();
    loop_.post(std::move(then));
  });
}

}  // namespace millrace
