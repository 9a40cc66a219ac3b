// src/config/partition_words_test.cpp - what scontrol may say of a partition.
#include "config/partition_words.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

Errc problem(std::string_view word) {
  const auto read = read_partition_word(word);
  EXPECT_FALSE(read) << word;
  return read ? Errc::io : read.error().code;
}

TEST(PartitionWords, Keys_are_those_of_slurm_conf_in_any_case_and_shortened) {
  EXPECT_EQ(read_partition_word("maxtime=60")->key, "MaxTime");
  EXPECT_EQ(read_partition_word("MaxT=60")->key, "MaxTime");
  EXPECT_EQ(read_partition_word("Priority=3")->key, "Priority");
  EXPECT_EQ(problem("Priori=3"), Errc::not_found) << "two begin so";
  EXPECT_EQ(problem("NoSuchKey=1"), Errc::not_found);
  EXPECT_EQ(problem("MaxTime"), Errc::not_found);
}

TEST(PartitionWords, Nodes_may_be_added_and_taken) {
  EXPECT_EQ(read_partition_word("Nodes+=n[1-2]")->op, '+');
  EXPECT_EQ(read_partition_word("nodes-=n1")->op, '-');
  EXPECT_EQ(read_partition_word("Nodes=")->value, "");
  EXPECT_EQ(problem("MaxNodes+=1"), Errc::invalid);
  EXPECT_EQ(problem("Nodes=n[1-"), Errc::invalid);
}

TEST(PartitionWords, Wrong_values_say_what_would_be_right) {
  EXPECT_EQ(problem("State=SIDEWAYS"), Errc::invalid);
  EXPECT_EQ(read_partition_word("Default=maybe").error().story, "'maybe' is wrong, YES or NO would be right");
  EXPECT_EQ(problem("Alternate=other"), Errc::refused);
  EXPECT_EQ(problem("Alternate=all"), Errc::refused);
  EXPECT_EQ(problem("MaxTime=long"), Errc::invalid);
}

TEST(PartitionWords, A_word_changes_its_key_and_memory_is_said_one_way) {
  ConfiguredPartition partition;
  partition.default_memory_per_node = Mebibytes{100};
  partition.hidden = true;
  ASSERT_TRUE(set_partition_word(partition, *read_partition_word("DefMemPerCPU=50")));
  EXPECT_EQ(partition.default_memory_per_cpu->value, 50);
  EXPECT_FALSE(partition.default_memory_per_node);
  EXPECT_TRUE(partition.hidden);
  ASSERT_TRUE(set_partition_word(partition, *read_partition_word("Exclusive=USER")));
  EXPECT_TRUE(partition.exclusive_user);
  ASSERT_TRUE(set_partition_word(partition, *read_partition_word("Exclusive=NO")));
  EXPECT_FALSE(partition.exclusive_user);
}

}  // namespace
}  // namespace millrace
