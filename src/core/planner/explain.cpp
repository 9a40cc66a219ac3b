// src/core/planner/explain.cpp - see explain.h.
#include "core/planner/explain.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/hostlist.h"
#include "core/ledger/licences.h"
#include "core/ledger/limits.h"
#include "core/ledger/obstacle.h"
#include "core/model/fit.h"
#include "core/model/node_fit.h"
#include "core/planner/suggest.h"

namespace millrace {
namespace {

std::string number(const Job& job) { return std::to_string(job.id.value - (job.het ? job.het->offset : 0)); }

std::string component_words(const Job& job) { return "component " + std::to_string(job.het->offset); }

// On as many nodes as hold it, which may be more than it asked for.
std::string request_words(const State& state, const Job& job, Memo& memo) {
  Timeline& timeline = memo.timeline();
  const Shape& shape =
      memo.shapes().at(memo.shapes().shape_of(state, job.spec, job.spec->partition, timeline.classes()));
  return count_of(requested_cpus(*job.spec).value, "CPU") + " on " + count_of(shape.nodes_least, "node") +
         " of partition " + state.partition(job.spec->partition).def.name;
}

// Which components could start by themselves, and which keep the others waiting.
void tell_components(const State& state, const Trial& trial, Time now, Memo& memo, std::vector<std::string>& words) {
  std::string ready;
  std::size_t kept = 0;
  for (const auto& [key, start] : trial.alone) {
    const Job& component = state.job(key);
    if (start.is_set() && start <= now) {
      ready += (ready.empty() ? "" : ", ") + std::to_string(component.het->offset);
      continue;
    }
    if (++kept > 4) continue;
    words.push_back("Component " + std::to_string(component.het->offset) + " asks for " +
                    request_words(state, component, memo) + ", which are not free now" +
                    (start.is_set() ? " and would be in " + span_words(start - now) + "."
                                    : "; with the nodes that are up now they never would be."));
  }
  if (kept > 4) words.push_back("For " + std::to_string(kept - 4) + " more components it is the same.");
  if (trial.alone.empty()) return;
  if (kept == 0)
    words.push_back("Each component could start alone, but there is no room for all of them at once.");
  else if (!ready.empty())
    words.push_back("For component " + ready + " there would be room.");
}

std::string dependency_words(const State& state, const Job& job) {
  std::string waits;
  for (const Dependency& one : job.dependencies ? job.dependencies->list : std::vector<Dependency>{}) {
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

std::string held_words(const State& state, const Job& job, Reason reason) {
  const std::string release = "scontrol release " + number(job) + " lets it go";
  switch (reason) {
    case Reason::held_by_user:
      return "It is held by its owner; " + release + ".";
    case Reason::held_by_admin:
      return "It is held by an administrator, who alone can release it.";
    case Reason::requeued_too_often:
      return "It went back to the queue by itself " + count_of(job.requeues, "time") +
             ", more often than MaxBatchRequeue=" + std::to_string(state.policy->max_requeues) +
             " allows, and is held; " + release + ".";
    case Reason::launch_failed_held: {
      const bool known = job.trouble && state.nodes.contains(job.trouble->node);
      const std::string where = known ? " on node " + state.node(job.trouble->node).def->name : std::string{};
      if (known && job.trouble->tries > 0)
        return "It was launched " + count_of(job.trouble->tries, "time") + " and could not begin, the last time" +
               where + ", so it is held. The job is not to blame: an administrator finds the cause in the log there; " +
               release + " again.";
      return "What runs before a job (the prolog) failed" + where +
             ", so it was put back into the queue and held. The job is not to blame: an administrator finds the cause "
             "in the log there; " +
             release + " again.";
    }
    default:
      return "It was put back into the queue and held; " + release + ".";
  }
}

std::string licence_words(const State& state, const Job& job, Time now) {
  const ResourceRequest& ask = job.spec->resource_request();
  const std::vector<LicenceAsk> free = licences_free_for(state, job, now);
  std::string out;
  for (const LicenceAsk& each : ask.licences) {
    const auto there = std::ranges::find(free, each.name, &LicenceAsk::name);
    const std::int64_t count = there == free.end() ? 0 : std::max<std::int64_t>(there->count, 0);
    if (count >= each.count && !ask.any_licence) continue;
    out += (out.empty()       ? ""
            : ask.any_licence ? " or "
                              : " and ") +
           std::to_string(each.count) + " of " + each.name + " (" + std::to_string(count) + " free)";
  }
  return "It waits for licences: " + out + ".";
}

std::string obstacle_words(const State& state, const Job& job, Reason reason, Time now) {
  const PartitionDef& partition = state.partition(job.spec->partition).def;
  const std::string in = "Partition " + partition.name + " ";
  switch (reason) {
    case Reason::held_by_user:
    case Reason::held_by_admin:
    case Reason::requeued_held:
    case Reason::requeued_too_often:
    case Reason::launch_failed_held:
      return held_words(state, job, reason);
    case Reason::licenses:
      return licence_words(state, job, now);
    case Reason::dependency:
      return dependency_words(state, job);
    case Reason::dependency_never_satisfied:
      return "A job it depends on did not end as asked, so it can never start; it must be cancelled or its dependency "
             "changed.";
    case Reason::begin_time:
      if (job.attempt.value > 0)
        return "It was put back into the queue and may start again in " + span_words(job.begin_at - now) + ".";
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

// Jobs that come before it and may have the same nodes.
struct Ahead {
  std::int64_t count = 0;
  bool all_of_its_partition = true;
  std::string first;  // by number
};

Ahead jobs_ahead(const State& state, const Job& job, Time now, const Memo& memo) {
  const auto nodes_of = [&](PartitionIndex index) { return state.partition(index).nodes; };
  std::vector<NodeIndex> own = nodes_of(job.spec->partition);
  for (const std::uint32_t more : job.spec->resource_request().more_partitions)
    for (const NodeIndex node : nodes_of(PartitionIndex{more})) own.push_back(node);
  std::ranges::sort(own);
  std::map<PartitionIndex, bool> shares;
  Ahead out;
  std::set<JobKey> seen;  // one of several partitions stands in the queue more than once
  for (const QueueEntry& entry : memo.queue()) {
    if (entry.job->key == job.key) break;
    const auto [known, fresh] = shares.try_emplace(entry.partition, false);
    if (fresh)
      known->second = std::ranges::any_of(nodes_of(entry.partition),
                                          [&](NodeIndex node) { return std::ranges::binary_search(own, node); });
    if (!known->second || standing_obstacle(state, *entry.job, now, 0, entry.partition) != Reason::none ||
        !seen.insert(entry.job->key).second)
      continue;
    out.all_of_its_partition = out.all_of_its_partition && entry.partition == job.spec->partition;
    if (++out.count <= 3) out.first += (out.first.empty() ? "" : ", ") + number(*entry.job);
  }
  if (out.count > 3) out.first += " ...";
  return out;
}

std::string ahead_words(const Ahead& ahead) {
  if (ahead.count == 0) return "No job comes before it there.";
  return count_of(ahead.count, "job") +
         (ahead.all_of_its_partition ? " of its partition " : " that may have the same nodes ") +
         (ahead.count == 1 ? "comes" : "come") + " before it (" + ahead.first + ").";
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

// What it gains without this reservation; empty: nothing.
std::string reservation_words(const Reservation& reservation, const Trial& trial, const Trial& without, Time now) {
  if (!without.start.is_set() || (trial.start.is_set() && without.start >= trial.start)) return {};
  return "Reservation " + reservation.name + " keeps " +
         count_of(static_cast<std::int64_t>(reservation.nodes.size()), "node") +
         (reservation.starts(now) <= now
              ? " for others now"
              : " for others in " + span_words(reservation.starts(now) - now) + ", before this job would be done") +
         "; without it the job would start " +
         (without.now ? std::string{"at once."} : "in " + span_words(without.start - now) + ".");
}

// With nobody before it and no reservation of others, as if its nodes waited for it alone.
State as_if_alone(const State& state, const Job& job) {
  State alone = state;
  for (const auto& [id, reservation] : state.reservations)
    if (reservation->name != job.spec->resource_request().reservation) alone.reservations.erase(id);
  alone.queue = {};
  alone.queue.set(queue_key(state, job), {});
  return alone;
}

std::string certainty_words(const Trial& trial, bool first) {
  if (!trial.start.is_set()) return "unknown";
  if (trial.promised && first)
    return "at the latest, unless a job of higher priority arrives or a node fails; sooner if running jobs end before "
           "their limits";
  if (trial.promised)
    return "kept for it against all jobs behind it: sooner if jobs end before their limits, later if a job of higher "
           "priority arrives, a node fails, or a job before it starts sooner";
  return "an estimate: it moves forward when jobs end before their limits, and back when other jobs start before it";
}

// Nodes that have the features it asks for, where the features are not active.
std::string inactive_words(const State& state, const Job& job) {
  if (job.spec->resource_request().features.empty()) return {};
  std::vector<std::string> names;
  NodeFilter available(*job.spec, NodeFilter::Features::available), active(*job.spec);
  for (const NodeIndex index : state.partition(job.spec->partition).nodes)
    if (const NodeDef& def = *state.node(index).def; available.admits(def) && !active.admits(def))
      names.push_back(def.name);
  if (names.empty()) return {};
  return "On " + compress_hostlist(names) + " what it asks for (" + job.spec->resource_request().features +
         ") is available but not active.";
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

class Explaining::Inner {
 public:
  Inner(State state, PlannerSettings settings, JobKey key, Time now, std::int64_t steps_most)
      : state_(std::move(state)),
        job_(state_.job(leader_of(state_.job(key)))),
        now_(now),
        trials_(std::move(settings), now, steps_most) {
    if (job_.het)
      out_.words.push_back("It has " + std::to_string(job_.het->size) +
                           " components, which start together or not at all.");
    if (!tell_obstacle() && !tell_limit()) try_it();
  }

  bool advance(std::int64_t steps) { return trials_.advance(steps); }
  std::int64_t steps() const { return trials_.steps(); }

  Explanation take() {
    if (suggesting_) out_.suggestions = suggesting_->take();
    if (trials_.ran_out() && trial_)
      out_.words.push_back("What would let it start sooner was not tried to the end: the plan is too long for that.");
    return std::move(out_);
  }

 private:
  bool tell_obstacle() {
    const Job* obstructed = &job_;
    for (const JobKey each : whole_of(job_)) {
      if (out_.reason != Reason::none) break;
      obstructed = &state_.job(each);
      out_.reason = standing_obstacle(state_, *obstructed, now_);
    }
    if (out_.reason == Reason::none) return false;
    if (obstructed->is_component()) out_.words.push_back("What follows is about " + component_words(*obstructed) + ".");
    out_.words.push_back(obstacle_words(state_, *obstructed, out_.reason, now_));
    const Reservation* waits_for = out_.reason == Reason::reservation
                                       ? state_.find_reservation(obstructed->spec->resource_request().reservation)
                                       : nullptr;
    if (out_.reason == Reason::begin_time) out_.start = job_.begin_at;
    if (waits_for && !waits_for->has(reserve_time_float)) out_.start = waits_for->start;
    out_.certainty = "at the earliest";
    return true;
  }

  bool tell_limit() {
    const auto hit = whole_start_hit(state_, job_, now_);
    if (!hit) return false;
    out_.reason = reason_of(*hit);
    out_.words.push_back("A limit keeps it back, however much is free: " + limit_in_words(state_, *hit) + ".");
    out_.certainty = "unknown";
    suggest({});
    return true;
  }

  void try_it() {
    trials_.later([this] { trials_.ask(state_, job_.key, &memo_, [this](const Trial& trial) { tell_trial(trial); }); });
    trials_.later([this] {
      if (!trial_) tell_nothing_known();
    });
  }

  // The plan for it takes longer than the question is worth.
  void tell_nothing_known() {
    out_.reason = Reason::priority;
    out_.words.push_back("Too much comes before it to work out its place in the plan for this answer.");
    out_.certainty = "unknown";
  }

  void tell_trial(const Trial& trial) {
    trial_ = trial;
    out_.start = trial.start;
    for (const NodeShare& share : trial.shares) out_.nodes.push_back(share.node.value);
    if (trial.now) {
      out_.words.push_back("There is room for it: it starts with the next pass.");
      out_.certainty = "within seconds";
      return;
    }
    // The memo is of this trial; those that follow change it.
    out_.reason = trial.reason == Reason::none ? Reason::priority : trial.reason;
    ahead_ = jobs_ahead(state_, job_, now_, memo_);
    if (job_.het)
      tell_components(state_, trial, now_, memo_, asks_);
    else
      asks_.push_back("It asks for " + request_words(state_, job_, memo_));
    trials_.later([this] { try_without_reservation(state_.reservations.begin(), 0); });
    if (!job_.het)
      trials_.later([this] {
        trials_.ask(as_if_alone(state_, job_), job_.key, nullptr, [this](const Trial& alone) { room_ = alone.now; });
      });
    trials_.later([this] { tell_wait(); });
    suggest(trial);
  }

  // The reservations of others without which it would start sooner, one by one, as far as a few trials tell.
  template <class Place>
  void try_without_reservation(Place at, int tried) {
    constexpr int trials_most = 8;
    const auto is_of_others = [&](const Reservation& each) {
      return each.name != job_.spec->resource_request().reservation && each.ends(now_) > now_;
    };
    while (at != state_.reservations.end() && !is_of_others(*(*at).second)) ++at;
    if (at == state_.reservations.end() || tried >= trials_most) return;
    const auto& [id, reservation] = *at;
    State without = state_;
    without.reservations.erase(id);
    trials_.ask(without, job_.key, nullptr, [this, at, tried, reservation = reservation](const Trial& found) mutable {
      kept_ = reservation_words(*reservation, *trial_, found, now_);
      if (kept_.empty()) try_without_reservation(++at, tried + 1);
    });
  }

  // What is true of a job that only nodes keep waiting.
  void tell_wait() {
    if (!job_.het)
      asks_.front() += !room_             ? "."
                       : !*room_          ? ", which are not free now."
                       : ahead_.count > 0 ? ". As much is free, but kept for jobs that come before it or for a "
                                            "reservation."
                                          : ". As much is free, but kept for a reservation.";
    for (std::string& sentence : asks_) out_.words.push_back(std::move(sentence));
    out_.words.push_back(ahead_words(ahead_));
    for (const std::string& sentence : {holders_words(state_, *trial_, now_), kept_, inactive_words(state_, job_)})
      if (!sentence.empty()) out_.words.push_back(sentence);
    if (!trial_->start.is_set())
      out_.words.push_back("With the nodes that are up now it could never start; it waits for nodes to come back.");
    out_.certainty = certainty_words(*trial_, ahead_.count == 0);
  }

  void suggest(const Trial& as_is) {
    if (job_.het) return;
    suggesting_.emplace(trials_, state_, job_, now_, as_is, memo_);
    trials_.later([this] { suggesting_->shorter(); });
    trials_.later([this] { suggesting_->fewer_nodes(); });
    trials_.later([this] { suggesting_->fewer_tasks(); });
    trials_.later([this] { suggesting_->elsewhere(); });
  }

  const State state_;
  const Job& job_;
  const Time now_;
  Trials trials_;
  Memo memo_;
  Explanation out_;
  std::optional<Trial> trial_;  // as things stand
  Ahead ahead_;
  std::vector<std::string> asks_;
  std::string kept_;          // a reservation of others
  std::optional<bool> room_;  // now, with nobody before it
  std::optional<Suggesting> suggesting_;
};

Explaining::Explaining(State state, PlannerSettings settings, JobKey key, Time now, std::int64_t steps_most)
    : inner_(std::make_unique<Inner>(std::move(state), std::move(settings), key, now, steps_most)) {}
Explaining::~Explaining() = default;
bool Explaining::advance(std::int64_t steps) { return inner_->advance(steps); }
std::int64_t Explaining::steps() const { return inner_->steps(); }
Explanation Explaining::take() { return inner_->take(); }

Explanation explain(const State& state, const PlannerSettings& settings, JobKey key, Time now) {
  Explaining explaining(state, settings, key, now);
  while (!explaining.advance(question_steps)) {
  }
  return explaining.take();
}

}  // namespace millrace
