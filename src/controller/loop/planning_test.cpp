// src/controller/loop/planning_test.cpp - one pass at a time, given up when what it stands on has changed.
#include "controller/loop/planning.h"

#include <gtest/gtest.h>

#include <deque>

#include "core/admission/report_node.h"
#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"

namespace millrace {
namespace {

class StillLoop final : public Loop {
 public:
  Time now() const override { return Time{1'700'000'000'000'000}; }
  void post(Task task) override { task(); }
  TimerId after(Duration, Task) override { return 1; }
  void cancel(TimerId) override {}
};

// Slices are done when the test says so.
class HandWorker final : public Worker {
 public:
  void run(Task work, Task then) override { pieces.emplace_back(std::move(work), std::move(then)); }
  bool one() {
    if (pieces.empty()) return false;
    auto [work, then] = std::move(pieces.front());
    pieces.pop_front();
    work();
    then();
    return true;
  }
  std::deque<std::pair<Task, Task>> pieces;
};

class PlanningTest : public testing::Test {
 protected:
  // Deep enough that a pass takes several small slices.
  PlanningTest() {
    ClusterConfigured facts;
    facts.partitions.emplace_back().name = "main";
    facts.partitions.back().is_default = true;
    for (int i = 0; i < 300; ++i) {
      facts.nodes.emplace_back().name = "n" + std::to_string(i);
      facts.nodes.back().cpus = Cpus{400};
      facts.partitions.back().nodes.push_back(facts.nodes.back().name);
    }
    facts.at = loop_.now();
    happen({ControllerStarted{Epoch{1}, loop_.now()}, facts});
    for (std::uint32_t i = 0; i < 300; ++i)
      happen(decide_register(state_, {NodeIndex{i}, "boot", {Cpus{400}, Mebibytes{1}, {}, {}, {}, {}, {}, {}, {}}},
                             loop_.now()));
    const SharedValue<Owner> owner(Owner{UserId{1000}, GroupId{1000}, "u", "g", {1000}, "host", {}});
    for (std::uint32_t i = 0; i < 400; ++i) {
      SubmitJob ask;
      ask.spec.owner = owner;
      ask.spec.name = "job";
      ask.spec.work_dir = "/";
      ask.script_bytes = 1;
      ask.spec.min_nodes = 100 + i % 200;
      ask.spec.cpus_per_task = 1 + i % 400;
      ask.time_limit_minutes = 10 + i;
      const auto decision = decide(state_, ask, Actor{UserId{1000}, false}, loop_.now());
      EXPECT_TRUE(decision);
      happen(decision->events);
    }
  }
  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) apply(state_, event);
  }
  // Slices until a plan is there; 0: none is made any more.
  int slices_to_next_plan() {
    const std::size_t before = plans_.size();
    for (int slices = 1; worker_.one(); ++slices)
      if (plans_.size() > before) return slices;
    return 0;
  }

  StillLoop loop_;
  HandWorker worker_;
  State state_;
  std::vector<std::uint64_t> plans_;  // the version each was made on
  bool carrying_ = false;             // the last of them
  Planning planning_{loop_,
                     worker_,
                     planner_settings({}, 100),
                     {[this]() -> const State& { return state_; },
                      [this](const Plan& plan) { plans_.push_back(plan.based_on); },
                      [] { return std::vector<NodeIndex>{}; },
                      {},
                      {},
                      [this] { return carrying_; }},
                     1000};
};

TEST_F(PlanningTest, Pass_on_ground_that_shifted_is_given_up_for_one_on_the_new) {
  planning_.wanted();
  const int whole = slices_to_next_plan();
  ASSERT_GT(whole, 2) << "the queue is too small for this test";
  planning_.wanted();
  ASSERT_TRUE(worker_.one());
  const std::uint64_t old = state_.version;
  happen({NodeStateChanged{NodeIndex{3}, NodeOrder::drain, "looks ill", UserId{0}, loop_.now()}});
  planning_.outdated();
  ASSERT_GT(slices_to_next_plan(), 0);
  EXPECT_GT(plans_.back(), old);
  EXPECT_EQ(slices_to_next_plan(), 0);
}

TEST_F(PlanningTest, Constant_change_does_not_keep_every_pass_from_its_end) {
  planning_.wanted();
  const std::size_t before = plans_.size();
  for (int i = 0; i < 200 && plans_.size() < before + 3; ++i) {
    happen({NodeStateChanged{NodeIndex{3}, i % 2 == 0 ? NodeOrder::drain : NodeOrder::undrain, "looks ill", UserId{0},
                             loop_.now()}});
    planning_.outdated();
    ASSERT_TRUE(worker_.one());
  }
  EXPECT_EQ(plans_.size(), before + 3);
}

TEST_F(PlanningTest, No_pass_begins_before_the_last_plan_is_carried_out) {
  carrying_ = true;
  planning_.wanted();
  EXPECT_EQ(slices_to_next_plan(), 0);
  carrying_ = false;
  planning_.carried_out();
  EXPECT_GT(slices_to_next_plan(), 0);
  planning_.carried_out();
  EXPECT_EQ(slices_to_next_plan(), 0) << "nobody asked for it";
}

}  // namespace
}  // namespace millrace
