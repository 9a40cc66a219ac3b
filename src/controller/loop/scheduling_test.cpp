// src/controller/loop/scheduling_test.cpp - what becomes of plans, turn by turn of the loop.
#include <gtest/gtest.h>

#include <algorithm>

#include "controller/controller_fixture.h"

namespace millrace {
namespace {

class SchedulingTest : public ControllerTest {
 protected:
  SchedulingTest() {
    cpus = 256;
    manager = &silent;
  }
  void register_node() {
    Inventory inventory;
    inventory.cpus = Cpus{cpus};
    inventory.memory = Mebibytes{1000};
    controller->node_registered(silent, {.node = "n1", .boot_id = "boot", .inventory = inventory, .attempts = {}});
  }
  SilentNodes silent;
};

// Each placement looks at the jobs that are on the node already.
TEST_F(SchedulingTest, A_plan_for_a_node_with_many_jobs_is_carried_out_in_several_turns) {
  constexpr std::size_t jobs = 200;
  wire::SubmitJob ask = a_job(3);
  ask.mutable_job()->set_memory_per_node_mib(1);
  for (std::size_t i = 0; i < jobs; ++i) add_job(ask);
  start();
  ASSERT_EQ(controller->durable().active.size(), 0u);
  register_node();
  std::size_t running = 0, most_at_once = 0;
  for (int turns = 0; turns < 1'000 && running < jobs; ++turns) {
    world.step();
    const std::size_t now = controller->durable().active.size();
    if (now > running) most_at_once = std::max(most_at_once, now - running);
    running = now;
  }
  EXPECT_EQ(running, jobs);
  EXPECT_LE(most_at_once, 150u);
  run();
  EXPECT_EQ(broken_law(controller->durable()), std::nullopt);
}

}  // namespace
}  // namespace millrace
