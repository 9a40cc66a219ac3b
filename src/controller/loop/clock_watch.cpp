// src/controller/loop/clock_watch.cpp - see clock_watch.h.
#include "controller/loop/clock_watch.h"

#include <algorithm>
#include <utility>

namespace millrace {

static constexpr Duration step_least = seconds(2);  // less is how clocks are steered, a little each second

void ClockWatch::start() {
  started_at_ = loop_.now();
  ahead_ = loop_.now() - loop_.steady();
}

void ClockWatch::look() {
  const Time now = loop_.now();
  const Duration ahead = now - loop_.steady();
  const Duration before = std::exchange(ahead_, ahead);
  const Duration by = ahead - before;
  if (by < step_least && by > Duration{-step_least.value}) return;
  lines_.complain("the clock was set by " + std::to_string(by.value / 1'000'000) +
                  " s; jobs keep the time they have run and the time that is left to them");
  // The steady clock begins with the machine, so this is when it started, by the clock as it was.
  commit_.happen({ClockStepped{by, now, Time{std::max<std::int64_t>(before.value, 0)}}});
  stepped_(by);
}

}  // namespace millrace
