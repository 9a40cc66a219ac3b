// src/controller/clocks.cpp - the part of the controller that notices when its own clock is set, and that a node's is
// wrong; see controller.h.
#include "controller/controller.h"
#include "core/admission/report_node.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr Duration step_least = seconds(2);  // less is how clocks are steered, a little each second
constexpr Duration worth_saying = seconds(5);

}  // namespace

// Before anything is decided by the time: what was to last so long from now on still does.
void Controller::see_clock() {
  const Time now = loop_.now();
  const Duration ahead = now - loop_.steady();
  const Duration before = std::exchange(clock_ahead_, ahead);
  const Duration by = ahead - before;
  if (by < step_least && by > Duration{-step_least.value}) return;
  complain("the clock was set by " + std::to_string(by.value / 1'000'000) +
           " s; jobs keep the time they have run and the time that is left to them");
  // The steady clock begins with the machine, so this is when it started, by the clock as it was.
  commit_.happen({ClockStepped{by, now, Time{std::max<std::int64_t>(before.value, 0)}}});
  readers_.clock_set(by);
  arm_deadline();
  planning_.wanted();
}

// One that is ahead cannot be mistaken. One that seems to be behind may only have been heard late: it is asked twice.
void Controller::see_clock_of(NodeIndex index, Time its_clock) {
  if (!its_clock.is_set()) return;
  NodeLink& link = links_[index];
  const Duration ahead = its_clock - loop_.now();
  const bool late = ahead < Duration{-worth_saying.value};
  if (late && !std::exchange(link.seemed_late, true)) return;
  link.seemed_late = late;
  auto events = decide_clock(commit_.decided(), index, ahead, loop_.now());
  if (events.empty() || !is_due(link.judged_clock)) return;
  link.judged_clock = loop_.steady();
  const auto& judged = std::get<NodeClockJudged>(events.front());
  complain("node " + commit_.decided().node(index).def->name + ": " +
           (judged.words.empty() ? "its clock is right again" : judged.words));
  commit_.happen(std::move(events));
}

}  // namespace millrace
