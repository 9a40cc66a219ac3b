// src/step/step_manager/step_resources_test.cpp - memory and devices of an allocation among its steps: who gets which,
// who waits, what never fits; and that nothing is given out twice.
#include "step/step_manager/step_resources.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "agent.pb.h"
#include "step/step_manager/step_allocator.h"

namespace millrace {
namespace {

// Two nodes: 4 CPUs on 2 cores of 2 sockets, 1000 MiB, gpus 0-1 of type a, gpu 2 of type b, 3 nics that are only
// counted.
class StepResources : public testing::Test {
 protected:
  StepResources() {
    plan_.set_nodes("n[1-2]");
    for (int i = 0; i < 2; ++i) {
      plan_.add_cpus_per_node(4);
      plan_.add_memory_per_node_mib(1000);
      wire::AllocationNode& node = *plan_.add_allocation();
      node.set_cpu_ids("0-3");
      node.set_cores_per_socket(1);
      node.set_threads_per_core(2);
      node.add_features(i == 0 ? "big" : "small");
      add(node, "gpu", "a", 2, {0, 1});
      add(node, "gpu", "b", 1, {2});
      add(node, "nic", "", 3, {});
    }
    plan_.set_devices_asked(true);
    allocator_.emplace(plan_, 0);
  }
  static void add(wire::AllocationNode& node, const char* name, const char* type, std::int64_t count,
                  std::vector<std::uint32_t> devices) {
    wire::DeviceGrant& grant = *node.add_devices();
    grant.set_name(name);
    grant.set_type(type);
    grant.set_count(count);
    for (const std::uint32_t device : devices) grant.add_devices(device);
  }
  static wire::CreateStep exact(std::uint32_t tasks, const char* gres = nullptr,
                                std::optional<std::uint64_t> memory = std::nullopt) {
    wire::CreateStep out;
    out.mutable_step()->set_tasks(tasks);
    out.set_exact(true);
    if (gres != nullptr) out.mutable_step()->mutable_resources()->set_gres(gres);
    if (memory) out.mutable_step()->set_memory_per_node_mib(*memory);
    return out;
  }
  StepPlacement place(const wire::CreateStep& ask) {
    auto placement = allocator_->find_room(ask);
    EXPECT_TRUE(placement) << placement.error().story;
    return placement.value_or(StepPlacement{});
  }
  std::uint32_t start(const wire::CreateStep& ask) { return allocator_->start(place(ask), ask.overlap()); }
  Error refusal(const wire::CreateStep& ask) {
    const auto placement = allocator_->find_room(ask);
    EXPECT_FALSE(placement);
    return placement ? Error{} : placement.error();
  }
  // "gpu:0,1 nic*2" of one node.
  std::string devices(const StepShare& share) const {
    std::string out;
    for (const wire::DeviceGrant& grant : grants_of(allocator_->belongings(share.node), share.taking.devices)) {
      out += (out.empty() ? "" : " ") + grant.name() +
             (grant.devices_size() == 0 ? "*" + std::to_string(grant.count()) : "");
      for (int i = 0; i < grant.devices_size(); ++i) out += (i == 0 ? ":" : ",") + std::to_string(grant.devices(i));
    }
    return out;
  }

  wire::LaunchPlan plan_;
  std::optional<StepAllocator> allocator_;
};

TEST_F(StepResources, A_step_that_says_nothing_has_all_devices_of_its_nodes_for_itself) {
  const StepPlacement first = place(exact(1));
  EXPECT_EQ(devices(first.shares[0]), "gpu:0,1 gpu:2 nic*3");
  allocator_->start(first, false);
  EXPECT_EQ(place(exact(1)).shares[0].node, 1u);  // the other node has its own
  start(exact(1));
  EXPECT_EQ(refusal(exact(1)).code, Errc::unavailable);
  EXPECT_EQ(devices(place(exact(1, "none")).shares[0]), "");
  wire::CreateStep over = exact(1);
  over.set_overlap(true);
  EXPECT_EQ(devices(place(over).shares[0]), "gpu:0,1 gpu:2 nic*3");
}

TEST_F(StepResources, Devices_the_job_did_not_ask_for_are_seen_by_all_steps) {
  plan_.set_devices_asked(false);
  allocator_.emplace(plan_, 0);
  start(exact(1));
  EXPECT_EQ(devices(place(exact(1)).shares[0]), "gpu:0,1 gpu:2 nic*3");
  EXPECT_EQ(place(exact(1)).shares[0].node, 0u);
}

TEST_F(StepResources, Each_step_has_other_devices_and_waits_for_those_of_others) {
  const std::uint32_t first = start(exact(1, "gpu:a:1,nic:2"));
  const StepPlacement second = place(exact(1, "gpu:1"));
  EXPECT_EQ(devices(second.shares[0]), "gpu:1");
  allocator_->start(second, false);
  EXPECT_EQ(devices(place(exact(1, "gpu:1")).shares[0]), "gpu:2");
  EXPECT_EQ(place(exact(1, "gpu:a:1")).shares[0].node, 1u);
  wire::CreateStep here = exact(1, "gpu:a:1");
  here.mutable_step()->set_required_nodes("n1");
  EXPECT_EQ(refusal(here).code, Errc::unavailable);
  allocator_->node_ended(first, "n1");
  EXPECT_EQ(devices(place(here).shares[0]), "gpu:0");
}

TEST_F(StepResources, What_the_job_does_not_have_is_refused_with_what_it_has) {
  for (const char* gres : {"gpu:4", "gpu:b:2", "gpu:c", "tape:1", "nic:4"}) {
    const StepRefusal why = refusal_of(refusal(exact(1, gres)));
    EXPECT_EQ(why.code, 2072u) << gres;
    EXPECT_EQ(why.text, "Invalid generic resource (gres) specification");
    EXPECT_NE(why.note.find("gpu:a:2,gpu:b:1,nic:3"), std::string::npos) << why.note;
  }
  EXPECT_EQ(refusal_of(refusal(exact(1, "gpu:1,gpu:x:y:z"))).code, 2072u);
}

TEST_F(StepResources, Devices_of_each_task_limit_the_tasks_of_a_node) {
  wire::CreateStep ask = exact(4);
  ask.mutable_step()->mutable_resources()->set_gpus_per_task("1");
  const StepPlacement spread = place(ask);
  ASSERT_EQ(spread.shares.size(), 2u);
  EXPECT_EQ(spread.shares[0].tasks, 3u);
  EXPECT_EQ(devices(spread.shares[0]), "gpu:0,1 gpu:2");
  EXPECT_EQ(devices(spread.shares[1]), "gpu:0");
  ask.mutable_step()->set_tasks(7);
  EXPECT_EQ(refusal_of(refusal(ask)).code, 2072u);
  wire::CreateStep with_cpus = exact(1);
  with_cpus.mutable_step()->mutable_resources()->set_tres_per_task("cpu:2,gres/gpu:b:1");
  EXPECT_EQ(devices(place(with_cpus).shares[0]), "gpu:2");
  EXPECT_EQ(place(with_cpus).shares[0].cpus, (std::vector<std::uint32_t>{0, 1}));
}

TEST_F(StepResources, Gpus_of_the_whole_step_come_from_as_many_nodes_as_it_needs) {
  wire::CreateStep ask = exact(1);
  ask.mutable_step()->clear_tasks();
  ask.mutable_step()->mutable_resources()->set_gpus("1");
  EXPECT_EQ(place(ask).shares.size(), 1u);
  ask.mutable_step()->mutable_resources()->set_gpus("4");
  const StepPlacement four = place(ask);
  ASSERT_EQ(four.shares.size(), 2u);
  EXPECT_EQ(devices(four.shares[0]), "gpu:0,1 gpu:2");
  EXPECT_EQ(devices(four.shares[1]), "gpu:0");
  ask.mutable_step()->mutable_resources()->set_gpus("7");
  EXPECT_EQ(refusal_of(refusal(ask)).code, 2072u);
  ask.mutable_step()->mutable_resources()->set_gpus("2");
  ask.mutable_step()->mutable_resources()->set_gpus_per_task("1");
  EXPECT_EQ(place(ask).tasks, 2u);
  ask.mutable_step()->set_tasks(3);
  EXPECT_EQ(refusal_of(refusal(ask)).code, 2072u);
}

TEST_F(StepResources, Tasks_and_cpus_follow_gpus) {
  wire::CreateStep ask = exact(0, "gpu:1");
  ask.mutable_step()->set_min_nodes(1);
  ask.mutable_step()->set_max_nodes(1);
  ask.mutable_step()->mutable_resources()->set_tasks_per_gpu(2);
  EXPECT_EQ(place(ask).tasks, 2u);
  wire::CreateStep of_tasks = exact(3);
  of_tasks.mutable_step()->mutable_resources()->set_tasks_per_gpu(2);
  EXPECT_EQ(devices(place(of_tasks).shares[0]), "gpu:0,1");
  wire::CreateStep with_cpus = exact(1, "gpu:1");
  with_cpus.mutable_step()->mutable_resources()->set_cpus_per_gpu(3);
  EXPECT_EQ(place(with_cpus).shares[0].cpus.size(), 3u);
}

TEST_F(StepResources, Memory_is_waited_for_and_never_more_than_the_job_has) {
  const std::uint32_t first = start(exact(1, "none", 700));
  start(exact(1, "none", 700));
  EXPECT_EQ(refusal(exact(1, "none", 700)).code, Errc::unavailable);
  EXPECT_EQ(place(exact(1, "none", 300)).shares[0].taking.memory_mib, 300);
  const StepPlacement any = place(exact(1, "none", 0));  // all of it, beside the others
  EXPECT_EQ(any.shares[0].taking.memory_mib, 1000);
  EXPECT_EQ(any.shares[0].taking.held_memory_mib, 0);
  EXPECT_EQ(place(exact(1, "none")).shares[0].taking.held_memory_mib, 0);  // the job asked for none
  const StepRefusal why = refusal_of(refusal(exact(1, "none", 1001)));
  EXPECT_EQ(why.code, 2044u);
  EXPECT_EQ(why.text, "Memory required by task is not available");
  EXPECT_TRUE(allocator_->node_ended(first, "n1"));
  EXPECT_EQ(place(exact(1, "none", 700)).shares[0].node, 0u);
}

TEST_F(StepResources, Memory_the_job_asked_for_is_what_its_steps_ask_for) {
  plan_.mutable_job()->set_memory_per_node_mib(1000);
  allocator_.emplace(plan_, 0);
  EXPECT_EQ(place(exact(1, "none")).shares[0].taking,
            (NodeTaking{.memory_mib = 1000, .held_memory_mib = 1000, .devices = {}, .cpus = 1}));
  plan_.mutable_job()->clear_memory_per_node_mib();
  plan_.mutable_job()->set_memory_per_cpu_mib(250);
  allocator_.emplace(plan_, 0);
  EXPECT_EQ(place(exact(2, "none")).shares[0].taking.held_memory_mib, 500);
  wire::CreateStep of_gpu = exact(1, "gpu:2");
  of_gpu.mutable_step()->mutable_resources()->set_memory_per_gpu_mib(400);
  EXPECT_EQ(place(of_gpu).shares[0].taking.memory_mib, 800);
  of_gpu.mutable_step()->mutable_resources()->set_memory_per_gpu_mib(501);
  EXPECT_EQ(refusal_of(refusal(of_gpu)).code, 2044u);
  plan_.clear_memory_per_node_mib();  // not counted: nothing is held, and only what a step says itself limits it
  allocator_.emplace(plan_, 0);
  EXPECT_EQ(place(exact(1, "none")).shares[0].taking.memory_mib, 0);
  EXPECT_EQ(place(exact(1, "none", 5000)).shares[0].taking,
            (NodeTaking{.memory_mib = 5000, .held_memory_mib = 0, .devices = {}, .cpus = 1}));
}

TEST_F(StepResources, Cores_sockets_threads_and_features_are_looked_at) {
  wire::CreateStep ask = exact(3, "none");
  ask.mutable_step()->set_min_nodes(1);
  ask.mutable_step()->set_max_nodes(1);
  EXPECT_EQ(place(ask).shares[0].cpus.size(), 3u);
  ask.mutable_step()->mutable_resources()->set_tasks_per_core(1);
  EXPECT_EQ(refusal(ask).code, Errc::invalid);
  ask.mutable_step()->set_tasks(2);
  EXPECT_EQ(place(ask).tasks, 2u);
  ask.mutable_step()->mutable_resources()->clear_tasks_per_core();
  ask.mutable_step()->mutable_resources()->set_threads_per_core(1);
  EXPECT_EQ(place(ask).shares[0].cpus, (std::vector<std::uint32_t>{0, 2}));
  wire::CreateStep small = exact(1, "none");
  small.mutable_step()->mutable_resources()->set_features("small");
  EXPECT_EQ(place(small).shares[0].node, 1u);
  small.mutable_step()->mutable_resources()->set_features("small&big");
  EXPECT_EQ(refusal(small).story, "no node of the job has --constraint=small&big");
  small.mutable_step()->mutable_resources()->set_features("[small|big]");
  EXPECT_EQ(refusal(small).code, Errc::invalid);
}

// No CPU and no device is with two steps that do not share, and no more memory is promised than the job has.
TEST_F(StepResources, Nothing_is_given_out_twice) {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int round = 0; round < 200; ++round) {
    plan_.mutable_job()->clear_memory_per_cpu_mib();
    if (below(2) == 0) plan_.mutable_job()->set_memory_per_cpu_mib(200);
    allocator_.emplace(plan_, 0);
    std::map<std::uint32_t, StepPlacement> running;
    for (int turn = 0; turn < 60; ++turn) {
      if (!running.empty() && below(3) == 0) {
        const auto it = std::next(running.begin(), below(static_cast<std::uint32_t>(running.size())));
        for (const StepShare& share : it->second.shares)
          allocator_->node_ended(it->first, allocator_->nodes()[share.node]);
        running.erase(it);
        continue;
      }
      const char* kinds[] = {"none", "gpu:1", "gpu:a:1", "gpu:2,nic:1", "nic:1", nullptr};
      wire::CreateStep ask = exact(below(5), kinds[below(6)]);
      if (below(3) == 0) ask.mutable_step()->set_memory_per_node_mib(below(700));
      if (below(6) == 0) ask.mutable_step()->mutable_resources()->set_gpus(std::to_string(1 + below(5)));
      if (below(6) == 0) ask.mutable_step()->mutable_resources()->set_gpus_per_task("1");
      ask.set_exact(below(4) != 0);
      ask.set_overlap(below(8) == 0);
      const auto placement = allocator_->find_room(ask);
      if (!placement) continue;
      const std::uint32_t id = allocator_->start(*placement, ask.overlap());
      if (!ask.overlap())
        running[id] = *placement;
      else
        for (const StepShare& share : placement->shares) allocator_->node_ended(id, allocator_->nodes()[share.node]);
      std::map<std::uint32_t, std::int64_t> memory, nics;
      std::set<std::pair<std::uint32_t, std::uint32_t>> cpus, gpus;
      for (const auto& [step, where] : running)
        for (const StepShare& share : where.shares) {
          memory[share.node] += share.taking.held_memory_mib;
          for (const std::uint32_t cpu : share.cpus)
            ASSERT_TRUE(cpus.insert({share.node, cpu}).second) << "cpu " << cpu << " twice";
          for (const HeldDevices& held : share.taking.devices) {
            if (held.pool == 2) nics[share.node] += held.count;
            for (const std::uint32_t device : held.devices)
              ASSERT_TRUE(gpus.insert({share.node, device}).second) << "gpu " << device << " twice";
          }
        }
      for (const auto& [node, sum] : memory) ASSERT_LE(sum, 1000);
      for (const auto& [node, sum] : nics) ASSERT_LE(sum, 3);
    }
  }
}

}  // namespace
}  // namespace millrace
