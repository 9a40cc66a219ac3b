// src/core/admission/failed_launches_test.cpp - whose fault a failed launch is: what becomes of the job, and of the
// node.
#include <gtest/gtest.h>

#include "core/admission/accept_placement.h"
#include "core/admission/expire.h"
#include "core/admission/report_node.h"
#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"
#include "core/ledger/invariants.h"

namespace millrace {
namespace {

constexpr NodeIndex sick{0}, well{1};

class FailedLaunches : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<NodeDef> nodes(5);
    PartitionDef main;
    main.name = "main";
    main.is_default = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].name = "n" + std::to_string(i);
      nodes[i].cpus = Cpus{8};
      main.nodes.push_back(nodes[i].name);
    }
    happen({ControllerStarted{Epoch{1}, now_}, ClusterConfigured{nodes, {main}, Policy{}, now_}});
    for (std::uint32_t i = 0; i < 5; ++i) add_node(NodeIndex{i}, "spool");
  }

  void add_node(NodeIndex node, const std::string& spool) {
    happen(decide_register(state_, {node, "boot", {Cpus{8}, Mebibytes{1}, {}, {}, {}, {}, {}, {}, {}}, spool}, now_));
  }
  void happen(const std::vector<Event>& events) {
    for (const Event& event : events) millrace::apply(state_, event);
    EXPECT_EQ(broken_law(state_), std::nullopt);
  }
  JobKey submit(std::uint32_t user, bool requeue = true, bool interactive = false) {
    SubmitJob ask;
    ask.spec.owner = SharedValue(Owner{UserId{user}, GroupId{1}, "u" + std::to_string(user), "g", {}, "h", {}});
    ask.spec.work_dir = "/";
    ask.spec.name = name_;
    ask.required_nodes = required_;
    ask.spec.interactive = interactive;
    ask.requeue = requeue;
    ask.script_bytes = interactive ? 0 : 1;
    ask.time_limit_minutes = 10;
    const auto submitted = decide(state_, ask, {UserId{user}, false}, now_);
    EXPECT_TRUE(submitted);
    happen(submitted->events);
    return JobKey{state_.next_key.value - 1};
  }
  void start(JobKey key, NodeIndex node) {
    happen(decide_place(state_, {key, state_.job(key).attempt, {NodeShare{node, Cpus{1}, {}, 1}}, false}, now_));
    ASSERT_EQ(state_.job(key).state, JobState::running);
  }
  // Starts there, and comes to this end.
  void run(JobKey key, NodeIndex node, AttemptEnd how, const std::string& words = "") {
    start(key, node);
    now_ = now_ + takes_;
    ReportEnd report{key, state_.job(key).attempt, node, how, 0, how == AttemptEnd::exited ? 0u : 53u};
    report.words = words;
    happen(decide_end(state_, report, now_));
  }

  State state_;
  std::string name_ = "job";
  std::string required_;
  Duration takes_ = seconds(1);
  Time now_{1'000'000'000};
};

TEST_F(FailedLaunches, Node_that_is_to_blame_is_drained_and_the_job_starts_elsewhere) {
  for (const bool requeue : {true, false}) {  // nothing of it ran, so --no-requeue does not matter
    const JobKey key = submit(1, requeue);
    run(key, sick, AttemptEnd::node_unfit, "no space left");
    EXPECT_TRUE(state_.node(sick).drain);
    EXPECT_EQ(state_.node(sick).reason, "launch failed: no space left");
    EXPECT_EQ(state_.job(key).state, JobState::pending);
    EXPECT_TRUE(state_.queue.contains(queue_key(state_, state_.job(key)))) << "at once, without a delay";
    EXPECT_EQ(state_.job(key).trouble->words, "no space left");
    run(key, well, AttemptEnd::exited);
    EXPECT_EQ(state_.job(key).outcome, Outcome::completed);
    EXPECT_FALSE(state_.job(key).trouble);
    happen({NodeStateChanged{sick, NodeOrder::resume, "", UserId{0}, now_, {}, {}}});
  }
}

TEST_F(FailedLaunches, Script_that_runs_on_another_node_is_not_run_twice_against_its_users_will) {
  const JobKey key = submit(1, false);
  happen(decide_place(
      state_, {key, Attempt{0}, {NodeShare{well, Cpus{1}, {}, 1}, NodeShare{sick, Cpus{1}, {}, 1}}, false}, now_));
  ReportEnd report{key, Attempt{0}, sick, AttemptEnd::node_unfit};
  happen(decide_end(state_, report, now_));
  EXPECT_TRUE(state_.node(sick).drain);
  EXPECT_FALSE(state_.job(key).requeue_wanted);
  EXPECT_EQ(state_.job(key).outcome, Outcome::node_fail);
}

TEST_F(FailedLaunches, Job_that_starts_nowhere_is_held_and_released_with_a_clean_slate) {
  const JobKey key = submit(1);
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(state_.job(key).hold, Hold::none) << i;
    run(key, i % 2 == 0 ? sick : well, AttemptEnd::not_begun, "it ended before it began");
  }
  EXPECT_EQ(state_.job(key).hold, Hold::user);
  EXPECT_TRUE(state_.job(key).launch_failed);
  EXPECT_FALSE(state_.node(sick).drain) << "one user's jobs tell nothing of a node";
  happen({JobHoldChanged{key, Hold::none, 1, now_}});
  run(key, well, AttemptEnd::not_begun);
  EXPECT_EQ(state_.job(key).hold, Hold::none);
}

TEST_F(FailedLaunches, What_the_job_is_to_blame_for_ends_it_with_words) {
  const JobKey key = submit(1);
  run(key, sick, AttemptEnd::launch_failed, "Could not open stdout file /no/such/file");
  EXPECT_EQ(state_.job(key).outcome, Outcome::failed);
  EXPECT_EQ(state_.job(key).end_reason, Reason::launch_failure);
  EXPECT_EQ(state_.job(key).trouble->words, "Could not open stdout file /no/such/file");
  EXPECT_FALSE(state_.node(sick).drain);
}

TEST_F(FailedLaunches, Tasks_of_srun_have_nobody_who_waits_for_another_start) {
  const JobKey key = submit(1, true, true);
  run(key, sick, AttemptEnd::node_unfit, "no space left");
  EXPECT_EQ(state_.job(key).outcome, Outcome::node_fail);
  EXPECT_TRUE(state_.node(sick).drain);
}

TEST_F(FailedLaunches, One_users_broken_jobs_drain_no_node) {
  run(submit(9), well, AttemptEnd::exited);
  for (int i = 0; i < 40; ++i) {
    run(submit(1), sick, AttemptEnd::launch_failed);
    run(submit(2), sick, AttemptEnd::launch_failed);
    run(submit(9), well, AttemptEnd::exited);
  }
  EXPECT_FALSE(state_.node(sick).drain);
}

TEST_F(FailedLaunches, Node_that_fails_for_all_while_others_do_well_is_drained_whatever_it_says) {
  run(submit(1), sick, AttemptEnd::launch_failed);
  run(submit(9), well, AttemptEnd::exited);
  run(submit(2), sick, AttemptEnd::launch_failed);
  EXPECT_FALSE(state_.node(sick).drain);
  run(submit(3), sick, AttemptEnd::launch_failed, "Input/output error");
  EXPECT_TRUE(state_.node(sick).drain);
  EXPECT_EQ(state_.node(sick).reason, "launches of 3 users in a row failed; the last: Input/output error");
}

TEST_F(FailedLaunches, Node_that_fails_an_array_which_begins_well_elsewhere_is_drained) {
  start(submit(1), well);
  now_ = now_ + seconds(20);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(state_.node(sick).drain) << i;
    run(submit(1), sick, AttemptEnd::launch_failed, "Input/output error");
  }
  EXPECT_TRUE(state_.node(sick).drain);
  EXPECT_EQ(
      state_.node(sick).reason,
      "launches of 5 jobs in a row failed, and others like them begin well on other nodes; the last: Input/output "
      "error");
}

TEST_F(FailedLaunches, What_ended_well_elsewhere_since_the_first_failure_counts_and_what_ended_before_does_not) {
  for (const bool since : {false, true}) {
    run(submit(1), well, AttemptEnd::exited);
    now_ = now_ + seconds(100);
    run(submit(1), sick, AttemptEnd::launch_failed);
    if (since) run(submit(1), well, AttemptEnd::exited);
    for (int i = 0; i < 4; ++i) run(submit(1), sick, AttemptEnd::launch_failed);
    EXPECT_EQ(state_.node(sick).drain, since);
    if (!since) run(submit(7), sick, AttemptEnd::exited);  // begins anew
  }
}

TEST_F(FailedLaunches, A_user_whose_jobs_fail_everywhere_drains_no_node) {
  for (int i = 0; i < 40; ++i) {
    run(submit(1), sick, AttemptEnd::launch_failed);
    run(submit(1), well, AttemptEnd::launch_failed);
    run(submit(2), well, AttemptEnd::exited);
  }
  // One that has only just been started elsewhere may fail as well.
  takes_ = seconds(30);
  run(submit(3), sick, AttemptEnd::exited);  // begins anew
  for (int i = 0; i < 2; ++i) run(submit(1), sick, AttemptEnd::launch_failed);
  start(submit(1), well);
  for (int i = 0; i < 3; ++i) {
    now_ = now_ - seconds(20);  // three at the same time
    run(submit(1), sick, AttemptEnd::launch_failed);
  }
  EXPECT_FALSE(state_.node(sick).drain);
  EXPECT_FALSE(state_.node(well).drain);
}

TEST_F(FailedLaunches, Jobs_of_another_name_and_those_that_ask_for_the_node_tell_nothing_of_it) {
  name_ = "good";
  start(submit(1), well);
  now_ = now_ + seconds(20);
  name_ = "broken";
  for (int i = 0; i < 10; ++i) run(submit(1), sick, AttemptEnd::launch_failed);
  EXPECT_FALSE(state_.node(sick).drain);
  name_ = "good";
  required_ = "n0";
  for (int i = 0; i < 10; ++i) run(submit(1), sick, AttemptEnd::launch_failed);
  EXPECT_FALSE(state_.node(sick).drain);
}

TEST_F(FailedLaunches, One_user_drains_no_third_node_before_somebody_has_looked) {
  const std::vector<NodeIndex> others{NodeIndex{2}, NodeIndex{3}, NodeIndex{4}};
  start(submit(1), well);
  now_ = now_ + seconds(20);
  const auto fail_on = [&](NodeIndex node) {
    for (int i = 0; i < 5; ++i) run(submit(1), node, AttemptEnd::launch_failed);
    return state_.node(node).drain;
  };
  EXPECT_TRUE(fail_on(sick));
  EXPECT_TRUE(fail_on(others[0]));
  EXPECT_FALSE(fail_on(others[1]));
  happen({NodeStateChanged{sick, NodeOrder::resume, "", UserId{0}, now_, {}, {}}});
  EXPECT_TRUE(fail_on(others[2]));
}

TEST_F(FailedLaunches, Where_nothing_starts_anywhere_it_is_not_the_node) {
  for (std::uint32_t user = 1; user <= 5; ++user) {
    run(submit(user), sick, AttemptEnd::launch_failed);
    run(submit(user), well, AttemptEnd::launch_failed);
  }
  EXPECT_FALSE(state_.node(sick).drain);
  EXPECT_FALSE(state_.node(well).drain);
}

TEST_F(FailedLaunches, What_ran_under_another_spool_is_lost) {
  const JobKey key = submit(1);
  start(key, sick);
  add_node(sick, "spool");
  EXPECT_EQ(state_.job(key).state, JobState::running) << "the same spool, after a start of the agent";
  add_node(sick, "another");
  EXPECT_EQ(state_.job(key).state, JobState::pending);
  EXPECT_EQ(state_.job(key).attempt, Attempt{1});
  EXPECT_EQ(state_.node(sick).condition, NodeCondition::up) << "it has not booted";
}

TEST_F(FailedLaunches, Wrong_clock_drains_until_it_is_right) {
  const auto judge = [&](std::int64_t ahead) { happen(decide_clock(state_, sick, seconds(ahead), now_)); };
  judge(59);
  EXPECT_FALSE(state_.node(sick).drain);
  judge(-95);
  EXPECT_TRUE(state_.node(sick).drain);
  EXPECT_EQ(state_.node(sick).reason, "clock differs by 95 s: it is behind the controller's");
  judge(40);
  EXPECT_TRUE(state_.node(sick).drain);
  judge(1);
  EXPECT_FALSE(state_.node(sick).drain);
  EXPECT_EQ(state_.node(sick).reason, "");
  // One that somebody drained stays so.
  judge(95);
  happen({NodeStateChanged{sick, NodeOrder::drain, "disk", UserId{0}, now_, {}, {}}});
  judge(0);
  EXPECT_TRUE(state_.node(sick).drain);
  EXPECT_EQ(state_.node(sick).reason, "disk");
}

TEST_F(FailedLaunches, Setting_the_clock_leaves_jobs_the_time_they_have) {
  const JobKey key = submit(1);
  start(key, well);
  const Time began = now_;
  for (const std::int64_t by : {86'400, -2 * 86'400}) {
    now_ = now_ + seconds(60 + by);
    happen({ClockStepped{seconds(by), now_}});
  }
  EXPECT_EQ(state_.job(key).started_at, began + seconds(-86'400));
  EXPECT_EQ(limit_end(state_.job(key)) - now_, seconds(600 - 120));
  EXPECT_EQ(next_deadline(state_), now_ + seconds(480));
}

TEST_F(FailedLaunches, Correcting_a_clock_that_was_wrong_at_boot_leaves_older_jobs_alone) {
  const JobKey key = submit(1);
  start(key, well);
  const Time began = now_;
  const Time booted = now_ + seconds(7200);  // two hours ahead
  now_ = now_ + seconds(100);
  happen({ClockStepped{seconds(-7200), now_, booted}});
  EXPECT_EQ(state_.job(key).started_at, began);
}

TEST_F(FailedLaunches, An_administrator_who_resumes_a_node_begins_anew) {
  run(submit(9), well, AttemptEnd::exited);
  for (const std::uint32_t user : {1u, 2u, 3u}) run(submit(user), sick, AttemptEnd::launch_failed);
  happen({NodeStateChanged{sick, NodeOrder::drain, "looked at", UserId{0}, now_, {}, {}}});
  happen({NodeStateChanged{sick, NodeOrder::resume, "", UserId{0}, now_, {}, {}}});
  run(submit(1), sick, AttemptEnd::launch_failed);
  EXPECT_FALSE(state_.node(sick).drain);
}

TEST_F(FailedLaunches, Success_and_time_wash_failures_away) {
  for (int round = 0; round < 2; ++round) {
    run(submit(1), sick, AttemptEnd::launch_failed);
    run(submit(2), sick, AttemptEnd::launch_failed);
    run(submit(9), well, AttemptEnd::exited);
    if (round == 0)
      run(submit(8), sick, AttemptEnd::exited);
    else
      now_ = now_ + seconds(7200);
  }
  run(submit(3), sick, AttemptEnd::launch_failed);
  EXPECT_FALSE(state_.node(sick).drain);
}

}  // namespace
}  // namespace millrace
