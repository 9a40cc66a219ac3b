// src/step/step_manager/fact_queue_test.cpp - facts are told together, again when nobody answers, and no longer once
// they are heard.
#include "step/step_manager/fact_queue.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

wire::StepFact fact(std::uint32_t id, bool ended = false) {
  wire::StepFact out;
  out.set_id(id);
  out.set_ended(ended);
  return out;
}

TEST(FactQueue, Facts_of_a_moment_go_in_one_batch) {
  FactQueue queue;
  EXPECT_EQ(queue.due_us(), INT64_MAX);
  queue.add(fact(0), 1000);
  queue.add(fact(1), 1500);
  EXPECT_EQ(queue.due_us(), 1000 + FactQueue::gather_us);
  EXPECT_FALSE(queue.next_batch(1500));
  const auto batch = queue.next_batch(1000 + FactQueue::gather_us);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->facts_size(), 2);
  queue.heard(batch->number(), 300'000);
  EXPECT_EQ(queue.due_us(), INT64_MAX);
  EXPECT_TRUE(queue.unheard().empty());
}

TEST(FactQueue, An_end_that_came_meanwhile_is_told_by_the_next_batch) {
  FactQueue queue;
  queue.add(fact(3), 0);
  const auto first = queue.next_batch(FactQueue::gather_us);
  ASSERT_TRUE(first);
  queue.add(fact(3, true), FactQueue::gather_us + 1);
  EXPECT_FALSE(queue.next_batch(FactQueue::gather_us + 2)) << "one batch is under way";
  queue.heard(first->number(), FactQueue::gather_us + 3);
  const auto second = queue.next_batch(queue.due_us());
  ASSERT_TRUE(second);
  ASSERT_EQ(second->facts_size(), 1);
  EXPECT_TRUE(second->facts(0).ended());
}

TEST(FactQueue, A_limit_that_was_changed_meanwhile_is_told_by_the_next_batch) {
  FactQueue queue;
  queue.add(fact(3), 0);
  const auto first = queue.next_batch(FactQueue::gather_us);
  ASSERT_TRUE(first);
  wire::StepFact changed = fact(3);
  changed.set_time_limit_minutes(9);
  queue.add(changed, FactQueue::gather_us + 1);
  queue.heard(first->number(), FactQueue::gather_us + 3);
  const auto second = queue.next_batch(queue.due_us());
  ASSERT_TRUE(second);
  EXPECT_EQ(second->facts(0).time_limit_minutes(), 9u);
  queue.heard(second->number(), queue.due_us());
  EXPECT_TRUE(queue.unheard().empty());
}

TEST(FactQueue, A_batch_without_an_answer_is_made_anew_and_the_late_answer_to_the_old_one_means_nothing) {
  FactQueue queue;
  queue.add(fact(0), 0);
  const auto lost = queue.next_batch(FactQueue::gather_us);
  ASSERT_TRUE(lost);
  queue.add(fact(0, true), FactQueue::gather_us + 1);
  queue.add(fact(1), FactQueue::gather_us + 1);
  const auto again = queue.next_batch(FactQueue::gather_us + FactQueue::answer_patience_us);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->facts_size(), 2);
  queue.heard(lost->number(), queue.due_us());
  EXPECT_EQ(queue.unheard().size(), 2u);
  queue.heard(again->number(), queue.due_us());
  EXPECT_TRUE(queue.unheard().empty());
}

TEST(FactQueue, A_batch_has_an_end_and_the_rest_follows_at_once_in_the_order_of_the_steps) {
  FactQueue queue;
  for (std::uint32_t id = 0; id < FactQueue::batch_max + 10; ++id) queue.add(fact(id, true), 0);
  const auto first = queue.next_batch(FactQueue::gather_us);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->facts_size(), FactQueue::batch_max);
  queue.heard(first->number(), 300'000);
  const auto rest = queue.next_batch(300'000);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->facts_size(), 10);
  EXPECT_EQ(rest->facts(0).id(), static_cast<std::uint32_t>(FactQueue::batch_max));
}

}  // namespace
}  // namespace millrace
