// src/step/attempt/gpus_test.cpp - what tasks are told of their gpus.
#include "step/attempt/gpus.h"

#include <gtest/gtest.h>

#include "agent.pb.h"

namespace millrace {
namespace {

struct GpusTest : testing::Test {
  wire::LaunchPlan plan;
  wire::Isolation order;
  GpusTest() {
    plan.mutable_job()->set_interactive(true);
    plan.set_node_has_gpus(true);
    auto* grant = plan.add_devices();
    grant->set_name("gpu");
    for (const std::uint32_t device : {1u, 2u, 3u}) {
      grant->add_devices(device);
      auto* gpu = order.add_gpus();
      gpu->set_device(device);
      gpu->set_number(device + 4);
      gpu->set_near_cpus(device == 3 ? "4-7" : "0-3");
    }
    order.set_gpu_variables(1);
  }
  std::string task(const char* bind, std::uint32_t rank, std::vector<std::uint32_t> cpus = {}) {
    plan.mutable_job()->set_gpu_bind(bind);
    Environment environment;
    const Gpus gpus(plan, order);
    gpus.show(environment);
    const auto shown = gpus.show_task(environment, rank, cpus);
    return shown ? std::string{environment.get("CUDA_VISIBLE_DEVICES")} : shown.error().story;
  }
};

TEST_F(GpusTest, Names_are_those_of_the_libraries_and_only_the_makers) {
  Environment environment;
  Gpus(plan, order).show(environment);
  EXPECT_EQ(environment.get("CUDA_VISIBLE_DEVICES"), "5,6,7");
  EXPECT_EQ(environment.get("SLURM_JOB_GPUS"), "5,6,7");
  EXPECT_EQ(environment.get("SLURM_STEP_GPUS"), "5,6,7");
  EXPECT_EQ(environment.get("ROCR_VISIBLE_DEVICES"), "");
}

TEST_F(GpusTest, Behind_a_fence_they_are_counted_from_0) {
  order.set_devices_fenced(true);
  EXPECT_EQ(task("", 0), "0,1,2");
  EXPECT_EQ(task("map_gpu:2,0", 0), "2");
}

TEST_F(GpusTest, Instances_are_called_by_their_ids) {
  order.mutable_gpus(1)->set_unique_id("MIG-x");
  order.set_devices_fenced(true);
  EXPECT_NE(task("", 0).find("MIG-x"), std::string::npos);
}

TEST_F(GpusTest, Tasks_get_theirs_by_the_binding) {
  EXPECT_EQ(task("none", 1), "5,6,7");
  EXPECT_EQ(task("per_task:1", 2), "7");
  EXPECT_EQ(task("per_task:2", 0), "5,6");
  EXPECT_EQ(task("map_gpu:2,0", 1), "5");
  EXPECT_EQ(task("map_gpu:2,0", 2), "7") << "the list begins again";
  EXPECT_EQ(task("mask_gpu:0x5", 0), "5,7");
  EXPECT_EQ(task("closest", 0, {5}), "7");
  EXPECT_EQ(task("closest", 0, {1}), "5,6");
  EXPECT_EQ(task("single:2", 1, {1}), "5");
  EXPECT_EQ(task("single:2", 2, {1}), "6");
  EXPECT_EQ(task("verbose,closest", 0, {5}), "7");
  plan.mutable_job()->mutable_resources()->set_gpus_per_task("h200:1");
  EXPECT_EQ(task("", 1), "6");
  EXPECT_EQ(task("single", 1), "gpu-bind: 'single' is wrong, a number of tasks, as in single:2, would be right");
}

TEST_F(GpusTest, A_job_with_none_is_shown_none) {
  plan.clear_devices();
  Environment environment;
  Gpus(plan, order).show(environment);
  EXPECT_EQ(environment.entries(), std::vector<std::string>{"CUDA_VISIBLE_DEVICES="});
}

}  // namespace
}  // namespace millrace
