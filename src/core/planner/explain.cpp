// src/core/planner/explain.cpp - see explain.h.
#include "core/planner/explain.h"

#include <algorithm>

#include "base/hostlist.h"
#include "core/ledger/apply.h"
#include "core/ledger/limits.h"
#include "core/ledger/obstacle.h"
#include "core/model/fit.h"
#include "core/model/node_fit.h"
#include "core/planner/memo.h"
#include "core/planner/trial.h"

namespace millrace {
namespace {

std::string count_of(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string span_words(Duration span) {
  if (span > Duration{0} && span < minutes(1)) return count_of((span.value + 999'999) / 1'000'000, "second");
  const std::int64_t minutes = std::max<std::int64_t>((span.value + 59'999'999) / 60'000'000, 0);
  if (minutes < 120) return count_of(minutes, "minute");
  if (minutes < 48 * 60)
    return count_of(minutes / 60, "hour") + (minutes % 60 == 0 ? "" : " " + count_of(minutes % 60, "minute"));
  return count_of(minutes / (24 * 60), "day") +
         (minutes / 60 % 24 == 0 ? "" : " " + count_of(minutes / 60 % 24, "hour"));
}

std::string number(const Job& job) { return std::to_string(job.id.value - (job.het ? job.het->offset : 0)); }

std::string component_words(const Job& job) { return "component " + std::to_string(job.het->offset); }

std::string request_words(const State& state, const Job& job) {
  return count_of(requested_cpus(*job.spec).value, "CPU") + " on " +
         count_of(std::max(job.spec->min_nodes, 1u), "node") + " of partition " +
         state.partition(job.spec->partition).def.name;
}

// As if this component had been submitted alone, in the place of the whole.
Trial try_alone(const State& state, const PlannerSettings& settings, const Job& component, Time now) {
  State copy = state;
  const Job& leader = copy.job(component.het->leader);
  const std::uint32_t priority = leader.priority;
  copy.queue.erase(queue_key(copy, leader));
  Job& alone = copy.edit_job(component.key);
  alone.het = {};
  alone.priority = priority;
  copy.queue.set(queue_key(copy, alone), {});
  return try_job(copy, settings, component.key, now);
}

// Which components could start by themselves, and which keep the others waiting.
void tell_components(const State& state, const PlannerSettings& settings, const Job& leader, Time now,
                     std::vector<std::string>& words) {
  std::string ready;
  std::size_t kept = 0;
  for (const JobKey key : whole_of(leader)) {
    const Job& component = state.job(key);
    const Trial alone = try_alone(state, settings, component, now);
    if (alone.now) {
      ready += (ready.empty() ? "" : ", ") + std::to_string(component.het->offset);
      continue;
    }
    if (++kept > 4) continue;
    words.push_back("Component " + std::to_string(component.het->offset) + " asks for " +
                    request_words(state, component) + ", which are not free now" +
                    (alone.start.is_set() ? " and would be in " + span_words(alone.start - now) + "."
                                          : "; with the nodes that are up now they never would be."));
  }
  if (kept > 4) words.push_back("For " + std::to_string(kept - 4) + " more components it is the same.");
  if (kept == 0)
    words.push_back("Each component could start alone, but there is no room for all of them at once.");
  else if (!ready.empty())
    words.push_back("For component " + ready + " there would be room.");
}

std::string dependency_words(const State& state, const Job& job) {
  std::string waits;
  for (const Dependency& one : job.dependencies->list) {
    if (one.state != DependencyState::unfulfilled) continue;
    static constexpr const char* until[] = {"has started", "has ended", "has ended well", "has failed",
                                            "is the only one of its name"};
    const Job* target = state.find_job(one.target);
    const char* now = !target                              ? ""
                      : target->state == JobState::pending ? " (still waiting)"
                      : target->state == JobState::ended   ? " (ended)"
                                                           : " (running)";
    const std::size_t kind = std::min<std::size_t>(static_cast<std::size_t>(one.kind), std::size(until) - 1);
    waits += (waits.empty() ? "" : job.dependencies->any ? " or until " : " and until ");
    waits += one.kind == DependencyKind::singleton ? "no older job of the same name and user is left"
                                                   : "job " + std::to_string(one.shown.value) + now + " " + until[kind];
  }
  return "It waits until " + (waits.empty() ? "its dependencies are met" : waits) + ".";
}

std::string obstacle_words(const State& state, const Job& job, Reason reason, Time now) {
  const PartitionDef& partition = state.partition(job.spec->partition).def;
  const std::string in = "Partition " + partition.name + " ";
  switch (reason) {
    case Reason::held_by_user:
      return "It is held by its owner; scontrol release " + number(job) + " lets it go.";
    case Reason::held_by_admin:
      return "It is held by an administrator, who alone can release it.";
    case Reason::requeued_held:
      return "It was put back into the queue and held; scontrol release " + number(job) + " lets it go.";
    case Reason::dependency:
      return dependency_words(state, job);
    case Reason::dependency_never_satisfied:
      return "A job it depends on did not end as asked, so it can never start; it must be cancelled or its dependency "
             "changed.";
    case Reason::begin_time:
      return "It asked to begin later, in " + span_words(job.begin_at - now) + ".";
    case Reason::partition_down:
      return in + "is down: jobs wait until it is up again.";
    case Reason::partition_inactive:
      return in + "is inactive: no job starts there.";
    case Reason::partition_node_limit:
      return in + "allows " +
             (job.spec->min_nodes > partition.max_nodes ? "at most " + count_of(partition.max_nodes, "node")
                                                        : "at least " + count_of(partition.min_nodes, "node")) +
             "; the job asks for " + std::to_string(job.spec->min_nodes) + ".";
    case Reason::partition_time_limit:
      return in + "allows at most " + span_words(minutes(partition.max_time_minutes)) + "; the job asks for " +
             (job.time_limit_minutes == unlimited ? "no limit" : span_words(minutes(job.time_limit_minutes))) + ".";
    case Reason::required_node_not_available: {
      std::string names;
      for (const std::uint32_t index : job.spec->rare_request().required_nodes) {
        const Node& node = state.node(NodeIndex{index});
        const auto& there = state.partition(job.spec->partition).nodes;
        const bool left = std::ranges::find(there, NodeIndex{index}) == there.end();
        if (!node.is_usable() || left)
          names += (names.empty() ? "" : ", ") + node.def->name +
                   (left                  ? " (not in partition " + partition.name + " any more)"
                    : node.reason.empty() ? ""
                                          : " (" + node.reason + ")");
      }
      return "It asks for nodes that are down, drained or elsewhere: " + names + ".";
    }
    case Reason::array_task_limit:
      return "Its array may run " + std::to_string(state.arrays.at(job.array)->spec.throttle) +
             " tasks at once, and as many are running.";
    case Reason::reservation: {
      const Reservation& reservation = *state.find_reservation(job.spec->resource_request().reservation);
      return "Reservation " + reservation.name +
             (reservation.has(reserve_time_float) ? " is always " + span_words(reservation.starts(now) - now) + " away."
                                                  : " begins in " + span_words(reservation.starts(now) - now) + ".");
    }
    case Reason::reservation_deleted:
      return "Reservation " + job.spec->resource_request().reservation + " is no longer there.";
    case Reason::reservation_invalid:
      return "Its owner may not use reservation " + job.spec->resource_request().reservation + ".";
    default:
      return std::string{"It is kept from starting: "} + slurm_word(reason) + ".";
  }
}

// Jobs that come before it and want nodes of the same partition, the next ones by number.
std::string ahead_words(const State& state, const PlannerSettings& settings, const Job& job, Time now) {
  Memo memo;
  memo.update(state, settings, now);
  std::int64_t ahead = 0;
  std::string first;
  for (const QueueEntry& entry : memo.queue()) {
    if (entry.job->key == job.key) break;
    if (entry.partition != job.spec->partition ||
        standing_obstacle(state, *entry.job, now, 0, entry.partition) != Reason::none)
      continue;
    if (++ahead <= 3) first += (first.empty() ? "" : ", ") + number(*entry.job);
  }
  if (ahead == 0) return "No job of its partition comes before it.";
  return count_of(ahead, "job") + " of its partition " + (ahead == 1 ? "comes" : "come") + " before it (" + first +
         (ahead > 3 ? " ..." : "") + ").";
}

// Who sits on the nodes it is planned for, and until when.
std::string holders_words(const State& state, const Trial& trial, Time now) {
  const Job* last = nullptr;
  std::vector<JobKey> holders;
  const auto ends = [&](const Job& job) {
    return job.time_limit_minutes == unlimited ? never : job.started_at + minutes(job.time_limit_minutes);
  };
  for (const NodeShare& share : trial.shares)
    for (const JobKey key : state.node(share.node).jobs) {
      const Job& job = state.job(key);
      if (ends(job) > trial.start && trial.start.is_set()) continue;  // may stay where it is
      if (std::ranges::find(holders, key) == holders.end()) holders.push_back(key);
      if (!last || ends(job) > ends(*last)) last = &job;
    }
  if (!last) return {};
  return "It waits for " +
         (holders.size() == 1 ? "job " + number(*last)
                              : count_of(static_cast<std::int64_t>(holders.size()), "running job") +
                                    ", the last of them job " + number(*last)) +
         ", which may run for " + span_words(std::max(ends(*last) - now, Duration{0})) + " more.";
}

// One that the job would run into if it started now, or that it is planned behind.
std::string reservation_words(const State& state, const Job& job, const Trial& trial, Time now) {
  const Duration span = job.time_limit_minutes == unlimited ? minutes(525'600) : minutes(job.time_limit_minutes);
  for (const auto& [id, reservation] : state.reservations) {
    if (reservation->name == job.spec->resource_request().reservation) continue;
    const bool in_time = reservation->starts(now) < now + span || reservation->ends(now) <= trial.start;
    const bool in_the_way = in_time && reservation->ends(now) > now &&
                            std::ranges::any_of(state.partition(job.spec->partition).nodes, [&](NodeIndex node) {
                              return std::ranges::binary_search(reservation->nodes, node.value);
                            });
    if (in_the_way)
      return "Reservation " + reservation->name + " keeps " +
             count_of(static_cast<std::int64_t>(reservation->nodes.size()), "node") +
             (reservation->starts(now) <= now ? " now" : " in " + span_words(reservation->starts(now) - now)) +
             ", before this job would be done.";
  }
  return {};
}

// Nodes that have the features it asks for, where the features are not active.
std::string inactive_words(const State& state, const Job& job) {
  if (job.spec->resource_request().features.empty()) return {};
  std::vector<std::string> names;
  for (const NodeIndex index : state.partition(job.spec->partition).nodes)
    if (const NodeDef& def = *state.node(index).def; could_suit(*job.spec, def) && !suits(*job.spec, def))
      names.push_back(def.name);
  if (names.empty()) return {};
  return "On " + compress_hostlist(names) + " what it asks for (" + job.spec->resource_request().features +
         ") is available but not active.";
}

// Tries the job with a change on a copy; kept when it starts sooner.
class Trials {
 public:
  Trials(const State& state, const PlannerSettings& settings, JobKey key, Time now, const Trial& as_is)
      : state_(state), settings_(settings), key_(key), now_(now), as_is_(as_is) {}

  void with(JobModified change, std::string words) {
    State copy = state_;
    change.key = key_;
    change.at = now_;
    apply(copy, change);
    if (!is_queueable(copy.job(key_)) || standing_obstacle(copy, copy.job(key_), now_) != Reason::none) return;
    const Trial tried = try_job(copy, settings_, key_, now_);
    if (!tried.start.is_set() || (as_is_.start.is_set() && tried.start >= as_is_.start)) return;
    found_.push_back({std::move(words), tried.start, tried.now});
  }

  std::vector<Suggestion> take() {
    std::ranges::stable_sort(found_, {}, &Suggestion::start);
    if (found_.size() > 3) found_.resize(3);
    return std::move(found_);
  }

 private:
  const State& state_;
  const PlannerSettings& settings_;
  JobKey key_;
  Time now_;
  const Trial& as_is_;
  std::vector<Suggestion> found_;
};

std::vector<Suggestion> suggestions_for(const State& state, const PlannerSettings& settings, const Job& job, Time now,
                                        const Trial& as_is) {
  Trials trials(state, settings, job.key, now, as_is);
  const auto shorter = [&](std::uint32_t limit) {
    if (limit == 0 || limit >= job.time_limit_minutes) return;
    JobModified change;
    change.time_limit_minutes = limit;
    trials.with(change, "with a time limit of " + span_words(minutes(limit)));
  };
  const std::uint32_t limit = job.time_limit_minutes == unlimited ? 7 * 24 * 60 : job.time_limit_minutes;
  for (const std::uint32_t part : {2u, 4u, 8u}) shorter(limit / part);
  for (std::uint32_t nodes = job.spec->min_nodes / 2; nodes >= 1; nodes /= 2) {
    JobModified change;
    change.min_nodes = nodes;
    change.max_nodes = nodes;
    if (!job.spec->resource_request().node_counts.empty()) {
      change.resources = job.spec->resource_request();
      change.resources->node_counts = {};
    }
    change.tasks = std::max(job.spec->tasks / (job.spec->min_nodes / nodes), 1u);
    trials.with(change, "on " + count_of(nodes, "node") + " with " + count_of(*change.tasks, "task"));
  }
  if (job.spec->min_nodes <= 1 && job.spec->tasks > 1) {
    JobModified change;
    change.tasks = job.spec->tasks / 2;
    trials.with(change, "with " + count_of(*change.tasks, "task"));
  }
  for (std::uint32_t i = 0; i < state.partitions->size(); ++i) {
    const Partition& other = state.partition(PartitionIndex{i});
    const bool open = other.configured && other.def.availability == Availability::up && !other.def.root_only &&
                      other.def.allow_groups.empty() && other.def.allow_accounts.empty();
    if (!open || PartitionIndex{i} == job.spec->partition) continue;
    JobModified change;
    change.partition = PartitionIndex{i};
    trials.with(change, "in partition " + other.def.name);
  }
  return trials.take();
}

}  // namespace

std::vector<std::string> wait_in_words(const Job& job) {
  std::vector<std::string> out;
  if (!job.started_at.is_set()) return out;
  const Time eligible = job.eligible_at.is_set() ? job.eligible_at : job.submitted_at;
  const Duration wait = job.started_at - job.submitted_at;
  out.push_back(wait < seconds(1) ? "It did not wait." : "It waited " + span_words(wait) + " in all.");
  if (wait < seconds(1)) return out;
  if (eligible - job.submitted_at >= minutes(1))
    out.push_back(span_words(eligible - job.submitted_at) +
                  " of it before it might start at all (held, a begin time, or a dependency).");
  if (!job.waited) return out;
  const std::vector<WaitSpan>& spans = job.waited->spans;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Time until = i + 1 < spans.size() ? spans[i + 1].from : job.started_at;
    const char* why = spans[i].reason == Reason::resources  ? " for nodes to come free (Resources)."
                      : spans[i].reason == Reason::priority ? " behind jobs of higher priority (Priority)."
                                                            : nullptr;
    out.push_back(span_words(until - spans[i].from) +
                  (why ? why : std::string{" because of "} + slurm_word(spans[i].reason) + "."));
  }
  if (job.waited->planned_start.is_set()) {
    const Duration early = job.waited->planned_start - job.started_at;
    const std::string verdict = early >= minutes(1)    ? span_words(early) + " too late."
                                : early <= minutes(-1) ? span_words(Duration{-early.value}) + " too early."
                                                       : "right to the minute.";
    out.push_back("The first plan for it, made " + span_words(job.waited->planned_at - job.submitted_at) +
                  " after it was submitted, was " + verdict);
  }
  return out;
}

Explanation explain(const State& state, const PlannerSettings& settings, JobKey key, Time now) {
  Explanation out;
  const Job& job = state.job(leader_of(state.job(key)));
  if (job.het)
    out.words.push_back("It has " + std::to_string(job.het->size) + " components, which start together or not at all.");
  const Job* obstructed = &job;
  for (const JobKey each : whole_of(job)) {
    if (out.reason != Reason::none) break;
    obstructed = &state.job(each);
    out.reason = standing_obstacle(state, *obstructed, now);
  }
  if (out.reason != Reason::none) {
    if (obstructed->is_component()) out.words.push_back("What follows is about " + component_words(*obstructed) + ".");
    out.words.push_back(obstacle_words(state, *obstructed, out.reason, now));
    const Reservation* waits_for = out.reason == Reason::reservation
                                       ? state.find_reservation(obstructed->spec->resource_request().reservation)
                                       : nullptr;
    if (out.reason == Reason::begin_time) out.start = job.begin_at;
    if (waits_for && !waits_for->has(reserve_time_float)) out.start = waits_for->start;
    out.certainty = "at the earliest";
    return out;
  }
  if (const auto hit = whole_start_hit(state, job, now)) {
    out.reason = reason_of(*hit);
    out.words.push_back("A limit keeps it back, however much is free: " + limit_in_words(state, *hit) + ".");
    out.certainty = "unknown";
    if (!job.het) out.suggestions = suggestions_for(state, settings, job, now, {});
    return out;
  }
  const Trial trial = try_job(state, settings, job.key, now);
  out.start = trial.start;
  for (const NodeShare& share : trial.shares) out.nodes.push_back(share.node.value);
  if (trial.now) {
    out.reason = Reason::none;
    out.words.push_back("There is room for it: it starts with the next pass.");
    out.certainty = "within seconds";
    return out;
  }
  const std::string ahead = ahead_words(state, settings, job, now);
  const bool first = ahead.starts_with("No job");
  out.reason = first ? Reason::resources : Reason::priority;
  if (job.het)
    tell_components(state, settings, job, now, out.words);
  else
    out.words.push_back("It asks for " + request_words(state, job) + ", which are not free now.");
  out.words.push_back(ahead);
  if (const std::string holders = holders_words(state, trial, now); !holders.empty()) out.words.push_back(holders);
  if (const std::string kept = reservation_words(state, job, trial, now); !kept.empty()) out.words.push_back(kept);
  if (const std::string inactive = inactive_words(state, job); !inactive.empty()) out.words.push_back(inactive);
  if (!trial.start.is_set()) {
    out.words.push_back("With the nodes that are up now it could never start; it waits for nodes to come back.");
    out.certainty = "unknown";
  } else {
    out.certainty = first ? "at the latest, unless a job of higher priority arrives or a node fails; sooner if running "
                            "jobs end before their limits"
                          : "an estimate: it moves forward when jobs end before their limits, and back when jobs of "
                            "higher priority arrive";
  }
  if (!job.het) out.suggestions = suggestions_for(state, settings, job, now, trial);
  return out;
}

}  // namespace millrace
