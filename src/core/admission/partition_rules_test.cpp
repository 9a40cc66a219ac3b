// src/core/admission/partition_rules_test.cpp - limits of partitions, memory that brings CPUs with it, what GPUs come
// with.
#include "core/admission/partition_rules.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

JobSpec spec_of(std::uint32_t cpus_per_task = 1) {
  JobSpec spec;
  spec.owner = SharedValue(Owner{UserId{1}, GroupId{1}, "u", "g", {1}, "login1", {}});
  spec.min_nodes = spec.tasks = 1;
  spec.cpus_per_task = cpus_per_task;
  return spec;
}

State state_with(std::vector<PartitionDef> defs, Policy policy) {
  State state;
  std::vector<Partition> partitions;
  for (PartitionDef& def : defs) partitions.push_back({std::move(def), {}, true});
  state.partitions = SharedValue(std::move(partitions));
  state.policy = SharedValue(std::move(policy));
  return state;
}

TEST(PartitionRules, More_memory_than_a_CPU_may_have_brings_more_CPUs) {
  PartitionDef part;
  Policy policy;
  policy.max_memory_per_cpu = Mebibytes{1000};
  JobSpec spec = spec_of(2);
  spec.memory_per_cpu = Mebibytes{2500};
  ASSERT_TRUE(limit_memory(spec, part, policy));
  EXPECT_EQ(spec.cpus_per_task, 6u);
  EXPECT_EQ(spec.memory_per_cpu->value, 834);
  JobSpec by_node = spec_of();
  by_node.memory_per_node = Mebibytes{3001};
  ASSERT_TRUE(limit_memory(by_node, part, policy));
  EXPECT_EQ(by_node.min_cpus_per_node, 4u);
}

TEST(PartitionRules, More_memory_than_a_node_may_give_is_refused_and_the_partition_goes_before_the_cluster) {
  PartitionDef part;
  Policy policy;
  policy.max_memory_per_node = Mebibytes{1000};
  JobSpec spec = spec_of();
  spec.memory_per_node = Mebibytes{1001};
  const auto refused = limit_memory(spec, part, policy);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, RefusalCode::invalid_task_memory);
  part.max_memory_per_node = Mebibytes{2000};
  EXPECT_TRUE(limit_memory(spec, part, policy));
  JobSpec by_cpu = spec_of(4);
  by_cpu.memory_per_cpu = Mebibytes{600};
  EXPECT_FALSE(limit_memory(by_cpu, part, policy));
}

TEST(PartitionRules, Limits_of_partitions_refuse_only_where_they_are_enforced) {
  PartitionDef small, large;
  small.name = "small";
  small.max_time_minutes = 10;
  small.max_nodes = 1;
  large.name = "large";
  const std::vector<PartitionIndex> both{PartitionIndex{0}, PartitionIndex{1}}, one{PartitionIndex{0}};
  Policy policy;
  JobSpec spec = spec_of();
  EXPECT_TRUE(check_partition_limits(state_with({small, large}, policy), both, spec, 60));
  policy.enforce_partition_limits = true;  // ANY
  EXPECT_TRUE(check_partition_limits(state_with({small, large}, policy), both, spec, 60));
  const auto refused = check_partition_limits(state_with({small, large}, policy), one, spec, 60);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, RefusalCode::invalid_time_limit);
  policy.enforce_every_partition = true;
  EXPECT_FALSE(check_partition_limits(state_with({small, large}, policy), both, spec, 60));
  spec.min_nodes = 2;
  const auto wide = check_partition_limits(state_with({small, large}, policy), both, spec, 0);
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.error().code, RefusalCode::invalid_node_count);
}

TEST(PartitionRules, Hosts_and_reservations_that_a_partition_wants) {
  PartitionDef part;
  part.name = "p";
  part.submit_hosts = {"login2"};
  const Actor user{UserId{1}, false};
  EXPECT_FALSE(check_access(part, spec_of(), user));
  part.submit_hosts = {"login1"};
  EXPECT_TRUE(check_access(part, spec_of(), user));
  part.require_reservation = true;
  EXPECT_FALSE(check_access(part, spec_of(), user));
  JobSpec reserved = spec_of();
  ResourceRequest request;
  request.reservation = "r";
  reserved.resources = SharedValue(std::move(request));
  EXPECT_TRUE(check_access(part, reserved, user));
}

TEST(PartitionRules, GPUs_come_with_CPUs_and_memory_when_the_job_says_nothing) {
  PartitionDef part;
  part.default_cpus_per_gpu = 4;
  Policy policy;
  policy.default_memory_per_gpu = 8000;
  JobSpec spec = spec_of(0);
  ResourceRequest request;
  request.gres = {{"gpu", "", 2, {}}};
  spec.resources = SharedValue(ResourceRequest{request});
  complete_gpus(spec, part, policy);
  EXPECT_EQ(spec.resource_request().cpus_per_gpu, 4u);
  EXPECT_EQ(spec.resource_request().memory_per_gpu, 8000);
  JobSpec choosy = spec_of(2);
  choosy.memory_per_node = Mebibytes{1};
  choosy.resources = SharedValue(std::move(request));
  complete_gpus(choosy, part, policy);
  EXPECT_EQ(choosy.resource_request().cpus_per_gpu, 0u);
  EXPECT_EQ(choosy.resource_request().memory_per_gpu, 0);
  JobSpec none = spec_of();
  complete_gpus(none, part, policy);
  EXPECT_EQ(none.resource_request().memory_per_gpu, 0);
}

TEST(PartitionRules, A_whole_node_is_not_all_of_its_memory) {
  Policy policy;
  policy.default_memory_per_cpu = Mebibytes{100};
  JobSpec spec = spec_of();
  spec.exclusive = true;
  complete_memory(spec, PartitionDef{}, policy);
  EXPECT_EQ(spec.memory_per_cpu, Mebibytes{100});
  JobSpec none = spec_of();
  none.exclusive = true;
  complete_memory(none, PartitionDef{}, Policy{});
  EXPECT_FALSE(none.memory_per_cpu || none.memory_per_node) << "nothing is the default: all of it";
}

}  // namespace
}  // namespace millrace
