// src/controller/top_job.cpp - see top_job.h.
#include "controller/top_job.h"

#include <algorithm>

#include "core/admission/modify_job.h"
#include "core/ledger/apply.h"
#include "core/planner/priority.h"

namespace millrace {

Decision decide_top(const State& state, const SelectedJob& which, const Actor& actor, Time now) {
  const Job& job = state.job(which.key);
  if (!actor.is_admin && job.spec->owner->uid != actor.uid) return refuse(RefusalCode::access_denied);
  if (job.state != JobState::pending || which.task) return refuse(RefusalCode::not_pending);
  if (job.hold != Hold::none) return refuse(RefusalCode::not_pending);
  const Priorities priorities(state, now);
  const std::int64_t mine = priorities.of(job);
  std::vector<const Job*> before;
  std::int64_t highest = 0;
  for (const auto& [key, other] : state.jobs) {
    if (key == job.key || other->state != JobState::pending || other->hold != Hold::none || other->is_component())
      continue;
    if (other->spec->owner->uid != job.spec->owner->uid || other->spec->partition != job.spec->partition) continue;
    const std::int64_t theirs = priorities.of(*other);
    if (theirs < mine || (theirs == mine && job.key < other->key)) continue;
    before.push_back(other.get());
    highest = std::max(highest, theirs);
  }
  std::vector<Event> events;
  if (before.empty()) return events;
  const std::int64_t rise = highest - mine + 1;
  const std::int64_t fall =
      (rise + static_cast<std::int64_t>(before.size()) - 1) / static_cast<std::int64_t>(before.size());
  const Actor admin{actor.uid, true};  // what is taken from one's own jobs is nobody else's business
  State copy = state;
  const auto renice = [&](const Job& one, std::int64_t by) -> std::expected<void, Refusal> {
    ModifyJob change;
    change.change.nice =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(one.spec->nice + by, INT32_MIN / 2, INT32_MAX / 2));
    auto decision = decide_modify(copy, {one.key, std::nullopt}, change, admin, now);
    if (!decision) return std::unexpected(decision.error());
    for (const Event& event : *decision) apply(copy, event);
    events.insert(events.end(), decision->begin(), decision->end());
    return {};
  };
  if (const auto done = renice(job, -rise); !done) return std::unexpected(done.error());
  for (const Job* other : before)
    if (const auto done = renice(*other, fall); !done) return std::unexpected(done.error());
  // No priority is below 1, so what was near that has not moved by as much as it was told to.
  constexpr int rounds_max = 3;
  for (int round = 0; round < rounds_max; ++round) {
    const Priorities after(copy, now);
    std::int64_t gap = -1;
    for (const Job* other : before)
      gap = std::max<std::int64_t>(
          gap, static_cast<std::int64_t>(after.of(copy.job(other->key))) - after.of(copy.job(job.key)));
    if (gap < 0) break;
    if (const auto done = renice(copy.job(job.key), -gap - 1); !done) return std::unexpected(done.error());
  }
  return events;
}

}  // namespace millrace
