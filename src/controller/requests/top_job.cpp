// src/controller/requests/top_job.cpp - see top_job.h.
#include "controller/requests/top_job.h"

#include <algorithm>

#include "core/admission/modify_job.h"
#include "core/ledger/apply.h"
#include "core/planner/priority.h"

namespace millrace {
namespace {

struct Place {
  const Job* job;
  std::int64_t priority;
};

bool is_before(const Place& a, const Place& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.job->key < b.job->key;
}

// The other waiting jobs of its owner in its partition, the first one first.
std::vector<Place> rivals_of(const State& state, const Job& job, const Priorities& priorities) {
  std::vector<Place> out;
  for (const auto& [key, other] : state.jobs) {
    if (key == job.key || other->state != JobState::pending || other->hold != Hold::none || other->is_component())
      continue;
    if (other->spec->owner->uid != job.spec->owner->uid || other->spec->partition != job.spec->partition) continue;
    out.push_back({other.get(), priorities.of(*other)});
  }
  std::ranges::sort(out, is_before);
  return out;
}

// New nice values, each decided on what the one before left.
struct Renicing {
  State copy;
  Actor admin;  // what is taken from one's own jobs is nobody else's business
  Time now;
  std::vector<Event> events{};

  std::expected<void, Refusal> set(const Job& job, std::int64_t nice) {
    ModifyJob change;
    change.change.nice = static_cast<std::int32_t>(std::clamp<std::int64_t>(nice, INT32_MIN / 2, INT32_MAX / 2));
    auto decision = decide_modify(copy, {job.key, std::nullopt}, change, admin, now);
    if (!decision) return std::unexpected(decision.error());
    for (const Event& event : *decision) apply(copy, event);
    events.insert(events.end(), decision->begin(), decision->end());
    return {};
  }
};

// A user may give away what he has, and no more: the job rises to where it would be with the best nice value that a
// user may ask for, and not above the first; the others go below it in the order they have. Whatever he did with the
// priorities that his other jobs had, or have next, none gets further than it could have been submitted.
Decision top_for_user(const Job& job, const std::vector<Place>& rivals, std::int64_t mine, Renicing renicing) {
  const std::int64_t highest = std::max(mine, rivals.front().priority);
  const std::int64_t nice = job.spec->nice;
  const std::int64_t wanted = std::min(nice, std::max<std::int64_t>(0, nice - (highest - mine)));
  if (wanted != nice)
    if (const auto done = renicing.set(job, wanted); !done) return std::unexpected(done.error());
  std::int64_t above = Priorities(renicing.copy, renicing.now).of(renicing.copy.job(job.key)), above_before = INT64_MAX;
  for (const Place& rival : rivals) {
    // Those that were alike stay alike: their numbers order them.
    const std::int64_t most = rival.priority == above_before ? above : above - 1;
    above_before = rival.priority;
    above = std::min(rival.priority, most);
    if (above == rival.priority) continue;
    const std::int64_t lower = rival.job->spec->nice + (rival.priority - above);
    if (const auto done = renicing.set(*rival.job, lower); !done) return std::unexpected(done.error());
  }
  // No priority is below 1, and none that was set moves.
  const Priorities after(renicing.copy, renicing.now);
  const Place now_mine{&job, after.of(renicing.copy.job(job.key))};
  for (const Place& rival : rivals)
    if (is_before({rival.job, after.of(renicing.copy.job(rival.job->key))}, now_mine))
      return refuse(RefusalCode::access_denied,
                    "the priority of your job " + std::to_string(rival.job->id.value) +
                        " cannot be lowered below this one's, and only an administrator may raise one");
  return std::move(renicing.events);
}

Decision top_for_admin(const Job& job, const std::vector<Place>& before, std::int64_t mine, Renicing renicing) {
  const std::int64_t rise = before.front().priority - mine + 1;
  const std::int64_t fall =
      (rise + static_cast<std::int64_t>(before.size()) - 1) / static_cast<std::int64_t>(before.size());
  if (const auto done = renicing.set(job, job.spec->nice - rise); !done) return std::unexpected(done.error());
  for (const Place& other : before)
    if (const auto done = renicing.set(*other.job, other.job->spec->nice + fall); !done)
      return std::unexpected(done.error());
  // No priority is below 1, so what was near that has not moved by as much as it was told to.
  constexpr int rounds_max = 3;
  for (int round = 0; round < rounds_max; ++round) {
    const Job& now_job = renicing.copy.job(job.key);
    const Priorities after(renicing.copy, renicing.now);
    std::int64_t gap = -1;
    for (const Place& other : before)
      gap = std::max<std::int64_t>(
          gap, static_cast<std::int64_t>(after.of(renicing.copy.job(other.job->key))) - after.of(now_job));
    if (gap < 0) break;
    if (const auto done = renicing.set(now_job, now_job.spec->nice - gap - 1); !done)
      return std::unexpected(done.error());
  }
  return std::move(renicing.events);
}

}  // namespace

Decision decide_top(const State& state, const SelectedJob& which, const Actor& actor, Time now) {
  const Job& job = state.job(which.key);
  if (!actor.is_admin && job.spec->owner->uid != actor.uid) return refuse(RefusalCode::access_denied);
  if (job.state != JobState::pending || which.task) return refuse(RefusalCode::not_pending);
  if (job.hold != Hold::none) return refuse(RefusalCode::not_pending);
  const Priorities priorities(state, now);
  const std::int64_t mine = priorities.of(job);
  std::vector<Place> rivals = rivals_of(state, job, priorities);
  const auto after_it = std::ranges::find_if(rivals, [&](const Place& one) { return !is_before(one, {&job, mine}); });
  if (after_it == rivals.begin()) return std::vector<Event>{};
  Renicing renicing{state, Actor{actor.uid, true}, now};
  if (!actor.is_admin) return top_for_user(job, rivals, mine, std::move(renicing));
  rivals.erase(after_it, rivals.end());
  return top_for_admin(job, rivals, mine, std::move(renicing));
}

}  // namespace millrace
