// src/core/model/file_name_test.cpp - every letter of Slurm's file name patterns.
#include "core/model/file_name.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

NameFacts facts_of_a_batch_job() {
  NameFacts facts;
  facts.job_id = 128;
  facts.node_name = "n7.cluster.example";
  facts.node_position = 2;
  facts.restarts = 1;
  facts.rank = 5;
  facts.user_name = "ada";
  facts.job_name = "train";
  return facts;
}

TEST(FileName, Pattern_gives_each_letter_its_value) {
  const NameFacts facts = facts_of_a_batch_job();
  const std::pair<const char*, const char*> rows[] = {
      {"o-%j", "o-128"},
      {"%4j", "0128"},
      {"%J.%s", "128.batch"},
      {"%A_%a", "128_4294967294"},
      {"%b", "4"},
      {"%N", "n7"},
      {"%5N", "n7"},
      {"%n", "2"},
      {"%r", "1"},
      {"%3t", "005"},
      {"%u", "ada"},
      {"%x", "train"},
      {"%%j", "%j"},
      {"100%", "100%"},
      {"%q", "%q"},
      {"%4", "%4"},
      {"%99j", "0000000128"},
      {"\\%j", "%j"},
      {"a\\\\%j", "a\\%j"},
      {"", ""},
  };
  for (const auto& [pattern, expected] : rows) EXPECT_EQ(expand_pattern(pattern, facts), expected) << pattern;
}

TEST(FileName, Pattern_knows_arrays_and_steps) {
  NameFacts facts = facts_of_a_batch_job();
  facts.array_job_id = 120;
  facts.array_task = 17;
  EXPECT_EQ(expand_pattern(default_output_pattern(facts), facts), "slurm-120_17.out");
  EXPECT_EQ(expand_pattern("%b-%4a", facts), "7-0017");
  facts.batch = false;
  EXPECT_EQ(expand_pattern("%J-%s", facts), "128.0-0");
}

TEST(FileName, Value_never_adds_a_directory) {
  NameFacts facts = facts_of_a_batch_job();
  facts.job_name = "../../etc/passwd";
  EXPECT_EQ(expand_pattern("%x", facts), ".._.._etc_passwd");
}

TEST(FileName, A_pattern_that_names_the_job_very_often_stays_bounded) {
  NameFacts facts = facts_of_a_batch_job();
  facts.job_name = std::string(1024, 'n');
  std::string pattern;
  for (int i = 0; i < 2000; ++i) pattern += "%x";
  EXPECT_LE(expand_pattern(pattern, facts).size(), 20u * 1024);
}

TEST(FileName, Per_node_patterns_are_recognised) {
  EXPECT_TRUE(is_per_node("o.%t"));
  EXPECT_TRUE(is_per_node("%2n"));
  EXPECT_FALSE(is_per_node("%%t"));
  EXPECT_FALSE(is_per_node("%j"));
  EXPECT_FALSE(is_per_node("\\%t"));
}

}  // namespace
}  // namespace millrace
