// src/controller/loop/launch_plan_test.cpp - what a node is told about its part of a job: task numbers, CPUs, devices,
// licences, its place.
#include "controller/loop/launch_plan.h"

#include <gtest/gtest.h>

#include "controller/steps/step_grants.h"
#include "core/admission/accept_placement.h"
#include "core/admission/report_node.h"
#include "core/admission/submit_het_job.h"
#include "core/admission/submit_job.h"
#include "core/ledger/apply.h"
#include "core/model/gres_text.h"

namespace millrace {
namespace {

TEST(LaunchPlan, Names_tasks_cpus_devices_and_licences_of_each_node) {
  State state;
  const Time now{1'000'000'000};
  const auto happen = [&](const std::vector<Event>& events) {
    for (const Event& event : events) millrace::apply(state, event);
  };
  std::vector<NodeDef> nodes(2);
  PartitionDef main;
  main.name = "main";
  main.is_default = true;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = "n" + std::to_string(i);
    nodes[i].cpus = Cpus{4};
    nodes[i].kinds = *parse_node_gres("gpu:a:1,gpu:b:2");
    main.nodes.push_back(nodes[i].name);
  }
  Policy policy;
  policy.licences = {{"foo", 2}};
  Topology topology;
  topology.switches = {{"leaf", {}, {"n0", "n1"}, 0}};
  happen({ControllerStarted{Epoch{1}, now}, ClusterConfigured{nodes, {main}, policy, now, topology}});
  for (std::uint32_t i = 0; i < 2; ++i)
    happen(decide_register(state, {NodeIndex{i}, "boot", {Cpus{4}, Mebibytes{1}, {}, {}, {}, {}, {}, {}, {}}}, now));
  SubmitJob ask;
  ask.spec.owner = SharedValue(Owner{UserId{1}, GroupId{1}, "u", "g", {1}, "h", {}});
  ask.spec.work_dir = "/";
  ask.spec.interactive = true;
  ask.spec.min_nodes = ask.spec.max_nodes = 2;
  ask.spec.tasks = 4;
  ask.spec.cpus_per_task = 0;
  ask.wishes.gres = "gpu:b:1";
  ask.wishes.distribution = "cyclic";
  ask.wishes.licences = "foo:2";
  const JobKey key = state.next_key;
  const auto decision = decide(state, ask, {UserId{1}, false}, now);
  ASSERT_TRUE(decision);
  happen(decision->events);
  const SharedValue detail(ShareDetail{{}, {}, {0, 1}});
  happen(decide_place(state,
                      {key,
                       Attempt{0},
                       {{NodeIndex{0}, Cpus{2}, {}, 2, false, detail}, {NodeIndex{1}, Cpus{2}, {}, 2, false, detail}},
                       false},
                      now));
  const wire::LaunchPlan plan = make_launch_plan(state, state.job(key), NodeIndex{1}, {});
  EXPECT_EQ((std::vector<std::uint32_t>{plan.ranks().begin(), plan.ranks().end()}), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(plan.cpu_ids(), "0-1");
  ASSERT_EQ(plan.devices_size(), 1);
  EXPECT_EQ(plan.devices(0).devices(0), 1u) << "numbered after the gpu of the other type";
  EXPECT_EQ(plan.licenses(), "foo:2");
  EXPECT_EQ(plan.topology_address(), "leaf.n1");
  EXPECT_TRUE(plan.node_has_gpus());
  EXPECT_EQ(plan.allocation_size(), 0) << "only the first node keeps steps";
  const wire::LaunchPlan first = make_launch_plan(state, state.job(key), NodeIndex{0}, {});
  ASSERT_EQ(first.allocation_size(), 2);
  EXPECT_TRUE(first.devices_asked());
  EXPECT_EQ(first.allocation(1).cpu_ids(), "0-1");
  EXPECT_EQ(first.allocation(1).devices(0).devices(0), 1u);
  EXPECT_EQ(plan.job().resources().gpus_per_node(), "b:1");
}

// A million tasks of each of a hundred components would fit no message: of other components their numbers are not told.
TEST(LaunchPlan, Names_the_tasks_of_its_own_component_alone) {
  State state;
  const Time now{1'000'000'000};
  const auto happen = [&](const std::vector<Event>& events) {
    for (const Event& event : events) millrace::apply(state, event);
  };
  std::vector<NodeDef> nodes(2);
  PartitionDef main;
  main.name = "main";
  main.is_default = true;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = "n" + std::to_string(i);
    nodes[i].cpus = Cpus{8};
    main.nodes.push_back(nodes[i].name);
  }
  happen({ControllerStarted{Epoch{1}, now}, ClusterConfigured{nodes, {main}, {}, now}});
  for (std::uint32_t i = 0; i < 2; ++i)
    happen(decide_register(state, {NodeIndex{i}, "boot", {Cpus{8}, Mebibytes{1}, {}, {}, {}, {}, {}, {}, {}}}, now));
  SubmitJob ask;
  ask.spec.owner = SharedValue(Owner{UserId{1}, GroupId{1}, "u", "g", {1}, "h", {}});
  ask.spec.work_dir = "/";
  ask.script_bytes = 1;
  ask.spec.min_nodes = ask.spec.max_nodes = 2;
  ask.spec.tasks = 6;
  ask.wishes.distribution = "cyclic";
  const auto decision = decide(state, std::vector<SubmitJob>{ask, ask}, {UserId{1}, false}, now);
  ASSERT_TRUE(decision);
  happen(decision->events);
  const auto placed = [&](JobKey key) {
    return PlaceJob{
        key, Attempt{0}, {{NodeIndex{0}, Cpus{3}, {}, 3, false, {}}, {NodeIndex{1}, Cpus{3}, {}, 3, false, {}}}};
  };
  const std::vector<JobKey> whole = whole_of(*state.find_job(decision->id));
  PlaceJob proposal = placed(whole[0]);
  proposal.with = {placed(whole[1])};
  happen(decide_place(state, proposal, now));
  for (const JobKey key : whole) {
    const wire::LaunchPlan plan = make_launch_plan(state, state.job(key), NodeIndex{1}, {});
    EXPECT_EQ(plan.ranks_size(), 3);
    ASSERT_EQ(plan.het_components_size(), 2);
    for (const wire::LaunchPlan& component : plan.het_components()) EXPECT_EQ(component.ranks_size(), 0);
  }
}

// A step manager, whatever it wrote, gives a step nothing that its job does not have.
TEST(StepGrants, Are_some_of_what_the_job_has) {
  Job job;
  job.placement = SharedValue(Placement{});
  job.placement.edit().shares = {{NodeIndex{3}, Cpus{2}, Mebibytes{400}, 1, false, {}}};
  const auto add = [](auto* grant, const char* name, const char* type, std::int64_t count,
                      std::vector<std::uint32_t> devices) {
    grant->set_name(name);
    grant->set_type(type);
    grant->set_count(count);
    for (const std::uint32_t device : devices) grant->add_devices(device);
  };
  wire::LaunchPlan has;
  add(has.add_devices(), "gpu", "a", 2, {0, 3});
  add(has.add_devices(), "shard", "", 4, {1});
  add(has.add_devices(), "nic", "", 2, {});
  has.add_memory_per_node_mib(100);
  wire::LaunchPlan asked = has;
  asked.set_own_devices(true);
  asked.clear_devices();
  add(asked.add_devices(), "gpu", "a", 3, {3, 1, 7});
  add(asked.add_devices(), "gpu", "a", 1, {0});
  add(asked.add_devices(), "gpu", "b", 1, {5});
  add(asked.add_devices(), "shard", "", 9, {1, 2});
  add(asked.add_devices(), "nic", "", 1, {});
  wire::LaunchPlan to = has;
  keep_to_job(job, NodeIndex{3}, asked, to);
  ASSERT_EQ(to.devices_size(), 3);
  ASSERT_EQ(to.devices(0).devices_size(), 1);
  EXPECT_EQ(to.devices(0).devices(0), 3u);
  EXPECT_EQ(to.devices(0).count(), 1);
  EXPECT_EQ(to.devices(1).count(), 4);
  EXPECT_EQ(to.devices(1).devices_size(), 1);
  EXPECT_EQ(to.devices(2).count(), 1);
  EXPECT_EQ(to.job_devices_size(), 3);
  EXPECT_EQ(to.memory_per_node_mib(0), 100u);
  EXPECT_EQ(to.job_memory_mib(), 400u);
  // No memory said, too much of it, and a place that is none.
  for (const std::uint64_t wanted : {0u, 401u}) {
    to.set_memory_per_node_mib(0, wanted);
    keep_to_job(job, NodeIndex{3}, asked, to);
    EXPECT_EQ(to.memory_per_node_mib(0), 400u);
  }
  to.set_node_position(4'000'000'000u);
  keep_to_job(job, NodeIndex{3}, asked, to);
  ASSERT_LT(to.node_position(), static_cast<std::uint32_t>(to.memory_per_node_mib_size()));
  EXPECT_EQ(to.memory_per_node_mib(static_cast<int>(to.node_position())), 400u);
}

}  // namespace
}  // namespace millrace
