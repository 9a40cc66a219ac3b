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
#include "controller/to_place.h"
#include "core/admission/accept_placement.h"
#include "core/admission/expire.h"
#include "core/admission/modify_job.h"
#include "core/admission/report_node.h"
#include "core/admission/submit_job.h"
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
    for (std::uint32_t i = 0; i < node_count; ++i)
      happen(decide_register(state_, {NodeIndex{i}, "boot", {Cpus{4}, Mebibytes{1000}, {}, {}, {}, {}, {}, {}, {}}},
                             now_));
    settings_.backfill = Backfill::conservative;
    settings_.depth = static_cast<std::uint32_t>(1 + random_.below(6));
  }

  void submit() {
    SubmitJob ask;
    ask.spec.owner = SharedValue(Owner{UserId{1000}, GroupId{1000}, "u", "g", {1000}, "host", {}});
    ask.spec.work_dir = "/";
    ask.script_bytes = 1;
    ask.spec.name = "job";
    ask.partition = names_[random_.chance(1, 2) ? 0 : random_.below(names_.size())];
    ask.spec.min_nodes = random_.chance(1, 3) ? 2 : 1;
    ask.spec.tasks = ask.spec.min_nodes;
    ask.spec.cpus_per_task = static_cast<std::uint32_t>(1 + random_.below(4));
    if (random_.chance(1, 5)) {
      ResourceRequest request;
      request.features = random_.chance(1, 2) ? "odd" : "even";
      ask.spec.resources = SharedValue(request);
    }
    ask.time_limit_minutes = static_cast<std::uint32_t>(10 * (1 + random_.below(12)));
    ask.hold = random_.chance(1, 15);
    if (random_.chance(1, 15)) ask.begin_at = now_ + minutes(30);
    if (const auto decision = decide(state_, ask, Actor{UserId{1000}, false}, now_)) happen(decision->events);
  }

  // A pass, and what it proposes is carried out.
  Plan plan() {
    Pass pass(state_, settings_, now_, &memo_);
    while (!pass.advance(50)) {
    }
    Plan plan = pass.take();
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
    Time next = now_ + minutes(10);
    for (const auto& [key, at] : ends_) next = std::min(next, std::max(at, now_ + Duration{1}));
    now_ = next;
    happen(decide_expired(state_, now_));
    for (auto it = ends_.begin(); it != ends_.end();) {
      if (it->second > now_) {
        ++it;
        continue;
      }
      const Job& job = state_.job(it->first);
      const Attempt attempt = job.attempt;
      const SharedValue<Placement> placement = job.placement;
      for (const NodeShare& share : placement->shares)
        happen(decide_end(state_, {it->first, attempt, share.node, AttemptEnd::exited, 0, 0}, now_));
      it = ends_.erase(it);
    }
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

  bool shares_nodes(PartitionIndex a, PartitionIndex b) const {
    return std::ranges::any_of(state_.partition(a).nodes, [&](NodeIndex node) {
      return std::ranges::find(state_.partition(b).nodes, node) != state_.partition(b).nodes.end();
    });
  }

  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) apply(state_, event);
  }

  Prng random_;
  State state_;
  Memo memo_;
  PlannerSettings settings_;
  Time now_{1'700'000'000'000'000};
  std::map<JobKey, Time> ends_;
  std::vector<std::string> names_;
};

std::map<JobKey, Time> promises_of(const Plan& plan) {
  std::map<JobKey, Time> out;
  for (const Finding& finding : plan.findings)
    if (finding.promised && finding.planned_start.is_set()) out.emplace(finding.key, finding.planned_start);
  for (const Proposal& placed : plan.placements) out.emplace(placed.key, plan.made_at);
  return out;
}

void run_seeds(const std::function<void(std::uint64_t)>& one_seed) {
  const char* one = std::getenv("MR_SEED");
  const std::uint64_t first = one ? std::strtoull(one, nullptr, 10) : 1;
  for (std::uint64_t seed = first; seed <= (one ? first : 150) && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("repeat with MR_SEED=" + std::to_string(seed));
    one_seed(seed);
  }
}

// Whoever is first among those who may have its nodes keeps what it was promised, or gets better: of the jobs of
// partitions that share nodes the first whose start changes starts sooner. Nobody new comes before another here, no
// node fails and no limit changes, so nothing else may move a promise back.
void check_promises(const Cluster& cluster, const std::vector<JobKey>& order, const std::map<JobKey, Time>& before,
                    const std::map<JobKey, Time>& after) {
  const State& state = cluster.state_;
  std::vector<PartitionIndex> changed;
  for (const JobKey key : order) {
    const auto old = before.find(key), now = after.find(key);
    const PartitionIndex where = state.job(key).spec->partition;
    const bool free_to_move =
        std::ranges::any_of(changed, [&](PartitionIndex each) { return cluster.shares_nodes(each, where); });
    if (now == after.end()) {
      EXPECT_TRUE(old == before.end() || free_to_move) << "a promise is gone";
      if (old != before.end()) changed.push_back(where);
      continue;
    }
    if (old == before.end() || now->second != old->second) changed.push_back(where);
    if (old != before.end() && !free_to_move) EXPECT_LE(now->second, old->second) << "a promise moved back";
  }
}

TEST(Planner, promises_the_first_of_each_partition_a_start_that_does_not_move_back) {
  run_seeds([](std::uint64_t seed) {
    Cluster cluster(seed, seed % 3 == 0);
    std::map<JobKey, Time> before;
    std::set<JobKey> able_before;
    JobKey fresh;  // from here on jobs are new
    for (int round = 0; round < 60 && !testing::Test::HasFailure(); ++round) {
      for (std::uint64_t more = cluster.random_.below(6); more > 0 && round < 40; --more) cluster.submit();
      const std::vector<JobKey> order = cluster.waiting();
      std::map<PartitionIndex, JobKey> first;
      std::vector<JobKey> able;
      for (const JobKey key : order)
        if (cluster.may_start(key)) able.push_back(key);
      // One whose time has come takes its place before others: a reason for them to move back.
      if (std::ranges::any_of(able, [&](JobKey key) { return key < fresh && !able_before.contains(key); }))
        before.clear();
      fresh = cluster.state_.next_key;
      able_before = {able.begin(), able.end()};
      const Plan plan = cluster.plan();
      const std::map<JobKey, Time> after = promises_of(plan);
      for (const JobKey key : able)
        if (cluster.state_.job(key).state == JobState::pending)
          first.try_emplace(cluster.state_.job(key).spec->partition, key);
      for (const auto& [partition, key] : first)
        EXPECT_TRUE(after.contains(key)) << "the first of partition " << partition.value << " has no planned start";
      check_promises(cluster, able, before, after);
      before = after;
      cluster.wait();
    }
  });
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
