// src/controller/loop/daemon_lines.cpp - see daemon_lines.h.
#include "controller/loop/daemon_lines.h"

#include <bit>

#include "wire/event_text.h"

namespace millrace {

DaemonLines::DaemonLines(const ControllerHooks& hooks)
    : hooks_(hooks),
      log_(hooks.log ? *hooks.log : silent_),
      schedule_(hooks.schedule_log ? *hooks.schedule_log : silent_) {}

void DaemonLines::say_often(const std::string& kind, const std::string& line) const {
  if (hooks_.say_often) return hooks_.say_often(kind, line);
  hooks_.say(line);
}

void DaemonLines::complain(const std::string& text) {
  if (!hooks_.log) return hooks_.say(text);
  log_.error([&] { return std::string_view{text}; });
}

void DaemonLines::law_broken(const std::string& law, const std::vector<Event>& events) {
  const bool power_of_two = std::has_single_bit(++laws_broken_);
  if (laws_broken_ > 20 && !power_of_two) return;
  std::string text = "bug: a decision was not carried out, because it would break a law: " + law + " (" +
                     std::to_string(laws_broken_) + " so far); please report this:";
  for (const Event& event : events) text += " " + describe_event(event).substr(0, 1000);
  complain(text);
}

}  // namespace millrace
