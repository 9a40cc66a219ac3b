// src/controller/node_reports_test.cpp - what nodes report of jobs, in whatever order and however odd.
#include <gtest/gtest.h>

#include "controller/controller_fixture.h"
#include "core/admission/accept_placement.h"
#include "core/admission/report_node.h"

namespace millrace {
namespace {

class NodeReportsTest : public ControllerTest {
 protected:
  NodeReportsTest() {
    nodes = "n[1-2]";
    manager = &silent;
  }

  JobKey run_job(std::vector<std::uint32_t> on) {
    const JobKey key = state.next_key;
    wire::SubmitJob ask = a_job(3);
    ask.mutable_job()->set_min_nodes(2);
    ask.mutable_job()->set_cpus_per_task(1);
    add_job(ask);
    for (std::uint32_t node = 0; node < 2; ++node)
      for (const Event& event : decide_register(state, {NodeIndex{node}, "boot", inventory}, start_of_test))
        apply(state, event);
    std::vector<NodeShare> shares;
    for (const std::uint32_t node : on) shares.push_back({NodeIndex{node}, Cpus{1}, {}, 1, false});
    for (const Event& event : decide_place(state, {key, Attempt{0}, shares, false}, start_of_test)) apply(state, event);
    return key;
  }
  static AttemptReport ended(JobKey key, std::optional<std::uint32_t> step = {}) {
    AttemptReport out;
    out.key = key;
    out.ended = true;
    out.end = AttemptEnd::exited;
    out.step = step;
    return out;
  }
  void report(const std::string& node, std::vector<AttemptReport> attempts) {
    controller->node_registered(
        silent, {.node = node, .boot_id = "boot", .inventory = inventory, .attempts = std::move(attempts)});
  }

  SilentNodes silent;
  Inventory inventory = [] {
    Inventory out;
    out.cpus = Cpus{8};
    out.memory = Mebibytes{1000};
    return out;
  }();
};

TEST_F(NodeReportsTest, Two_jobs_with_each_others_first_node_end) {
  const JobKey one = run_job({0, 1}), other = run_job({1, 0});
  start();
  ASSERT_EQ(controller->durable().job(one).state, JobState::running);
  ASSERT_EQ(controller->durable().job(other).state, JobState::running);
  report("n1", {ended(one), ended(other, 0)});
  report("n2", {ended(other), ended(one, 0)});
  report("n1", {ended(one), ended(other), ended(other, 0)});
  report("n2", {ended(other), ended(one), ended(one, 0)});
  run();
  EXPECT_EQ(controller->durable().job(one).state, JobState::ended);
  EXPECT_EQ(controller->durable().job(other).state, JobState::ended);
}

}  // namespace
}  // namespace millrace
