// src/controller/loop/deadlines.cpp - see deadlines.h.
#include "controller/loop/deadlines.h"

#include <algorithm>

#include "controller/readers/crontabs.h"
#include "core/admission/expire.h"

namespace millrace {

void Deadlines::arm() {
  const Time next = next_deadline(c_.commit.decided());
  if (next == armed_) return;
  if (timer_ != 0) c_.loop.cancel(timer_);
  timer_ = 0;
  armed_ = next;
  if (next == never) return;
  // A deadline that breaks a law stays due, and a turn of those who share CPUs while there is no room for it.
  const Duration least = c_.commit.has_refused() || c_.room.is_short() ? seconds(1) : Duration{0};
  const Duration wait{std::clamp((next - c_.loop.now()).value, least.value, seconds(60).value)};
  timer_ = c_.loop.after(wait, [this] {
    timer_ = 0;
    armed_ = never;
    expire();
    arm();
  });
}

void Deadlines::expire() {
  c_.clock.look();
  // Bounded per turn, so that a thousand records that go at once do not hold up everyone else.
  for (int i = 0; i < 500; ++i) {
    const State& state = c_.commit.decided();
    const bool turn_is_due = state.slice_due.is_set() && state.slice_due <= c_.loop.now();
    auto events = decide_expired(state, c_.loop.now(), !turn_is_due || c_.room.has_room_for({}));
    // Before the record goes the entry of a crontab gets its next time, room or not: else it never came again.
    if (const auto* gone = events.empty() ? nullptr : std::get_if<JobForgotten>(&events.front()); gone)
      if (auto next = decide_next_run(state, gone->key, c_.loop.now()); !next.empty()) events = std::move(next);
    if (events.empty() || !c_.commit.happen(std::move(events))) return;
  }
}

}  // namespace millrace
