// src/step/attempt/affinity_test.cpp - which task gets which processors.
#include "step/attempt/affinity.h"

#include <gtest/gtest.h>

#include "step/environment/environment.h"

namespace millrace {
namespace {

using Lists = std::vector<std::vector<std::uint32_t>>;

// Two sockets, two cores each, two threads each: CPU n and n+4 are one core, sockets alternate.
std::vector<CpuPlace> machine() {
  return {{0, 0, 0, 0}, {4, 0, 0, 0}, {2, 1, 0, 0}, {6, 1, 0, 0},
          {1, 2, 1, 1}, {5, 2, 1, 1}, {3, 3, 1, 1}, {7, 3, 1, 1}};
}

Lists bound(const char* text, std::uint32_t tasks, std::uint32_t cpus_per_task = 1, bool cyclic = true) {
  CpuBind bind;
  if (*text != '\0') bind = parse_cpu_bind(text).value();
  const auto lists = bind_tasks(bind, {machine(), tasks, cpus_per_task, cyclic});
  EXPECT_TRUE(lists) << lists.error().story;
  return lists.value_or(Lists{});
}

TEST(BindTasks, Cores_are_dealt_over_sockets_in_turn_unless_told_otherwise) {
  EXPECT_EQ(bound("cores", 3), (Lists{{0, 4}, {1, 5}, {2, 6}}));
  EXPECT_EQ(bound("cores", 3, 1, false), (Lists{{0, 4}, {2, 6}, {1, 5}}));
  EXPECT_EQ(bound("cores", 2, 3, false), (Lists{{0, 2, 4, 6}, {1, 3, 5, 7}}));
}

TEST(BindTasks, Threads_sockets_and_memory_domains) {
  EXPECT_EQ(bound("threads", 2), (Lists{{0}, {1}}));
  EXPECT_EQ(bound("threads", 2, 2, false), (Lists{{0, 4}, {2, 6}}));
  EXPECT_EQ(bound("sockets", 3), (Lists{{0, 2, 4, 6}, {1, 3, 5, 7}, {0, 2, 4, 6}}));
  EXPECT_EQ(bound("ldoms", 1), (Lists{{0, 2, 4, 6}}));
}

TEST(BindTasks, Nothing_asked_binds_to_what_the_tasks_fill_exactly) {
  EXPECT_EQ(bound("", 2), (Lists{{0, 2, 4, 6}, {1, 3, 5, 7}}));      // sockets
  EXPECT_EQ(bound("", 4), (Lists{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));  // cores
  EXPECT_EQ(bound("", 2, 2), (Lists{{0, 1, 4, 5}, {2, 3, 6, 7}}));   // two cores each
  EXPECT_EQ(bound("", 8, 1, false), (Lists{{0}, {4}, {2}, {6}, {1}, {5}, {3}, {7}}));
  EXPECT_EQ(bound("", 3), (Lists{{}, {}, {}}));
}

TEST(BindTasks, Lists_are_used_in_turn_and_stay_within_the_allocation) {
  EXPECT_EQ(bound("map_cpu:3,0x1", 3), (Lists{{3}, {1}, {3}}));
  EXPECT_EQ(bound("mask_cpu:0x3,0xf0*2", 3), (Lists{{0, 1}, {4, 5, 6, 7}, {4, 5, 6, 7}}));
  EXPECT_EQ(bound("map_ldom:1", 1), (Lists{{1, 3, 5, 7}}));
  const auto refused = bind_tasks(parse_cpu_bind("map_cpu:9").value(), {machine(), 1, 1, true});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().story, "Unable to satisfy cpu bind request");
}

TEST(BindTasks, Variables_tell_the_masks) {
  EXPECT_EQ(format_mask({0, 1, 4}), "0x13");
  EXPECT_EQ(format_mask({70}), "0x400000000000000000");
  Environment environment;
  add_binding(environment, parse_cpu_bind("cores").value(), {{0}, {1, 5}});
  EXPECT_EQ(environment.get("SLURM_CPU_BIND"), "quiet,mask_cpu:0x1,0x22");
  EXPECT_EQ(environment.get("SLURM_CPU_BIND_TYPE"), "mask_cpu:");
  EXPECT_EQ(environment.get("SLURM_CPU_BIND_LIST"), "0x1,0x22");
  EXPECT_EQ(environment.get("SLURM_CPU_BIND_VERBOSE"), "quiet");
}

TEST(BindMemory, Nodes_of_a_task) {
  EXPECT_EQ(memory_nodes_of(parse_memory_bind("local").value(), 0, {1, 5}, machine()), 2u);
  EXPECT_EQ(memory_nodes_of(parse_memory_bind("map_mem:1,0").value(), 3, {}, machine()), 1u);
  EXPECT_EQ(memory_nodes_of(parse_memory_bind("mask_mem:0x3").value(), 0, {}, machine()), 3u);
  EXPECT_EQ(memory_nodes_of(parse_memory_bind("none").value(), 0, {}, machine()), 0u);
}

TEST(ParseBind, Refuses_what_it_does_not_understand) {
  for (const char* text :
       {"", "coers", "map_cpu:", "map_cpu:x", "mask_cpu:0xg", "map_cpu:0*0", "cores:3", "map_cpu:0*99999999"})
    EXPECT_FALSE(parse_cpu_bind(text)) << text;
  for (const char* text : {"near", "map_mem:99", "mask_mem:0x0", "sort"}) EXPECT_FALSE(parse_memory_bind(text)) << text;
  EXPECT_TRUE(parse_cpu_bind("verbose")->verbose);
  EXPECT_EQ(parse_cpu_bind("v,cores")->kind, BindKind::cores);
  EXPECT_TRUE(parse_memory_bind("prefer,map_mem:0")->prefer);
}

}  // namespace
}  // namespace millrace
