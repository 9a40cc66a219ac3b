// src/sim/what_if_test.cpp - suppositions about a small cluster whose plan can be worked out by hand.
#include "sim/what_if.h"

#include <gtest/gtest.h>

#include "sim/replay.h"

namespace millrace {
namespace {

constexpr Time now = trace_time(0);
Time minute(std::int64_t count) { return now + minutes(count); }

ClusterConfigured two_nodes() {
  ClusterConfigured facts;
  for (const char* name : {"n1", "n2"}) {
    NodeDef node;
    node.name = name;
    node.cpus = Cpus{4};
    node.cores_per_socket = 4;
    facts.nodes.push_back(node);
  }
  PartitionDef partition;
  partition.name = "all";
  partition.nodes = {"n1", "n2"};
  partition.is_default = true;
  facts.partitions = {partition};
  return facts;
}

SubmitJob job(std::uint32_t nodes, std::uint32_t limit_minutes) {
  SubmitJob ask;
  ask.spec.owner = SharedValue(Owner{UserId{1000}, GroupId{1000}, "alice", "users", {1000}, "login", {}});
  ask.spec.name = "job";
  ask.spec.work_dir = "/";
  ask.spec.min_nodes = ask.spec.max_nodes = nodes;
  ask.spec.tasks = nodes;
  ask.spec.cpus_per_task = 4;
  ask.time_limit_minutes = limit_minutes;
  ask.script_bytes = 1;
  return ask;
}

// Two jobs run for 60 and 30 minutes; one of both nodes and one of one node wait.
class WhatIf : public testing::Test {
 protected:
  void SetUp() override {
    settings.backfill = Backfill::conservative;
    settings.depth = UINT32_MAX;
    for (const std::uint32_t limit : {60u, 30u}) ASSERT_TRUE(cluster.submit(job(1, limit), 0, now));
    ASSERT_EQ(cluster.plan(now).size(), 2u);
    ASSERT_TRUE(cluster.submit(job(2, 10), 0, now));
    ASSERT_TRUE(cluster.submit(job(1, 20), 0, now));
  }
  Consequences ask(const Supposition& what) {
    const auto supposed = suppose(cluster.state(), what, now);
    EXPECT_TRUE(supposed) << supposed.error().story;
    return compare(cluster.state(), *supposed, settings, now);
  }
  std::string refused(const Supposition& what) {
    const auto supposed = suppose(cluster.state(), what, now);
    return supposed ? "" : supposed.error().story;
  }
  PlannerSettings settings;
  Replay cluster{two_nodes(), {}};
};

TEST_F(WhatIf, nothing_changes_when_nothing_is_supposed) {
  const Consequences found = ask({});
  EXPECT_TRUE(found.changed.empty());
  EXPECT_EQ(found.same, 2u);
  EXPECT_FALSE(found.submitted);
}

TEST_F(WhatIf, a_node_that_leaves_delays_one_job_and_stops_another) {
  Supposition what;
  what.without_nodes = "n2";
  const Consequences found = ask(what);
  ASSERT_EQ(found.changed.size(), 2u);
  // One node is left, busy for 60 minutes: the small job moves from n2 at 30 to n1 at 60, the wide one has no second
  // node.
  EXPECT_EQ(found.changed[0].before, minute(30));
  EXPECT_EQ(found.changed[0].after, minute(60));
  EXPECT_EQ(found.changed[1].before, minute(60));
  EXPECT_FALSE(found.changed[1].after.is_set());
  EXPECT_EQ(found.later, 1u);
  EXPECT_EQ(found.no_more, 1u);
  EXPECT_EQ(found.total_change, minutes(30));
}

TEST_F(WhatIf, a_shorter_limit_brings_starts_forward) {
  Supposition what;
  what.limits = {{"1", 40}};
  const Consequences found = ask(what);
  // Both nodes are free at 40; the small job no longer fits before that and waits until the wide one is done.
  ASSERT_EQ(found.changed.size(), 2u);
  EXPECT_EQ(found.changed[0].before, minute(60));
  EXPECT_EQ(found.changed[0].after, minute(40));
  EXPECT_EQ(found.changed[1].after, minute(50));
  EXPECT_EQ(found.sooner, 1u);
  EXPECT_EQ(found.later, 1u);
  EXPECT_EQ(found.total_change, Duration{});
}

TEST_F(WhatIf, a_submitted_job_is_told_its_start_and_delays_nobody_ahead) {
  Supposition what;
  what.submit = job(1, 10);
  const Consequences found = ask(what);
  EXPECT_TRUE(found.changed.empty());
  ASSERT_TRUE(found.submitted);
  EXPECT_EQ(found.submitted->after,
            minute(50));  // in the gap of n2: the small job is there from 30 to 50, the wide one from 60
  what.submit = job(1, 60);
  EXPECT_EQ(ask(what).submitted->after, minute(70));
}

TEST_F(WhatIf, what_is_unknown_or_would_be_refused_is_named) {
  Supposition nodes, limits, weights, submit;
  nodes.without_nodes = "n[1-3]";
  limits.limits = {{"77", 5}};
  weights.weights = {{"colour", 5}};
  submit.submit = job(3, 5);
  EXPECT_EQ(refused(nodes), "--without-nodes: the cluster has no node 'n3'");
  EXPECT_EQ(refused(limits), "--limit: job 77: Invalid job id specified");
  EXPECT_NE(refused(weights).find("colour"), std::string::npos) << refused(weights);
  weights.weights = {{"age", 5}};
  EXPECT_NE(refused(weights).find("priority/basic"), std::string::npos) << refused(weights);
  EXPECT_NE(refused(submit).find("would be refused"), std::string::npos) << refused(submit);
}

}  // namespace
}  // namespace millrace
