// tests/property/planner_steps_test.cpp - what the jobs of one user may cost a pass, and the answer why one waits:
// counted in steps, never in seconds.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/admission/accept_placement.h"
#include "core/admission/report_node.h"
#include "core/admission/submit_het_job.h"
#include "core/ledger/apply.h"
#include "core/planner/explain.h"
#include "core/planner/pass.h"

namespace millrace {
namespace {

constexpr std::uint32_t cpus = 64;

struct PlannerSteps : testing::Test {
  State state;
  PlannerSettings settings;
  const Time now{1'700'000'000'000'000};

  // With a partition `urgent` whose jobs make those of the other go, in this way.
  void have_nodes(std::uint32_t count, PreemptMode preempt = PreemptMode::off) {
    ClusterConfigured facts;
    facts.at = now;
    facts.policy.return_to_service = 2;
    facts.policy.preempt_type = preempt == PreemptMode::off ? PreemptType::none : PreemptType::partition;
    facts.policy.preempt_mode = preempt;
    facts.policy.gang = preempt == PreemptMode::suspend;
    PartitionDef& partition = facts.partitions.emplace_back();
    partition.name = "big";
    partition.is_default = true;
    for (std::uint32_t i = 0; i < count; ++i) {
      NodeDef& def = facts.nodes.emplace_back();
      partition.nodes.push_back(def.name = "n" + std::to_string(i));
      def.cpus = Cpus{cpus};
      def.memory = Mebibytes{1000};
    }
    if (preempt != PreemptMode::off) {
      PartitionDef urgent = facts.partitions.front();
      urgent.name = "urgent";
      urgent.is_default = false;
      urgent.priority_tier = 10;
      facts.partitions.push_back(std::move(urgent));
    }
    apply(state, ControllerStarted{Epoch{1}, now});
    apply(state, facts);
    for (std::uint32_t i = 0; i < count; ++i)
      happen(decide_register(state, {NodeIndex{i}, "boot", {Cpus{cpus}, Mebibytes{1000}, {}, {}, {}, {}, {}, {}, {}}},
                             now));
  }

  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) apply(state, event);
  }

  static SubmitJob job(std::uint32_t tasks, std::uint32_t limit) {
    SubmitJob ask;
    ask.spec.owner = SharedValue(Owner{UserId{1000}, GroupId{1000}, "u", "g", {1000}, "host", {}});
    ask.spec.work_dir = "/";
    ask.script_bytes = 1;
    ask.spec.name = "job";
    ask.spec.tasks = tasks;
    ask.time_limit_minutes = limit;
    return ask;
  }

  JobKey submit(std::vector<SubmitJob> asks) {
    const auto decision = decide(state, std::move(asks), Actor{UserId{1000}, false}, now);
    EXPECT_TRUE(decision.has_value());
    happen(decision->events);
    return state.find_job(decision->id)->key;
  }
  // One CPU each, until all are taken; then so many that want some and make others go.
  void fill_and_press(std::uint32_t nodes, std::uint32_t urgent) {
    for (std::uint32_t i = 0; i < nodes * cpus; ++i) submit({job(1, 1000 + i)});
    for (const Proposal& p : pass(INT64_MAX / 2).plan.placements)
      happen(decide_place(state, {p.key, p.attempt, p.shares, false, p.partition}, now));
    for (std::uint32_t i = 0; i < urgent; ++i) {
      SubmitJob ask = job(1 + i % 4, 10 + i);
      ask.partition = "urgent";
      submit({std::move(ask)});
    }
  }
  // Of so many whole nodes.
  JobKey submit_wide(std::uint32_t components, std::uint32_t limit) {
    std::vector<SubmitJob> asks;
    for (std::uint32_t i = 0; i < components; ++i) asks.push_back(job(cpus, limit));
    return submit(std::move(asks));
  }

  // Each of a little more than half a node, and of another kind.
  JobKey submit_halves(std::uint32_t components, std::uint32_t limit) {
    std::vector<SubmitJob> asks;
    for (std::uint32_t i = 0; i < components; ++i) {
      asks.push_back(job(1, limit + i));
      asks.back().spec.cpus_per_task = cpus / 2 + 1 + i % 8;
    }
    return submit(std::move(asks));
  }

  struct Cost {
    std::int64_t all = 0, longest_slice = 0;
    std::size_t starts = 0;
    Plan plan{};
  };
  Cost pass(std::int64_t slice) const {
    Pass pass(state, settings, now);
    Cost cost;
    for (bool over = false; !over;) {
      over = pass.advance(slice);
      cost.longest_slice = std::max(cost.longest_slice, pass.steps() - cost.all);
      cost.all = pass.steps();
    }
    cost.plan = pass.take();
    cost.starts = cost.plan.placements.size();
    return cost;
  }

  static std::string all_words(const Explanation& found) {
    std::string out;
    for (const std::string& sentence : found.words) out += sentence + "\n";
    return out;
  }
};

TEST_F(PlannerSteps, Why_a_job_of_many_components_waits_costs_about_one_pass) {
  have_nodes(127);
  submit({job(cpus, 100)});
  const JobKey asked = submit_wide(128, 10);
  const std::int64_t one_pass = pass(INT64_MAX / 2).all;
  Explaining explaining(state, settings, asked, now);
  while (!explaining.advance(1000)) continue;
  EXPECT_LE(explaining.steps(), 2 * one_pass + 10'000);
  EXPECT_LE(explaining.steps(), 200'000);
  EXPECT_TRUE(all_words(explaining.take()).contains("128 components"));
}

TEST_F(PlannerSteps, Why_ends_with_what_is_known_when_the_question_has_had_its_steps) {
  have_nodes(100);
  for (std::uint32_t i = 0; i < 300; ++i) submit({job(cpus, 10 + i)});
  const JobKey asked = submit({job(cpus * 2, 500)});
  Explaining all(state, settings, asked, now);
  while (!all.advance(1000)) continue;
  EXPECT_FALSE(all_words(all.take()).contains("tried to the end"));
  for (const std::int64_t most : {std::int64_t{100}, all.steps() / 4, all.steps() / 2}) {
    Explaining some(state, settings, asked, now, most);
    while (!some.advance(1000)) continue;
    EXPECT_LE(some.steps(), most + 5000);
    const Explanation found = some.take();
    const bool planned = found.start.is_set();
    EXPECT_TRUE(all_words(found).contains(planned ? "tried to the end" : "Too much comes before it"))
        << all_words(found);
    EXPECT_EQ(found.reason, Reason::priority);
  }
}

TEST_F(PlannerSteps, Why_is_worked_out_in_slices) {
  have_nodes(100);
  for (std::uint32_t i = 0; i < 500; ++i) submit({job(cpus, 10 + i)});
  const JobKey asked = submit({job(cpus, 500)});
  Explaining explaining(state, settings, asked, now);
  std::int64_t before = 0, longest = 0;
  int slices = 1;
  for (; !explaining.advance(100); ++slices) {
    longest = std::max(longest, explaining.steps() - before);
    before = explaining.steps();
  }
  EXPECT_GT(slices, 5);
  EXPECT_LE(longest, 100 + 10 * 501);  // a queue is sorted at once
}

TEST_F(PlannerSteps, Jobs_of_many_equal_components_cost_little_where_all_together_have_no_room) {
  have_nodes(127);
  for (std::uint32_t i = 0; i < 11; ++i) submit_wide(128, 10 + i);
  const Cost cost = pass(10'000);
  EXPECT_EQ(cost.starts, 0u);
  EXPECT_LE(cost.all, 250'000);
}

// No count tells that these have no room: more than half of a node each, and one node too few.
TEST_F(PlannerSteps, Jobs_of_many_different_components_cost_a_bounded_number_of_looks) {
  have_nodes(127);
  for (std::uint32_t i = 0; i < 11; ++i) submit_halves(128, 10 + i);
  settings.backfill = Backfill::conservative;
  const Cost cost = pass(10'000);
  EXPECT_EQ(cost.starts, 0u);
  EXPECT_LE(cost.longest_slice, 1'500'000);
  EXPECT_LE(cost.all, 4'000'000);
}

TEST_F(PlannerSteps, One_of_many_components_starts_in_the_usual_order_whatever_the_others_cost) {
  have_nodes(127);
  for (std::uint32_t i = 0; i < 11; ++i) submit_halves(128, 10 + i);
  const JobKey last = submit_halves(127, 100);
  const Cost cost = pass(10'000);
  ASSERT_EQ(cost.starts, 1u);
  EXPECT_EQ(cost.plan.placements.front().key, last);
}

// Whatever is looked at counts, and for each of those who press no more than a few looks at each of those who run.
TEST_F(PlannerSteps, To_suspend_jobs_for_others_is_counted_and_costs_few_looks_at_each) {
  have_nodes(8, PreemptMode::suspend);
  constexpr std::int64_t running = 8 * cpus, urgent = 40;
  fill_and_press(8, urgent);
  const Cost cost = pass(1000);
  EXPECT_EQ(cost.starts, static_cast<std::size_t>(urgent));
  EXPECT_EQ(cost.plan.preemptions.size(), 100u);
  EXPECT_GE(cost.all, urgent * running / 2);
  EXPECT_LE(cost.all, urgent * running * 8);
  EXPECT_LE(cost.longest_slice, 1000 + 16 * running);
}

TEST_F(PlannerSteps, To_end_jobs_for_others_is_counted_and_costs_few_looks_at_each) {
  have_nodes(8, PreemptMode::cancel);
  constexpr std::int64_t running = 8 * cpus, urgent = 40;
  fill_and_press(8, urgent);
  const Cost cost = pass(1000);
  EXPECT_EQ(cost.plan.preemptions.size(), 100u);
  EXPECT_GE(cost.all, urgent * running / 2);
  EXPECT_LE(cost.all, urgent * running * 8);
  EXPECT_LE(cost.longest_slice, 1000 + 16 * running);
}

}  // namespace
}  // namespace millrace
