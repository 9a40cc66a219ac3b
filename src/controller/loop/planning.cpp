// src/controller/loop/planning.cpp - see planning.h.
#include "controller/loop/planning.h"

namespace millrace {

constexpr Duration new_jobs_wait = milliseconds(20);

Planning::Planning(Loop& loop, Worker& worker, PlannerSettings settings, Source source, std::int64_t steps_per_slice)
    : loop_(loop),
      worker_(worker),
      settings_(std::move(settings)),
      source_(std::move(source)),
      steps_per_slice_(steps_per_slice) {}

void Planning::wanted() {
  if (off_) return;
  again_ = true;
  if (!is_busy()) start();
}

void Planning::carried_out() {
  if (again_ && !is_busy()) start();
}

void Planning::outdated() {
  outdated_ = pass_ != nullptr && !gave_up_;
  wanted();
}

void Planning::wanted_for_new_jobs() {
  if (!blocked_) return wanted();
  if (!off_) look_again_in(new_jobs_wait);
}

void Planning::look_again_in(Duration wait) {
  if (soon_ != 0) return;
  soon_ = loop_.after(wait, [this] {
    soon_ = 0;
    wanted();
  });
}

void Planning::start() {
  again_ = outdated_ = false;
  const State& snapshot = source_.snapshot();
  if (snapshot.queue.empty()) {
    blocked_ = false;
    return;
  }
  if (source_.wait)
    if (const Duration wait = source_.wait(); wait > Duration{0}) return look_again_in(wait);
  settings_.unreachable = source_.unreachable();
  began_ = loop_.steady();
  queued_ = snapshot.queue.size();
  pass_ = std::make_unique<Pass>(snapshot, settings_, loop_.now(), &memo_);
  slice();
}

void Planning::slice() {
  worker_.run([this] { finished_ = pass_->advance(steps_per_slice_); },
              [this] {
                if (!finished_ && outdated_) {
                  pass_.reset();
                  if (source_.passed) source_.passed(nullptr, queued_, loop_.steady() - began_);
                  gave_up_ = true;
                  return start();
                }
                if (!finished_) return slice();
                gave_up_ = false;
                Plan plan = pass_->take();
                pass_.reset();
                blocked_ = !plan.findings.empty();
                if (source_.passed) source_.passed(&plan, queued_, loop_.steady() - began_);
                source_.finished(std::move(plan));
                if (again_ && !is_busy()) start();
              });
}

}  // namespace millrace
