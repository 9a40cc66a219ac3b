// src/core/planner/profile.cpp - see profile.h.
#include "core/planner/profile.h"

#include <algorithm>

namespace millrace {

std::size_t Profile::step_at(Time at) const {
  const auto after = std::ranges::upper_bound(steps_, at, {}, &Step::at);
  return static_cast<std::size_t>(after - steps_.begin()) - 1;
}

std::size_t Profile::split(Time at) {
  const std::size_t i = step_at(at);
  if (steps_[i].at == at) return i;
  steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(i) + 1, Step{at, steps_[i].free});
  return i + 1;
}

// Steps that changed nothing go, so that the function stays as small as what it says.
void Profile::join(std::size_t first, std::size_t last) {
  for (std::size_t i = std::min(last, steps_.size() - 1); i >= std::max<std::size_t>(first, 1); --i)
    if (steps_[i].free == steps_[i - 1].free) steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(i));
}

template <class Change>
void Profile::change(Time from, Time until, Change change) {
  if (until <= from) return;
  const std::size_t first = from.value == INT64_MIN ? 0 : split(from);
  const std::size_t last = until == never ? steps_.size() : split(until);
  for (std::size_t i = first; i < last; ++i) change(steps_[i].free);
  if (last < steps_.size()) join(last, last);
  join(first, first);
}

void Profile::take(Time from, Time until, const Amounts& amounts) {
  change(from, until, [&](Amounts& free) { free -= amounts; });
}

void Profile::give(Time from, Time until, const Amounts& amounts) {
  change(from, until, [&](Amounts& free) { free += amounts; });
}

bool Profile::take_all(std::vector<Step> changes) {
  std::ranges::stable_sort(changes, {}, &Step::at);
  std::vector<Step> merged;
  merged.reserve(steps_.size() + changes.size());
  Amounts taken;
  bool enough = true;
  std::size_t mine = 0, theirs = 0;
  while (mine < steps_.size() || theirs < changes.size()) {
    const bool later = theirs < changes.size() && (mine == steps_.size() || changes[theirs].at < steps_[mine].at);
    const Time at = later ? changes[theirs].at : steps_[mine].at;
    if (mine < steps_.size() && steps_[mine].at == at) ++mine;
    for (; theirs < changes.size() && changes[theirs].at == at; ++theirs) taken += changes[theirs].free;
    Step step{at, steps_[mine - 1].free};
    step.free -= taken;
    enough = enough && covers(step.free, {});
    if (merged.empty() || !(merged.back().free == step.free)) merged.push_back(step);
  }
  steps_ = std::move(merged);
  return enough;
}

Time Profile::next_change_after(Time at) const {
  const auto after = std::ranges::upper_bound(steps_, at, {}, &Step::at);
  return after == steps_.end() ? never : after->at;
}

Amounts Profile::least(Time from, Time until) const {
  std::size_t i = step_at(from);
  Amounts out = steps_[i].free;
  for (++i; i < steps_.size() && steps_[i].at < until; ++i) out = least_of(out, steps_[i].free);
  return out;
}

Time Profile::first_fit(const Amounts& need, Time from, Duration span) const {
  Time start = from;
  for (std::size_t i = step_at(from); i < steps_.size(); ++i) {
    if (!covers(steps_[i].free, need)) {
      if (i + 1 == steps_.size()) return never;
      start = steps_[i + 1].at;
    } else if (i + 1 == steps_.size() || steps_[i + 1].at >= plus(start, span)) {
      return start;
    }
  }
  return never;
}

}  // namespace millrace
