// src/controller/trigger_watch_test.cpp - what happens to nodes and jobs sets off the triggers that wait for it, once each.
#include "controller/trigger_watch.h"

#include <gtest/gtest.h>

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
  void trigger(std::uint32_t id, TriggerEvent event, const char* nodes = "", std::int32_t offset = 0, JobKey job = {}) {
    state.triggers.set(TriggerId{id}, SharedValue(Trigger{.id = TriggerId{id}, .uid = {}, .event = event, .job = job, .job_id = JobId{static_cast<std::uint32_t>(job.value)}, .nodes = nodes,
                                                         .offset_seconds = offset, .permanent = false, .program = "/x"}));
  }
  Node& node(std::uint32_t i) { return state.nodes.edit(NodeIndex{i})->edit(); }
  std::string look(std::set<NodeIndex> nodes, std::set<JobKey> jobs = {}) { return words(watch.look(state, jobs, nodes, now)); }
  std::string passed() { return words(watch.time_passed(state, now)); }
  static std::string words(const std::vector<FiredTrigger>& fired) {
    std::string out;
    for (const FiredTrigger& each : fired) out += std::to_string(each.id.value) + ":" + each.about + " ";
    return out;
  }
};

TEST_F(TriggerTest, A_change_of_a_node_fires_once_and_several_nodes_are_one_call) {
  trigger(1, TriggerEvent::node_down);
  trigger(2, TriggerEvent::node_down, "n0");
  trigger(3, TriggerEvent::node_up);
  node(0).condition = node(1).condition = NodeCondition::down;
  EXPECT_EQ(look({NodeIndex{0}, NodeIndex{1}}), "1:n[0-1] 2:n0 ");
  EXPECT_EQ(look({NodeIndex{0}, NodeIndex{1}}), "") << "it was so before";
  node(1).condition = NodeCondition::up;
  EXPECT_EQ(look({NodeIndex{1}}), "3:n1 ");
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

TEST_F(TriggerTest, An_offset_is_waited_for_and_idleness_counts_from_the_start) {
  trigger(1, TriggerEvent::node_down, "", 10);
  trigger(2, TriggerEvent::node_idle, "n1", 60);
  node(0).condition = NodeCondition::down;
  EXPECT_EQ(look({NodeIndex{0}}), "");
  now = now + seconds(9);
  EXPECT_EQ(passed(), "");
  now = now + seconds(1);
  EXPECT_EQ(passed(), "1:n0 ");
  now = now + seconds(50);
  EXPECT_EQ(passed(), "2:n1 ");
}

TEST_F(TriggerTest, The_end_of_a_job_and_the_end_of_its_time) {
  Job job;
  job.key = JobKey{7};
  job.id = JobId{7};
  job.state = JobState::running;
  job.started_at = now;
  job.time_limit_minutes = 10;
  JobSpec spec;
  spec.owner = SharedValue(Owner{});
  job.spec = SharedValue(spec);
  state.jobs.set(job.key, SharedValue(job));
  trigger(1, TriggerEvent::job_end, "", 0, job.key);
  trigger(2, TriggerEvent::job_time, "", 60, job.key);
  EXPECT_EQ(look({}, {job.key}), "");
  now = now + minutes(8);
  EXPECT_EQ(passed(), "");
  now = now + minutes(1);
  EXPECT_EQ(passed(), "2:7 ");
  state.jobs.edit(job.key)->edit().state = JobState::ended;
  EXPECT_EQ(look({}, {job.key}), "1:7 ");
  trigger(3, TriggerEvent::reconfigured);
  EXPECT_EQ(words(watch.reconfigured(state)), "3:reconfig ");
}

}  // namespace
}  // namespace millrace
