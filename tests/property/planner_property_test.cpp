// tests/property/planner_property_test.cpp - laws of planned starts and of what is said about them, after random
// histories over several partitions; a failure prints its seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <span>

#include "base/prng.h"
#include "controller/loop/to_place.h"
#include "core/admission/accept_placement.h"
#include "core/admission/expire.h"
#include "core/admission/modify_job.h"
#include "core/admission/report_node.h"
#include "core/admission/reserve.h"
#include "core/admission/submit_het_job.h"
#include "core/ledger/apply.h"
#include "core/ledger/limits.h"
#include "core/ledger/obstacle.h"
#include "core/planner/explain.h"
#include "core/planner/pass.h"

namespace millrace {
namespace {

constexpr std::uint32_t node_count = 8;

// Which nodes a partition has; the last two share some, and `all` has every node.
struct Part {
  const char* name;
  std::uint32_t first, last;
};
constexpr Part disjoint[] = {{"a", 0, 2}, {"b", 3, 5}, {"c", 6, 7}};
constexpr Part shared[] = {{"a", 0, 2}, {"b", 3, 5}, {"c", 5, 7}, {"all", 0, 7}};

class Cluster {
 public:
  Cluster(std::uint64_t seed, bool sharing) : random_(seed) {
    ClusterConfigured facts;
    facts.at = now_;
    facts.policy.return_to_service = 2;
    for (const Part& part : sharing ? std::span<const Part>{shared} : std::span<const Part>{disjoint}) {
      PartitionDef& def = facts.partitions.emplace_back();
      def.name = part.name;
      def.is_default = facts.partitions.size() == 1;
      for (std::uint32_t i = part.first; i <= part.last; ++i) def.nodes.push_back("n" + std::to_string(i));
      names_.push_back(part.name);
    }
    for (std::uint32_t i = 0; i < node_count; ++i) {
      NodeDef& def = facts.nodes.emplace_back();
      def.name = "n" + std::to_string(i);
      def.cpus = Cpus{4};
      def.memory = Mebibytes{1000};
      def.features = i % 3 == 0 ? "odd" : "even";
    }
    apply(state_, ControllerStarted{Epoch{1}, now_});
    apply(state_, facts);
    for (std::uint32_t i = 0; i < node_count; ++i) come_up(NodeIndex{i});
    settings_.backfill = Backfill::conservative;
    settings_.depth = static_cast<std::uint32_t>(1 + random_.below(6));
  }

  void come_up(NodeIndex node) {
    happen(decide_register(state_, {node, "boot", {Cpus{4}, Mebibytes{1000}, {}, {}, {}, {}, {}, {}, {}}}, now_));
  }

  void submit() {
    SubmitJob ask = any_job();
    ask.partition = any_partition();
    ask.hold = random_.chance(1, 15);
    if (random_.chance(1, 15)) ask.begin_at = now_ + minutes(30);
    if (const auto decision = decide(state_, ask, Actor{UserId{1000}, false}, now_)) happen(decision->events);
  }

  // Of several partitions, of several components, or within a reservation.
  void submit_odd() {
    std::vector<SubmitJob> asks{any_job()};
    asks[0].partition = any_partition();
    const std::uint64_t kind = random_.below(3);
    if (kind == 0) asks[0].partition += "," + any_partition();
    if (kind == 1) {
      asks.push_back(any_job());
      asks[1].partition = any_partition();
      for (SubmitJob& each : asks) each.spec.min_nodes = each.spec.tasks = 1;
    }
    if (kind == 2 && !state_.reservations.empty()) {
      ResourceRequest request = asks[0].spec.resource_request();
      request.reservation = (*state_.reservations.begin()).second->name;
      asks[0].spec.resources = SharedValue(request);
    }
    if (const auto decision = decide(state_, std::move(asks), Actor{UserId{1000}, false}, now_))
      happen(decision->events);
  }

  // A node fails or comes back, or nodes are reserved. The partitions that may be worse off for it: all that have such
  // a node.
  std::set<PartitionIndex> disturb() {
    const NodeIndex node{static_cast<std::uint32_t>(random_.below(node_count))};
    std::set<PartitionIndex> touched;
    for (const PartitionIndex index : all_partitions())
      if (std::ranges::find(state_.partition(index).nodes, node) != state_.partition(index).nodes.end())
        touched.insert(index);
    if (state_.node(node).condition == NodeCondition::down) return come_up(node), touched;
    if (random_.chance(1, 2)) return happen(decide_lost(state_, node, now_)), touched;
    Reserve ask;
    ask.nodes = state_.node(node).def->name;
    ask.users = random_.chance(1, 2) ? "u" : "root";
    ask.start = now_ + minutes(static_cast<std::int64_t>(random_.below(120)));
    ask.duration = minutes(static_cast<std::int64_t>(1 + random_.below(180)));
    ask.flags = "ignore_jobs";
    if (const auto decision = decide_reserve(state_, ask, Actor{UserId{0}, true}, now_)) happen(decision->events);
    return touched;
  }

  // A pass, and what it proposes is carried out.
  Plan plan() {
    Pass pass(state_, settings_, now_, &memo_);
    while (!pass.advance(50)) {
    }
    Plan plan = pass.take();
    next_start_ = never;
    for (const Finding& finding : plan.findings)
      if (finding.planned_start.is_set() && finding.planned_start > now_)
        next_start_ = std::min(next_start_, finding.planned_start);
    for (const Proposal& p : plan.placements) {
      const auto events = decide_place(state_, to_place(p), now_);
      EXPECT_FALSE(events.empty());
      happen(events);
      const Job& job = state_.job(p.key);
      const Duration most = minutes(job.time_limit_minutes);
      ends_[p.key] =
          random_.chance(1, 2) ? now_ + most : now_ + Duration{1 + most.value * random_.between(1, 99) / 100};
    }
    return plan;
  }

  // To the next time at which anything happens.
  void wait() {
    Time next = std::min(now_ + minutes(10), next_start_);
    for (const auto& [key, at] : ends_) next = std::min(next, std::max(at, now_ + Duration{1}));
    now_ = next;
    for (auto due = decide_expired(state_, now_); !due.empty(); due = decide_expired(state_, now_)) happen(due);
    std::vector<JobKey> over;  // also those that were told to end, as a component whose own limit is over
    for (const auto& [key, nothing] : state_.active)
      if (state_.job(key).state == JobState::completing) over.push_back(key);
    for (const auto& [key, at] : ends_)
      if (at <= now_) over.push_back(key);
    for (const JobKey key : over)
      for (const JobKey each : whole_of(state_.job(key)))
        if (each == key || state_.job(key).state != JobState::running) end(each);
    std::erase_if(ends_, [&](const auto& each) { return state_.job(each.first).state != JobState::running; });
  }

  void end(JobKey key) {
    const Attempt attempt = state_.job(key).attempt;
    const SharedValue<Placement> placement = state_.job(key).placement;
    if (!state_.job(key).is_on_nodes()) return;
    for (const NodeShare& share : placement->shares)
      happen(decide_end(state_, {key, attempt, share.node, AttemptEnd::exited, 0, 0}, now_));
  }

  // In the order in which they are tried.
  std::vector<JobKey> waiting() const {
    std::vector<JobKey> out;
    for (const auto& [place, nothing] : state_.queue) out.push_back(place.key);
    return out;
  }

  bool may_start(JobKey key) const {
    const Job& job = state_.job(key);
    return standing_obstacle(state_, job, now_) == Reason::none && !whole_start_hit(state_, job, now_);
  }

  // Where it stands in the queue: of a heterogeneous job those of the leader.
  std::set<PartitionIndex> places_of(JobKey key) const {
    const JobSpec& spec = *state_.job(key).spec;
    std::set<PartitionIndex> out{spec.partition};
    for (const std::uint32_t more : spec.resource_request().more_partitions) out.insert(PartitionIndex{more});
    return out;
  }

  // Of all its components.
  std::set<PartitionIndex> partitions_of(JobKey key) const {
    std::set<PartitionIndex> out;
    for (const JobKey each : whole_of(state_.job(key))) out.merge(places_of(each));
    return out;
  }

  // Whether there is room for it there when all others have ended.
  bool fits_empty_nodes(JobKey key, PartitionIndex place) const {
    if (!state_.job(key).spec->resource_request().reservation.empty()) return false;  // that may have ended by then
    const std::vector<JobKey> whole = whole_of(state_.job(key));
    return std::ranges::all_of(whole, [&](JobKey each) {
      const JobSpec& spec = *state_.job(each).spec;
      std::size_t able = 0;
      for (const NodeIndex node : state_.partition(each == key ? place : spec.partition).nodes)
        able += state_.node(node).is_usable() && (spec.resource_request().features.empty() ||
                                                  state_.node(node).def->features == spec.resource_request().features);
      return able >= std::max<std::size_t>(spec.min_nodes, whole.size());
    });
  }

  std::set<PartitionIndex> all_partitions() const {
    std::set<PartitionIndex> out;
    for (std::uint32_t i = 0; i < names_.size(); ++i) out.insert(PartitionIndex{i});
    return out;
  }

  bool shares_nodes(PartitionIndex a, PartitionIndex b) const {
    return std::ranges::any_of(state_.partition(a).nodes, [&](NodeIndex node) {
      return std::ranges::find(state_.partition(b).nodes, node) != state_.partition(b).nodes.end();
    });
  }

  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) apply(state_, event);
  }

  SubmitJob any_job() {
    SubmitJob ask;
    ask.spec.owner = SharedValue(Owner{UserId{1000}, GroupId{1000}, "u", "g", {1000}, "host", {}});
    ask.spec.work_dir = "/";
    ask.script_bytes = 1;
    ask.spec.name = "job";
    ask.spec.min_nodes = random_.chance(1, 3) ? 2 : 1;
    ask.spec.tasks = ask.spec.min_nodes;
    ask.spec.cpus_per_task = static_cast<std::uint32_t>(1 + random_.below(4));
    if (random_.chance(1, 5)) {
      ResourceRequest request;
      request.features = random_.chance(1, 2) ? "odd" : "even";
      ask.spec.resources = SharedValue(request);
    }
    ask.time_limit_minutes = static_cast<std::uint32_t>(10 * (1 + random_.below(12)));
    return ask;
  }
  std::string any_partition() { return names_[random_.chance(1, 2) ? 0 : random_.below(names_.size())]; }

  Prng random_;
  State state_;
  Memo memo_;
  PlannerSettings settings_;
  Time now_{1'700'000'000'000'000};
  Time next_start_ = never;  // that is planned
  std::map<JobKey, Time> ends_;
  std::vector<std::string> names_;
};

// What is kept for a job with all its components: in each of several partitions a start of its own, of which the
// earliest counts.
struct Promised {
  Time start = never;
  std::vector<std::pair<Time, NodeIndex>> kept;
  bool operator==(const Promised&) const = default;
};

std::map<JobKey, Promised> promises_of(const State& state, const Plan& plan) {
  std::map<JobKey, Promised> out;
  const auto note = [&](JobKey key, Time start, const std::vector<NodeShare>& shares) {
    Promised& promised = out[leader_of(state.job(key))];
    promised.start = std::min(promised.start, start);
    for (const NodeShare& share : shares) promised.kept.emplace_back(start, share.node);
    std::ranges::sort(promised.kept);
  };
  for (const Finding& finding : plan.findings)
    if (finding.promised && finding.planned_start.is_set())
      note(finding.key, finding.planned_start, finding.planned_shares);
  for (const Proposal& placed : plan.placements) {
    note(placed.key, plan.made_at, placed.shares);
    for (const Proposal& component : placed.with) note(component.key, plan.made_at, component.shares);
  }
  return out;
}

std::uint64_t number_from(const char* name, std::uint64_t usual) {
  const char* given = std::getenv(name);
  return given ? std::strtoull(given, nullptr, 10) : usual;
}

void run_seeds(const std::function<void(std::uint64_t)>& one_seed) {
  const std::uint64_t first = number_from("MR_SEED", number_from("MR_SIM_FIRST", 1));
  const std::uint64_t count = std::getenv("MR_SEED") ? 1 : number_from("MR_SEQUENCES", 150);
  for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("repeat with MR_SEED=" + std::to_string(seed));
    one_seed(seed);
  }
}

// Whoever is first among those who may have its nodes keeps what it was promised, or gets better: of the jobs of
// partitions that share nodes the first for which another start or other nodes are kept starts no later. `changed`:
// partitions in which there is another reason, as a node that failed or a job that came before others.
void check_promises(const Cluster& cluster, const std::vector<JobKey>& order, const std::map<JobKey, Promised>& before,
                    const std::map<JobKey, Promised>& after, std::set<PartitionIndex> changed) {
  // There are only so many promises, whatever the partition: what happens anywhere may make another one the last.
  bool more_before = !changed.empty();
  for (const JobKey key : order) {
    const auto old = before.find(key), now = after.find(key);
    const std::set<PartitionIndex> places = cluster.partitions_of(key);
    const bool free_to_move = std::ranges::any_of(changed, [&](PartitionIndex each) {
      return std::ranges::any_of(places, [&](PartitionIndex own) { return cluster.shares_nodes(each, own); });
    });
    if (now == after.end()) {
      EXPECT_TRUE(old == before.end() || free_to_move || more_before)
          << "the promise of job key " << key.value << " is gone";
      if (old != before.end()) changed.insert(places.begin(), places.end());
      continue;
    }
    more_before = more_before || old == before.end();
    if (old == before.end() || now->second != old->second) changed.insert(places.begin(), places.end());
    if (old != before.end() && !free_to_move)
      EXPECT_LE(now->second.start, old->second.start) << "the promise of job key " << key.value << " moved back";
  }
}

// Whoever is first of all who may have its nodes has a start, unless even empty nodes would not do.
void check_first(const Cluster& cluster, const std::vector<JobKey>& order, const std::map<JobKey, Promised>& after) {
  std::map<PartitionIndex, JobKey> first;
  for (const JobKey key : order)
    for (const PartitionIndex place : cluster.places_of(key)) {
      const bool pending = cluster.state_.job(key).state == JobState::pending;
      // One that started in another of its partitions had the promise of this one until the end of the pass.
      if (!pending && cluster.places_of(key).size() == 1) continue;
      if (after.contains(key) || cluster.fits_empty_nodes(key, place)) first.try_emplace(place, key);
    }
  for (const auto& [partition, key] : first)
    EXPECT_TRUE(after.contains(key)) << "job key " << key.value << ", the first of partition " << partition.value
                                     << ", has no planned start";
}

// `odd`: also jobs of several partitions, heterogeneous ones, reservations, and nodes that fail.
void check_history(std::uint64_t seed, bool odd) {
  Cluster cluster(seed, seed % 3 == 0);
  std::map<JobKey, Promised> before;
  std::set<JobKey> able_before;
  JobKey fresh;  // from here on jobs are new
  for (int round = 0; round < 60 && !testing::Test::HasFailure(); ++round) {
    for (std::uint64_t more = cluster.random_.below(6); more > 0 && round < 40; --more) {
      if (odd && cluster.random_.chance(1, 4))
        cluster.submit_odd();
      else
        cluster.submit();
    }
    std::set<PartitionIndex> changed;
    if (odd && cluster.random_.chance(1, 5)) changed = cluster.disturb();
    std::vector<JobKey> able;
    for (const JobKey key : cluster.waiting())
      if (cluster.may_start(key)) able.push_back(key);
    // One whose time has come takes its place before others, and so perhaps the last of the promises that are given
    // whatever the partition.
    if (std::ranges::any_of(able, [&](JobKey key) { return key < fresh && !able_before.contains(key); }))
      changed = cluster.all_partitions();
    fresh = cluster.state_.next_key;
    able_before = {able.begin(), able.end()};
    const Plan plan = cluster.plan();
    const std::map<JobKey, Promised> after = promises_of(cluster.state_, plan);
    check_first(cluster, able, after);
    check_promises(cluster, able, before, after, std::move(changed));
    before = after;
    cluster.wait();
  }
}

TEST(Planner, promises_the_first_of_each_partition_a_start_that_does_not_move_back) {
  run_seeds([](std::uint64_t seed) { check_history(seed, false); });
}

TEST(Planner, moves_a_promise_back_only_for_a_reason_also_with_odd_jobs_and_nodes) {
  run_seeds([](std::uint64_t seed) { check_history(seed, true); });
}

// What squeue shows after this pass.
Reason shown_reason(const Cluster& cluster, const Plan& plan, JobKey key) {
  const State& state = cluster.state_;
  const Job& job = state.job(key);
  if (const Reason reason = standing_obstacle(state, job, cluster.now_); reason != Reason::none) return reason;
  if (const auto hit = whole_start_hit(state, job, cluster.now_)) return reason_of(*hit);
  const auto found = std::ranges::find(plan.findings, key, &Finding::key);
  return found == plan.findings.end() ? Reason::priority : found->reason;
}

bool starts_now(const Cluster& cluster, const JobModified& change) {
  State copy = cluster.state_;
  apply(copy, change);
  Pass pass(copy, cluster.settings_, cluster.now_);
  while (!pass.advance(1000)) {
  }
  const Plan plan = pass.take();
  return std::ranges::any_of(plan.placements, [&](const Proposal& placed) { return placed.key == change.key; });
}

void check_explanation(const Cluster& cluster, const Plan& plan, JobKey key) {
  const Explanation found = explain(cluster.state_, cluster.settings_, key, cluster.now_);
  EXPECT_STREQ(slurm_word(found.reason), slurm_word(shown_reason(cluster, plan, key))) << "job key " << key.value;
  const auto finding = std::ranges::find(plan.findings, key, &Finding::key);
  if (finding != plan.findings.end() && finding->promised) EXPECT_EQ(found.start, finding->planned_start);
  for (const Suggestion& each : found.suggestions) {
    if (each.now) EXPECT_TRUE(starts_now(cluster, each.event)) << "job key " << key.value << " " << each.change;
    if (finding != plan.findings.end() && finding->promised) EXPECT_LT(each.start, finding->planned_start);
  }
}

TEST(Planner, explains_what_squeue_shows_and_suggests_what_helps) {
  run_seeds([](std::uint64_t seed) {
    Cluster cluster(seed + 1000, seed % 3 == 0);
    if (seed % 4 == 1) cluster.settings_.backfill = Backfill::easy;
    if (seed % 4 == 2) cluster.settings_.backfill = Backfill::none;
    for (int round = 0; round < 20 && !testing::Test::HasFailure(); ++round) {
      for (std::uint64_t more = cluster.random_.below(6); more > 0; --more) cluster.submit();
      cluster.plan();
      const Plan plan = cluster.plan();
      std::vector<JobKey> waiting;
      for (const auto& [key, job] : cluster.state_.jobs)
        if (job->state == JobState::pending) waiting.push_back(key);
      if (plan.placements.empty())
        for (int i = 0; i < 2 && !waiting.empty(); ++i)
          check_explanation(cluster, plan, waiting[cluster.random_.below(waiting.size())]);
      cluster.wait();
    }
  });
}

}  // namespace
}  // namespace millrace
