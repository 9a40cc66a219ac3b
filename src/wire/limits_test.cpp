// src/wire/limits_test.cpp - what is accepted at its largest fits the frames it travels in.
#include "wire/limits.h"

#include <gtest/gtest.h>

#include "agent.pb.h"
#include "client.pb.h"

namespace millrace {
namespace {

TEST(Limits, Each_part_is_refused_one_byte_above_its_limit_and_the_error_names_both_sizes) {
  wire::JobDescription job;
  const std::string environment(launch_text_max - 10, 'e');
  job.add_arguments("123456789");
  EXPECT_TRUE(check_sizes(job, environment, ""));
  job.add_arguments("");
  const auto refused = check_sizes(job, environment, "");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().story.find("6291457 bytes, at most 6291456"), std::string::npos) << refused.error().story;
  EXPECT_TRUE(check_sizes({}, "", std::string(script_size_ceiling, 's')));
  EXPECT_FALSE(check_sizes({}, "", std::string(script_size_ceiling + 1, 's')));
  job.clear_arguments();
  job.mutable_step_options()->set_multi_prog(std::string(4u << 20, 'm'));
  EXPECT_TRUE(check_sizes(job, "", ""));
  job.set_comment(std::string(description_size_max - (4u << 20), 'c'));
  EXPECT_FALSE(check_sizes(job, "", ""));
}

TEST(Limits, Many_small_arguments_count_by_their_text) {
  wire::JobDescription job;
  for (std::size_t i = 0; i < launch_text_max / 2; ++i) job.add_arguments("a");
  EXPECT_TRUE(check_sizes(job, "", ""));
  EXPECT_LE(job.ByteSizeLong() + description_size_max, request_size_max);
}

TEST(Limits, The_largest_step_fits_every_frame_on_its_way) {
  wire::Request request;
  wire::CreateStep& ask = *request.mutable_create_step();
  ask.set_environment(std::string(launch_text_max, 'e'));
  ask.mutable_step()->mutable_step_options()->set_multi_prog(std::string(4u << 20, 'm'));
  ASSERT_TRUE(check_sizes(ask.step(), ask.environment(), ""));
  EXPECT_LE(request.ByteSizeLong(), request_size_max);
  wire::ToStep to_step_manager;
  *to_step_manager.mutable_step()->mutable_request()->mutable_ask() = ask;
  EXPECT_LE(to_step_manager.ByteSizeLong(), supervisor_frame_max);
  // From the step manager to the agent of another node, with all that a large cluster adds.
  wire::FromStep launch;
  wire::LaunchPlan& plan = *launch.mutable_step()->mutable_launch()->mutable_plan();
  plan.set_environment(ask.environment());
  *plan.mutable_job() = ask.step();
  for (std::uint32_t node = 0; node < 100'000; ++node) {
    plan.add_cpus_per_node(256);
    plan.add_tasks_per_node(256);
    plan.add_memory_per_node_mib(1u << 20);
    plan.add_allocation_cpus_per_node(256);
  }
  plan.set_nodes(std::string(2u << 20, 'n'));
  plan.set_allocation_nodes(plan.nodes());
  for (std::uint32_t rank = 0; rank < 1'000'000; ++rank) plan.add_ranks(rank);
  for (std::uint32_t group = 0; group < 65'536; ++group)
    launch.mutable_step()->mutable_launch()->mutable_identity()->add_groups(UINT32_MAX - group);
  EXPECT_LE(launch.ByteSizeLong(), supervisor_frame_max);
  EXPECT_LE(launch.ByteSizeLong() - ask.ByteSizeLong(), launch_overhead_max);
}

}  // namespace
}  // namespace millrace
