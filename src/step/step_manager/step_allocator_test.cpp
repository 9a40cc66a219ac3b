// src/step/step_manager/step_allocator_test.cpp - which nodes and CPUs of an allocation a step gets, when it waits, and
// what never fits.
#include "step/step_manager/step_allocator.h"

#include <gtest/gtest.h>

#include "agent.pb.h"
#include "core/model/step.h"

namespace millrace {
namespace {

class StepAllocatorTest : public testing::Test {
 protected:
  StepAllocatorTest() {
    wire::LaunchPlan plan;
    plan.set_nodes("n[1-3]");
    for (const std::uint32_t cpus : {4u, 4u, 2u}) plan.add_cpus_per_node(cpus);
    allocator_.emplace(plan, 0);
  }
  wire::CreateStep ask(std::uint32_t nodes, std::uint32_t tasks, bool exact = false) {
    wire::CreateStep out;
    out.mutable_step()->set_min_nodes(nodes);
    out.mutable_step()->set_max_nodes(nodes);
    out.mutable_step()->set_tasks(tasks);
    out.set_exact(exact);
    return out;
  }
  std::uint32_t start(const wire::CreateStep& wish) {
    const auto placement = allocator_->find_room(wish);
    EXPECT_TRUE(placement) << placement.error().story;
    return allocator_->start(*placement, wish.overlap());
  }
  Errc refusal(const wire::CreateStep& wish) {
    const auto placement = allocator_->find_room(wish);
    return placement ? Errc{} : placement.error().code;
  }
  std::optional<StepAllocator> allocator_;
};

TEST_F(StepAllocatorTest, Without_a_wish_it_has_a_task_on_every_node) {
  const auto placement = allocator_->find_room(ask(0, 0));
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->tasks, 3u);
  ASSERT_EQ(placement->shares.size(), 3u);
  EXPECT_EQ(placement->shares[2], (StepShare{.node = 2, .cpus = {0, 1}, .tasks = 1, .taking = {.cpus = 2}}));
}

TEST_F(StepAllocatorTest, A_list_says_where_each_task_runs) {
  wire::CreateStep wish = ask(2, 4);
  wish.mutable_step()->set_required_nodes("n[1-2]");
  wish.mutable_step()->mutable_resources()->set_distribution("arbitrary");
  wish.mutable_step()->mutable_resources()->set_task_nodes("n2,n1,n1,n1");
  const auto placement = allocator_->find_room(wish);
  ASSERT_TRUE(placement) << placement.error().story;
  using Ranks = std::vector<std::vector<std::uint32_t>>;
  EXPECT_EQ(allocator_->ranks_of(placement->shares, wish.step().resources()), (Ranks{{1, 2, 3}, {0}}));
  const std::uint32_t step = start(wish);
  EXPECT_EQ(allocator_->tasks_on(step, "n2", wish.step().resources()), (std::vector<std::uint32_t>{0}));
}

TEST_F(StepAllocatorTest, A_node_that_failed_has_no_new_step_and_keeps_its_place) {
  const std::uint32_t old = start(ask(3, 5, true));
  EXPECT_EQ(allocator_->running_on("n2"), (std::vector<std::uint32_t>{old}));
  wire::ResourceWishes cyclic;
  cyclic.set_distribution("cyclic");
  EXPECT_EQ(allocator_->tasks_on(old, "n2", cyclic), (std::vector<std::uint32_t>{1}));
  EXPECT_TRUE(allocator_->lose("n2"));
  EXPECT_FALSE(allocator_->lose("n2")) << "that is known";
  EXPECT_FALSE(allocator_->lose("n9")) << "that is not of the job";
  EXPECT_FALSE(allocator_->node_ended(old, "n2"));
  EXPECT_EQ(allocator_->nodes_of(old), (std::vector<std::string>{"n1", "n3"}));
  EXPECT_TRUE(allocator_->running_on("n2").empty());
  EXPECT_FALSE(allocator_->node_ended(old, "n1"));
  EXPECT_TRUE(allocator_->node_ended(old, "n3"));
  const auto all = allocator_->find_room(ask(0, 0));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->tasks, 2u);
  EXPECT_EQ(all->shares[1].node, 2u);
  EXPECT_EQ(refusal(ask(3, 3)), Errc::invalid);
  wire::CreateStep there = ask(1, 1);
  there.mutable_step()->set_required_nodes("n2");
  EXPECT_EQ(refusal(there), Errc::invalid);
}

// What is made for each task stays bounded, whatever a user asks for.
TEST_F(StepAllocatorTest, Refuses_more_tasks_than_there_can_be) {
  wire::CreateStep wish = ask(1, 4'000'000'000);
  wish.mutable_step()->mutable_extras()->set_overcommit(true);
  const auto refused = allocator_->find_room(wish);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().story, "invalid number of tasks: 4000000000 (expected at most 1000000)");
  wish.mutable_step()->set_tasks(0);
  wish.mutable_step()->set_tasks_per_node(4'000'000'000);
  EXPECT_FALSE(allocator_->find_room(wish));
}

TEST_F(StepAllocatorTest, The_shell_of_salloc_takes_nothing_from_the_others) {
  wire::CreateStep shell = ask(1, 1);
  shell.set_overlap(true);
  shell.set_interactive(true);
  shell.set_first_node(0);
  const auto placement = allocator_->find_room(shell);
  ASSERT_TRUE(placement);
  EXPECT_FALSE(allocator_->had_shell());
  EXPECT_EQ(allocator_->start_shell(*placement), interactive_step);
  EXPECT_TRUE(allocator_->had_shell());
  const auto all = allocator_->find_room(ask(3, 3));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->shares[0].cpus.size(), 4u);
  EXPECT_EQ(start(ask(1, 1)), 0u);
  EXPECT_TRUE(allocator_->node_ended(interactive_step, "n1"));
}

TEST_F(StepAllocatorTest, Whole_nodes_are_taken_unless_it_asks_for_exactly_what_it_needs) {
  const std::uint32_t first = start(ask(1, 1));
  EXPECT_EQ(first, 0u);
  const auto second = allocator_->find_room(ask(1, 1));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->shares[0].node, 1u);
  EXPECT_TRUE(allocator_->node_ended(first, "n1"));
  start(ask(1, 2, true));
  const auto beside = allocator_->find_room(ask(1, 2, true));
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->shares[0], (StepShare{.node = 0, .cpus = {2, 3}, .tasks = 2, .taking = {.cpus = 2}}));
}

TEST_F(StepAllocatorTest, Numbers_are_never_given_out_twice_and_nodes_end_one_by_one) {
  const std::uint32_t first = start(ask(2, 2));
  EXPECT_FALSE(allocator_->node_ended(first, "n1"));
  EXPECT_EQ(allocator_->nodes_of(first), std::vector<std::string>{"n2"});
  EXPECT_TRUE(allocator_->node_ended(first, "n2"));
  EXPECT_FALSE(allocator_->node_ended(first, "n2"));
  EXPECT_EQ(start(ask(1, 1)), 1u);
}

TEST_F(StepAllocatorTest, Named_nodes_are_waited_for_and_strangers_refused) {
  wire::CreateStep on_two = ask(1, 1);
  on_two.mutable_step()->set_required_nodes("n2");
  const std::uint32_t busy = start(on_two);
  EXPECT_EQ(refusal(on_two), Errc::unavailable);
  wire::CreateStep from_two = ask(1, 1);
  from_two.set_first_node(1);
  EXPECT_EQ(refusal(from_two), Errc::unavailable);
  EXPECT_TRUE(allocator_->node_ended(busy, "n2"));
  EXPECT_EQ(allocator_->find_room(from_two)->shares[0].node, 1u);
  on_two.mutable_step()->set_required_nodes("n9");
  EXPECT_EQ(refusal(on_two), Errc::invalid);
  from_two.set_first_node(3);
  EXPECT_EQ(refusal(from_two), Errc::invalid);
}

TEST_F(StepAllocatorTest, More_than_the_allocation_is_refused_and_more_than_is_free_waits) {
  EXPECT_EQ(refusal(ask(0, 11, true)), Errc::invalid);
  EXPECT_EQ(refusal(ask(4, 4)), Errc::invalid);
  start(ask(0, 9, true));
  EXPECT_EQ(refusal(ask(0, 2, true)), Errc::unavailable);
  wire::CreateStep over = ask(0, 2);
  over.set_overlap(true);
  EXPECT_EQ(refusal(over), Errc{});
}

TEST_F(StepAllocatorTest, Fewer_tasks_than_nodes_use_fewer_nodes_and_say_so) {
  const auto placement = allocator_->find_room(ask(3, 1));
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->shares.size(), 1u);
  ASSERT_EQ(placement->notes.size(), 1u);
  EXPECT_EQ(placement->notes[0], "Warning: can't run 1 processes on 3 nodes, setting nnodes to 1");
}

TEST_F(StepAllocatorTest, Of_a_list_of_sizes_it_has_the_largest_that_the_job_has_nodes_for) {
  wire::CreateStep wish = ask(0, 0);
  wish.mutable_step()->set_min_nodes(1);
  wish.mutable_step()->set_max_nodes(7);
  wish.mutable_step()->mutable_resources()->set_node_counts("1,2,5-7:2");
  EXPECT_EQ(allocator_->find_room(wish)->shares.size(), 2u);
  wish.mutable_step()->set_tasks(1);
  EXPECT_EQ(allocator_->find_room(wish)->shares.size(), 1u) << "no node without a task";
  wish.mutable_step()->mutable_resources()->set_node_counts("5-7:2");
  EXPECT_EQ(refusal(wish), Errc::invalid);
}

TEST_F(StepAllocatorTest, Overcommitted_tasks_share_the_cpus_and_are_spread_evenly) {
  wire::CreateStep many = ask(2, 20);
  EXPECT_EQ(refusal(many), Errc::invalid);
  many.mutable_step()->mutable_extras()->set_overcommit(true);
  const auto placement = allocator_->find_room(many);
  ASSERT_TRUE(placement) << placement.error().story;
  ASSERT_EQ(placement->shares.size(), 2u);
  EXPECT_EQ(placement->shares[0].tasks, 10u);
  EXPECT_EQ(placement->shares[1].tasks, 10u);
}

}  // namespace
}  // namespace millrace
