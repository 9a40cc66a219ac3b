// src/controller/readers/trigger_watch_test.cpp - what happens to nodes and jobs sets off the triggers that wait for
// it, once each, also through a restart.
#include "controller/readers/trigger_watch.h"

#include <gtest/gtest.h>

#include "core/ledger/apply.h"

namespace millrace {
namespace {

struct TriggerTest : testing::Test {
  State state;
  TriggerWatch watch;
  Time now{1'000'000'000'000};

  void SetUp() override {
    for (std::uint32_t i = 0; i < 3; ++i) {
      Node node;
      NodeDef def;
      def.name = "n" + std::to_string(i);
      node.def = SharedValue(def);
      node.condition = NodeCondition::up;
      state.nodes.set(NodeIndex{i}, SharedValue(node));
    }
    watch.remember(state, now);
  }
  void trigger(std::uint32_t id, TriggerEvent event, const char* nodes = "", std::int32_t offset = 0, JobKey job = {},
               bool permanent = false) {
    state.triggers.set(TriggerId{id}, SharedValue(Trigger{.id = TriggerId{id},
                                                          .uid = {},
                                                          .event = event,
                                                          .job = job,
                                                          .job_id = JobId{static_cast<std::uint32_t>(job.value)},
                                                          .nodes = nodes,
                                                          .offset_seconds = offset,
                                                          .permanent = permanent,
                                                          .program = "/" + std::to_string(id)}));
  }
  Job& running_job(std::uint64_t key) {
    Job job;
    job.key = JobKey{key};
    job.id = JobId{static_cast<std::uint32_t>(key)};
    job.state = JobState::running;
    job.started_at = now;
    job.time_limit_minutes = 10;
    JobSpec spec;
    spec.owner = SharedValue(Owner{});
    job.spec = SharedValue(spec);
    state.jobs.set(job.key, SharedValue(job));
    return state.jobs.edit(job.key)->edit();
  }
  Node& node(std::uint32_t i) { return state.nodes.edit(NodeIndex{i})->edit(); }
  void job_is(std::uint64_t key, JobState is) { state.jobs.edit(JobKey{key})->edit().state = is; }

  // As the controller does it: facts, then calls.
  std::string carry_out(const TriggerDecision& decision) {
    for (const Event& event : decision.events) apply(state, event);
    std::string out;
    for (const TriggerCall& call : decision.calls) out += call.program.substr(1) + ":" + call.about + " ";
    return out;
  }
  std::string look(std::set<NodeIndex> nodes, std::set<JobKey> jobs = {}) {
    return carry_out(decide_fired(state, watch.look(state, jobs, nodes, now), now));
  }
  std::string passed() {
    return carry_out(decide_fired(state, watch.time_passed(state, now), now)) + carry_out(decide_due(state, now));
  }
  std::string restart() {
    watch = TriggerWatch{};
    return carry_out(decide_fired(state, watch.remember(state, now), now));
  }
};

TEST_F(TriggerTest, A_change_of_a_node_fires_once_and_several_nodes_are_one_call) {
  trigger(1, TriggerEvent::node_down);
  trigger(2, TriggerEvent::node_down, "n0");
  trigger(3, TriggerEvent::node_up, "", 0, {}, true);
  node(0).condition = node(1).condition = NodeCondition::down;
  EXPECT_EQ(look({NodeIndex{0}, NodeIndex{1}}), "1:n[0-1] 2:n0 ");
  EXPECT_EQ(look({NodeIndex{0}, NodeIndex{1}}), "") << "it was so before";
  EXPECT_EQ(restart(), "");
  node(1).condition = NodeCondition::up;
  EXPECT_EQ(look({NodeIndex{1}}), "3:n1 ");
  node(0).condition = NodeCondition::up;
  EXPECT_EQ(look({NodeIndex{0}}), "3:n0 ") << "it is permanent";
  node(0).condition = NodeCondition::down;
  EXPECT_EQ(look({NodeIndex{0}}), "") << "those were used up";
  EXPECT_EQ(state.triggers.size(), 1u);
}

TEST_F(TriggerTest, Draining_ends_in_drained_and_is_taken_back) {
  trigger(1, TriggerEvent::node_draining);
  trigger(2, TriggerEvent::node_drained);
  trigger(3, TriggerEvent::node_resumed);
  trigger(4, TriggerEvent::node_failing);
  node(2).jobs = {JobKey{5}};
  node(2).drain = true;
  EXPECT_EQ(look({NodeIndex{2}}), "1:n2 ");
  node(2).jobs.clear();
  EXPECT_EQ(look({NodeIndex{2}}), "2:n2 ");
  node(2).drain = false;
  node(2).fail = true;
  EXPECT_EQ(look({NodeIndex{2}}), "3:n2 4:n2 ");
}

TEST_F(TriggerTest, What_happened_is_not_lost_when_the_controller_starts_again_before_the_offset_is_over) {
  trigger(1, TriggerEvent::node_down, "", 10, {}, true);
  node(0).condition = NodeCondition::down;
  EXPECT_EQ(look({NodeIndex{0}}), "");
  now = now + seconds(2);
  node(1).condition = NodeCondition::down;
  EXPECT_EQ(look({NodeIndex{1}}), "");
  EXPECT_EQ(restart(), "");
  now = now + seconds(7);
  EXPECT_EQ(passed(), "");
  now = now + seconds(1);
  EXPECT_EQ(passed(), "1:n0 ");
  now = now + seconds(2);
  EXPECT_EQ(passed(), "1:n1 ");
  EXPECT_EQ(passed(), "");
}

TEST_F(TriggerTest, A_node_that_stays_idle_is_told_of_once) {
  trigger(2, TriggerEvent::node_idle, "n1", 60, {}, true);
  now = now + seconds(59);
  EXPECT_EQ(passed(), "");
  now = now + seconds(1);
  EXPECT_EQ(passed(), "2:n1 ");
  now = now + seconds(100);
  EXPECT_EQ(look({NodeIndex{1}}) + passed(), "");
  node(1).jobs = {JobKey{5}};
  EXPECT_EQ(look({NodeIndex{1}}), "");
  node(1).jobs.clear();
  EXPECT_EQ(look({NodeIndex{1}}), "");
  now = now + seconds(60);
  EXPECT_EQ(passed(), "2:n1 ");
}

TEST_F(TriggerTest, The_end_of_a_job_and_the_end_of_its_time) {
  running_job(7);
  trigger(1, TriggerEvent::job_end, "", 0, JobKey{7});
  trigger(2, TriggerEvent::job_time, "", 60, JobKey{7});
  trigger(3, TriggerEvent::job_time, "", 60, JobKey{7}, true);
  EXPECT_EQ(look({}, {JobKey{7}}), "");
  now = now + minutes(8);
  EXPECT_EQ(passed(), "");
  now = now + minutes(1);
  EXPECT_EQ(passed(), "2:7 3:7 ");
  EXPECT_EQ(restart() + passed(), "");
  job_is(7, JobState::ended);
  EXPECT_EQ(look({}, {JobKey{7}}), "1:7 ");
  EXPECT_EQ(look({}, {JobKey{7}}), "");
  state.jobs.erase(JobKey{7});
  EXPECT_EQ(look({}, {JobKey{7}}), "");
  EXPECT_TRUE(state.triggers.empty()) << "nobody will hear of that job again";
}

TEST_F(TriggerTest, An_end_that_was_missed_is_told_of_after_the_start_and_a_permanent_one_hears_of_the_next) {
  running_job(7);
  trigger(1, TriggerEvent::job_end, "", 0, JobKey{7});
  trigger(2, TriggerEvent::job_end, "", 0, JobKey{7}, true);
  trigger(3, TriggerEvent::job_end, "", 30, JobKey{7});
  job_is(7, JobState::ended);  // durable, and then the controller died
  EXPECT_EQ(restart(), "1:7 ");
  job_is(7, JobState::pending);  // it comes again
  EXPECT_EQ(look({}, {JobKey{7}}), "");
  job_is(7, JobState::ended);
  EXPECT_EQ(look({}, {JobKey{7}}), "2:7 ");
  state.jobs.erase(JobKey{7});
  EXPECT_EQ(look({}, {JobKey{7}}), "");
  EXPECT_EQ(state.triggers.size(), 1u) << "one still has its offset before it";
  now = now + seconds(30);
  EXPECT_EQ(passed(), "3:7 ");
  EXPECT_TRUE(state.triggers.empty());
}

TEST_F(TriggerTest, A_trigger_of_a_job_is_also_about_its_nodes) {
  Job& job = running_job(7);
  Placement placement;
  placement.shares.push_back({NodeIndex{1}, Cpus{1}, Mebibytes{1}, 1, false, {}});
  job.placement = SharedValue(placement);
  trigger(1, TriggerEvent::node_down, "", 0, JobKey{7});
  node(0).condition = NodeCondition::down;
  EXPECT_EQ(look({NodeIndex{0}}), "");
  node(1).condition = NodeCondition::down;
  EXPECT_EQ(look({NodeIndex{1}}), "1:n1 ");
}

TEST_F(TriggerTest, The_controller_tells_of_itself) {
  trigger(1, TriggerEvent::reconfigured);
  trigger(2, TriggerEvent::controller_started, "", 0, {}, true);
  EXPECT_EQ(carry_out(decide_fired(state, fired_by(state, TriggerEvent::reconfigured), now)), "1:reconfig ");
  EXPECT_EQ(carry_out(decide_fired(state, fired_by(state, TriggerEvent::controller_started), now)),
            "2:primary_slurmctld_resumed_operation ");
  EXPECT_EQ(state.triggers.size(), 1u);
}

}  // namespace
}  // namespace millrace
