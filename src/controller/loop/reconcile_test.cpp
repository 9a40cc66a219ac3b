// src/controller/loop/reconcile_test.cpp - the orders a node gets, from what should be and what it reported.
#include "controller/loop/reconcile.h"

#include <gtest/gtest.h>

#include "controller/loop/launch_plan.h"
#include "core/admission/accept_placement.h"
#include "core/admission/cancel_job.h"
#include "core/admission/modify_job.h"
#include "core/admission/report_node.h"
#include "core/admission/submit_het_job.h"
#include "core/admission/suspend_job.h"
#include "core/ledger/apply.h"

namespace millrace {
namespace {

class ReconcileTest : public testing::Test {
 protected:
  ReconcileTest() {
    std::vector<NodeDef> nodes(2);
    PartitionDef main;
    main.name = "main";
    main.is_default = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].name = "n" + std::to_string(i);
      nodes[i].cpus = Cpus{4};
      main.nodes.push_back(nodes[i].name);
    }
    Policy policy;
    policy.requeue_delay_seconds = 0;
    happen({ControllerStarted{Epoch{1}, now_}, ClusterConfigured{nodes, {main}, policy, now_}});
    for (std::uint32_t i = 0; i < 2; ++i)
      happen(
          decide_register(state_, {NodeIndex{i}, "boot", {Cpus{4}, Mebibytes{1}, {}, {}, {}, {}, {}, {}, {}}}, now_));
  }
  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) apply(state_, event);
  }
  JobKey run_on_both(bool interactive, bool no_kill = false) {
    SubmitJob ask;
    ask.spec.owner = SharedValue(Owner{UserId{1}, GroupId{1}, "u", "g", {1}, "h", {}});
    ask.spec.work_dir = "/";
    ask.spec.interactive = interactive;
    if (no_kill) ask.spec.extras = SharedValue(JobExtras{.no_kill = true});
    ask.spec.min_nodes = ask.spec.max_nodes = 2;
    ask.spec.tasks = ask.spec.cpus_per_task = 0;
    ask.script_bytes = 1;
    const JobKey key = state_.next_key;
    happen(decide(state_, ask, {UserId{1}, false}, now_)->events);
    const std::vector<NodeShare> shares{{NodeIndex{0}, Cpus{1}, {}, 1, false}, {NodeIndex{1}, Cpus{1}, {}, 1, false}};
    happen(decide_place(state_, {key, Attempt{0}, shares, false}, now_));
    return key;
  }
  static AttemptReport stopped(JobKey key) {
    AttemptReport out = report(key, 0, false);
    out.suspended = true;
    return out;
  }
  static AttemptReport report(JobKey key, std::uint32_t attempt, bool ended) {
    return {key, Attempt{attempt}, ended, {}, 0, 0, {}, false};
  }

  State state_;
  Time now_{1'000'000};
};

TEST_F(ReconcileTest, suspends_and_resumes_until_the_node_says_so_and_launches_nothing_meanwhile) {
  const JobKey key = run_on_both(false);
  const Actor root{UserId{0}, true};
  happen(*decide_suspend(state_, {key, {}}, root, now_));
  EXPECT_TRUE(difference(state_, NodeIndex{0}, {}).empty())
      << "suspended before it was launched: it is launched when it goes on";
  const auto stop = difference(state_, NodeIndex{0}, {report(key, 0, false)});
  ASSERT_EQ(stop.size(), 1u);
  EXPECT_TRUE(std::get<SuspendIntent>(stop[0]).suspended);
  EXPECT_TRUE(difference(state_, NodeIndex{0}, {stopped(key)}).empty());
  happen(*decide_resume(state_, {key, {}}, root, now_));
  const auto go_on = difference(state_, NodeIndex{0}, {stopped(key)});
  ASSERT_EQ(go_on.size(), 1u);
  EXPECT_FALSE(std::get<SuspendIntent>(go_on[0]).suspended);
  EXPECT_TRUE(difference(state_, NodeIndex{0}, {report(key, 0, false)}).empty());
  happen(*decide_suspend(state_, {key, {}}, root, now_));
  happen(*decide_cancel(state_, {key, {}}, root, now_));
  const auto kill = difference(state_, NodeIndex{0}, {stopped(key)});
  ASSERT_EQ(kill.size(), 1u);
  EXPECT_EQ(std::get<KillIntent>(kill[0]).why, KillWhy::cancelled);
}

TEST_F(ReconcileTest, launches_a_batch_script_on_its_first_node_only_and_tasks_of_srun_on_all) {
  run_on_both(false);
  EXPECT_EQ(difference(state_, NodeIndex{0}, {}).size(), 1u);
  EXPECT_TRUE(difference(state_, NodeIndex{1}, {}).empty());
  run_on_both(true);
  EXPECT_EQ(difference(state_, NodeIndex{0}, {}).size(), 2u);
  EXPECT_EQ(difference(state_, NodeIndex{1}, {}).size(), 1u);
}

// --no-kill. The node was only silent for a while: what still runs there is not of the job any more.
TEST_F(ReconcileTest, kills_what_is_left_on_a_node_that_the_job_went_on_without) {
  const JobKey tasks = run_on_both(true, true), script = run_on_both(false, true);
  const auto lost = decide_lost(state_, NodeIndex{1}, now_);
  ASSERT_EQ(lost.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<JobLostNode>(lost[0]));
  happen(lost);
  EXPECT_EQ(state_.job(tasks).state, JobState::running);
  EXPECT_EQ(state_.job(script).state, JobState::running);
  happen(decide_register(state_, {NodeIndex{1}, "boot", {Cpus{4}, Mebibytes{1}, {}, {}, {}, {}, {}, {}, {}}}, now_));
  const auto there = difference(state_, NodeIndex{1}, {report(tasks, 0, false)});
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(std::get<KillIntent>(there[0]).why, KillWhy::not_wanted);
  AttemptReport step = report(script, 0, false);
  step.step = 0;
  const auto of_step = difference(state_, NodeIndex{1}, {step});
  ASSERT_EQ(of_step.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<KillIntent>(of_step[0]));
  EXPECT_TRUE(difference(state_, NodeIndex{0}, {report(tasks, 0, false), report(script, 0, false)}).empty())
      << "the others go on";
  const wire::LaunchPlan plan = make_launch_plan(state_, state_.job(tasks), NodeIndex{0}, {});
  EXPECT_EQ(plan.nodes(), "n[0-1]") << "places and ranks stay what they were";
  EXPECT_EQ(plan.tasks(), 2u);
}

// The tasks of srun's own job are through on a node before a step of it, which another of its nodes keeps.
TEST_F(ReconcileTest, has_a_step_forgotten_by_whoever_keeps_it_while_the_job_goes_on_elsewhere) {
  const JobKey key = run_on_both(true);
  happen(decide_end(state_, {key, Attempt{0}, NodeIndex{1}, AttemptEnd::exited, 0, 0}, now_));
  ASSERT_EQ(state_.job(key).state, JobState::running);
  AttemptReport step = report(key, 0, false);
  step.step = 1;
  const auto kills = difference(state_, NodeIndex{1}, {step});
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<KillIntent>(kills[0])) << "nothing is the job's there any more";
  step.ended = true;
  EXPECT_TRUE(difference(state_, NodeIndex{1}, {step}).empty());
  happen(decide_end(state_, {key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 0}, now_));
  EXPECT_EQ(difference(state_, NodeIndex{1}, {step}).size(), 1u) << "now nobody asks for it";
}

// scontrol update NumNodes=1: what the job still has there ends, steps first; then the node is free of it, and the job
// goes on.
TEST_F(ReconcileTest, lets_go_of_a_node_that_the_job_gave_up_when_nothing_of_it_is_left_there) {
  const JobKey key = run_on_both(false);
  ModifyJob ask;
  ask.change.min_nodes = 1;
  happen(*decide_modify(state_, {key, {}}, ask, {UserId{1}, false}, now_));
  AttemptReport step = report(key, 0, false);
  step.step = 3;
  const auto kills = difference(state_, NodeIndex{1}, {step});
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_EQ(std::get<KillIntent>(kills[0]).step, 3u);
  EXPECT_EQ(state_.node(NodeIndex{1}).jobs.size(), 1u) << "what it has there is its own until then";
  step.ended = true;
  const auto goes = difference(state_, NodeIndex{1}, {step});
  ASSERT_EQ(goes.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<LetGoIntent>(goes[0]));
  EXPECT_TRUE(std::holds_alternative<ForgetIntent>(goes[1]));
  happen(decide_end(state_, {key, Attempt{0}, NodeIndex{1}, AttemptEnd::exited, 0, 0}, now_));
  EXPECT_TRUE(state_.node(NodeIndex{1}).jobs.empty());
  EXPECT_EQ(state_.job(key).state, JobState::running);
  EXPECT_TRUE(difference(state_, NodeIndex{1}, {}).empty());
  EXPECT_TRUE(difference(state_, NodeIndex{0}, {report(key, 0, false)}).empty());
}

// Where a site has prologs and epilogs, what holds the node for the job is told to end, and says so when the node is
// tidied up.
TEST_F(ReconcileTest, ends_what_holds_a_node_that_the_job_gave_up_after_its_steps) {
  Policy policy = *state_.policy;
  policy.node_programs = true;
  state_.policy = SharedValue(policy);
  const JobKey key = run_on_both(false);
  ASSERT_TRUE(state_.job(key).placement->on_all_nodes);
  ModifyJob ask;
  ask.required_nodes = "n0";
  happen(*decide_modify(state_, {key, {}}, ask, {UserId{1}, false}, now_));
  AttemptReport step = report(key, 0, false);
  step.step = 3;
  const auto first = difference(state_, NodeIndex{1}, {report(key, 0, false), step});
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(std::get<KillIntent>(first[0]).step, 3u);
  for (const auto& reported : {std::vector<AttemptReport>{}, std::vector{report(key, 0, false)}}) {
    const auto then = difference(state_, NodeIndex{1}, reported);
    ASSERT_EQ(then.size(), 1u);
    EXPECT_FALSE(std::get<KillIntent>(then[0]).step);
  }
  happen(decide_end(state_, {key, Attempt{0}, NodeIndex{1}, AttemptEnd::exited, 0, 15}, now_));
  EXPECT_EQ(state_.job(key).state, JobState::running);
  EXPECT_EQ(state_.job(key).exit_signal, 0u);
}

TEST_F(ReconcileTest, says_nothing_about_what_runs_as_it_should) {
  const JobKey key = run_on_both(false);
  EXPECT_TRUE(difference(state_, NodeIndex{0}, {report(key, 0, false)}).empty());
}

TEST_F(ReconcileTest, keeps_an_end_until_it_is_a_fact_and_then_lets_the_node_forget_it) {
  const JobKey key = run_on_both(false);
  EXPECT_TRUE(difference(state_, NodeIndex{0}, {report(key, 0, true)}).empty());
  happen(decide_end(state_, {key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 0}, now_));
  const auto intents = difference(state_, NodeIndex{0}, {report(key, 0, true)});
  ASSERT_EQ(intents.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<ForgetIntent>(intents[0]));
}

TEST_F(ReconcileTest, kills_a_cancelled_job_also_where_its_launch_has_not_arrived_yet) {
  const JobKey key = run_on_both(false);
  happen(*decide_cancel(state_, {key, {}}, {UserId{1}, false}, now_));
  for (const auto& reported : {std::vector<AttemptReport>{}, std::vector{report(key, 0, false)}}) {
    const auto intents = difference(state_, NodeIndex{0}, reported);
    ASSERT_EQ(intents.size(), 1u);
    EXPECT_EQ(std::get<KillIntent>(intents[0]).why, KillWhy::cancelled);
  }
}

TEST_F(ReconcileTest, kills_what_nobody_wants_an_old_attempt_or_an_unknown_job) {
  const JobKey key = run_on_both(false);
  happen(decide_lost(state_, NodeIndex{0}, now_));
  ASSERT_EQ(state_.job(key).attempt, Attempt{1});
  for (const AttemptReport& reported : {report(key, 0, false), report(JobKey{99}, 0, false)}) {
    const auto intents = difference(state_, NodeIndex{0}, {reported});
    ASSERT_EQ(intents.size(), 1u);
    EXPECT_EQ(std::get<KillIntent>(intents[0]).why, KillWhy::not_wanted);
  }
}

TEST_F(ReconcileTest, components_are_launched_to_keep_steps_and_end_with_the_whole) {
  SubmitJob ask;
  ask.spec.owner = SharedValue(Owner{UserId{1}, GroupId{1}, "u", "g", {1}, "h", {}});
  ask.spec.work_dir = "/";
  ask.spec.min_nodes = ask.spec.tasks = ask.spec.cpus_per_task = 0;
  ask.script_bytes = 1;
  const JobKey key = state_.next_key;
  happen(decide(state_, std::vector{ask, ask}, {UserId{1}, false}, now_)->events);
  PlaceJob whole{key, Attempt{0}, {{NodeIndex{0}, Cpus{1}, {}, 1, false}}, false};
  whole.with.push_back({JobKey{key.value + 1}, Attempt{0}, {{NodeIndex{1}, Cpus{1}, {}, 1, false}}, false});
  happen(decide_place(state_, whole, now_));
  EXPECT_EQ(difference(state_, NodeIndex{0}, {}).size(), 1u);
  const JobKey other{key.value + 1};
  ASSERT_EQ(difference(state_, NodeIndex{1}, {}).size(), 1u);
  EXPECT_EQ(std::get<LaunchIntent>(difference(state_, NodeIndex{1}, {}).front()).key, other);
  EXPECT_EQ(make_launch_plan(state_, state_.job(key), NodeIndex{0}, {}).het_components_size(), 2);
  const wire::LaunchPlan plan = make_launch_plan(state_, state_.job(other), NodeIndex{1}, {});
  EXPECT_TRUE(plan.job().allocation_only()) << "it runs nothing of its own";
  EXPECT_EQ(plan.het_job_id(), state_.job(key).id.value);
  happen(*decide_cancel(state_, {key, {}}, {UserId{0}, true}, now_));
  EXPECT_EQ(difference(state_, NodeIndex{0}, {report(key, 0, false)}).size(), 1u) << "the script is killed";
  EXPECT_EQ(difference(state_, NodeIndex{1}, {report(other, 0, false)}).size(), 1u)
      << "and so is what keeps the steps of the other component";
  happen(decide_end(state_, {key, Attempt{0}, NodeIndex{0}, AttemptEnd::exited, 0, 15}, now_));
  EXPECT_EQ(state_.node(NodeIndex{1}).used_cpus, Cpus{1}) << "held until that is gone";
  EXPECT_EQ(state_.job(key).state, JobState::completing);
  happen(decide_end(state_, {other, Attempt{0}, NodeIndex{1}, AttemptEnd::exited, 0, 15}, now_));
  EXPECT_EQ(state_.node(NodeIndex{1}).used_cpus, Cpus{0});
  EXPECT_EQ(state_.job(key).state, JobState::ended);
  EXPECT_EQ(state_.job(other).outcome, Outcome::cancelled);
}

}  // namespace
}  // namespace millrace
