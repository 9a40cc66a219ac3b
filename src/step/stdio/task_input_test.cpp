// src/step/stdio/task_input_test.cpp - input of many tasks is in memory once, and each of them gets all of its own.
#include "step/stdio/task_input.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

std::string take_all(TaskInput& input, std::size_t reader, std::size_t at_once) {
  std::string out;
  while (input.has_more(reader)) {
    const std::string_view next = input.next(reader).substr(0, at_once);
    out += next;
    input.took(reader, next.size());
  }
  EXPECT_TRUE(input.next(reader).empty());
  return out;
}

TEST(TaskInput, Is_in_memory_once_for_all_tasks_until_the_last_has_taken_it) {
  TaskInput input;
  for (std::uint32_t rank = 0; rank < 1000; ++rank) input.add_reader(rank);
  const std::string piece(100'000, 'x');
  input.add(piece, {});
  input.add(piece, {});
  EXPECT_LT(input.bytes(), 201'000u);
  for (std::size_t reader = 0; reader < 999; ++reader) EXPECT_EQ(take_all(input, reader, 30'000), piece + piece);
  EXPECT_GT(input.bytes(), 200'000u);
  input.took(999, input.next(999).size());
  EXPECT_LT(input.bytes(), 101'000u);
  input.close(999);
  EXPECT_EQ(input.bytes(), 0u);
}

TEST(TaskInput, Each_task_gets_what_is_for_it_in_its_order) {
  TaskInput input;
  for (const std::uint32_t rank : {4u, 5u, 6u}) input.add_reader(rank);
  input.close(2);
  input.add("all ", {});
  input.add("four ", 4);
  input.add("six ", 6);
  input.add("five ", 5);
  input.add("again", {});
  EXPECT_EQ(take_all(input, 0, 3), "all four again");
  EXPECT_FALSE(input.has_more(2));
  EXPECT_EQ(take_all(input, 1, 2), "all five again");
  EXPECT_EQ(input.bytes(), 0u);
  input.add("more", {});
  EXPECT_EQ(take_all(input, 1, 9), "more");
  EXPECT_EQ(take_all(input, 0, 9), "more");
}

TEST(TaskInput, Short_pieces_count_with_what_they_need_besides_their_text) {
  TaskInput input;
  input.add_reader(0);
  for (int i = 0; i < 1000; ++i) input.add("x", {});
  EXPECT_GT(input.bytes(), 100'000u);
  EXPECT_EQ(take_all(input, 0, 1).size(), 1000u);
}

TEST(TaskInput, Is_not_kept_when_nobody_is_to_have_it) {
  TaskInput input;
  input.add_reader(0);
  input.add("for another", 7);
  EXPECT_EQ(input.bytes(), 0u);
  input.close(0);
  input.add("late", {});
  EXPECT_EQ(input.bytes(), 0u);
}

}  // namespace
}  // namespace millrace
