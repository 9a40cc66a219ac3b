// src/agent/node_isolation_test.cpp - what an attempt is held to, from settings and plan; on trees of plain files.
#include "agent/node_isolation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent.pb.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

class NodeIsolationTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mr-node-XXXXXX";
    root_ = mkdtemp(name);
    for (const char* controller : {"freezer", "memory", "cpu", "devices", "pids"})
      put(std::string{controller} + "/tasks", "");
    put("sys/devices/system/cpu/online", "0-3\n");
    for (int i = 0; i < 4; ++i) {
      const std::string cpu = "sys/devices/system/cpu/cpu" + std::to_string(i) + "/topology/";
      put(cpu + "physical_package_id", "0\n");
      put(cpu + "core_cpus_list", std::to_string(i % 2) + "," + std::to_string(i % 2 + 2) + "\n");
    }
    settings_.cgroup.mountpoint = root_;
    facts_.node = "n1";
    facts_.spool = "/spool";
    facts_.threads_per_core = 2;
    facts_.cpus = 4;
    facts_.sys = root_ + "/sys";
    facts_.machine_memory_mib = 1000;
    facts_.root = true;
    plan_.set_job_id(12);
    plan_.add_cpus_per_node(2);
    plan_.add_memory_per_node_mib(200);
    plan_.set_cpu_ids("1-2");
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ + "/" + path).substr(0, (root_ + "/" + path).rfind('/')));
    std::ofstream{root_ + "/" + path} << text;
  }
  wire::Isolation order() {
    said_.clear();
    const auto made =
        NodeIsolation::prepare(settings_, facts_, [this](std::string_view text) { said_.emplace_back(text); });
    EXPECT_TRUE(made) << (made ? "" : made.error().story);
    return made ? made->of(plan_) : wire::Isolation{};
  }
  static constexpr std::uint64_t mib = 1 << 20;
  std::string root_;
  IsolationSettings settings_;
  NodeIsolationFacts facts_;
  wire::LaunchPlan plan_;
  std::vector<std::string> said_;
};

TEST_F(NodeIsolationTest, By_default_processes_are_tracked_and_nothing_else) {
  const auto isolation = order();
  EXPECT_EQ(isolation.driver(), wire::Isolation::CGROUP_V1);
  ASSERT_EQ(isolation.folders_size(), 1);
  EXPECT_EQ(isolation.folders(0).controller(), "freezer");
  EXPECT_EQ(isolation.job(), "job_12");
  EXPECT_EQ(isolation.step(), "step_batch");
  EXPECT_FALSE(isolation.constrained() || isolation.has_memory_bytes() || isolation.bind_tasks());
  EXPECT_EQ(isolation.cpus(), "");
}

TEST_F(NodeIsolationTest, Each_attempt_has_a_cgroup_of_its_own) {
  plan_.set_attempt(0);  // the first
  EXPECT_EQ(order().job(), "job_12");
  plan_.set_attempt(1);
  EXPECT_EQ(order().job(), "job_12.1");
}

TEST_F(NodeIsolationTest, Who_is_not_root_is_told_once) {
  facts_.root = false;
  EXPECT_EQ(order().driver(), wire::Isolation::NO_CGROUPS);
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_EQ(said_[0],
            "cgroups are not used: this agent does not run as root; CPU and memory are promised, not enforced");
}

TEST_F(NodeIsolationTest, Who_does_not_want_cgroups_hears_nothing) {
  settings_.track_by_cgroup = false;
  EXPECT_EQ(order().driver(), wire::Isolation::NO_CGROUPS);
  EXPECT_TRUE(said_.empty());
}

TEST_F(NodeIsolationTest, Memory_is_what_was_given_within_the_bounds_of_the_file) {
  settings_.task_cgroup = settings_.cgroup.constrain_memory = true;
  EXPECT_EQ(order().memory_bytes(), 200 * mib);
  EXPECT_FALSE(order().has_memory_high_bytes() || order().has_swap_bytes());
  settings_.cgroup.allowed_memory_percent = 150;
  EXPECT_EQ(order().memory_bytes(), 300 * mib);
  EXPECT_EQ(order().memory_high_bytes(), 200 * mib);
  settings_.cgroup.max_memory_percent = 25;
  EXPECT_EQ(order().memory_bytes(), 250 * mib);
  settings_.cgroup.allowed_memory_percent = 1;
  EXPECT_EQ(order().memory_bytes(), 30 * mib);
  settings_.cgroup.constrain_swap = true;
  settings_.cgroup.allowed_swap_percent = 10;
  EXPECT_EQ(order().swap_bytes(), 20 * mib);
  plan_.set_memory_per_node_mib(0, 0);
  EXPECT_EQ(order().memory_bytes(), 250 * mib);
}

TEST_F(NodeIsolationTest, A_missing_controller_is_named_and_not_used) {
  settings_.task_cgroup = settings_.cgroup.constrain_memory = settings_.cgroup.constrain_cores = true;
  fs::remove_all(root_ + "/memory");
  const auto isolation = order();
  EXPECT_FALSE(isolation.has_memory_bytes());
  EXPECT_EQ(isolation.cpus(), "");  // there is no cpuset tree either
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_NE(said_[0].find("no memory controller"), std::string::npos) << said_[0];
  EXPECT_NE(said_[0].find("no cpuset controller"), std::string::npos) << said_[0];
}

TEST_F(NodeIsolationTest, Binding_gives_the_kernels_numbers) {
  settings_.task_affinity = true;
  const auto isolation = order();
  ASSERT_TRUE(isolation.bind_tasks());
  ASSERT_EQ(isolation.places_size(), 2);
  EXPECT_EQ(isolation.places(0).cpu(), 2u);  // second thread of the first core
  EXPECT_EQ(isolation.places(0).core(), 0u);
  EXPECT_EQ(isolation.places(1).cpu(), 1u);
  EXPECT_EQ(isolation.places(1).core(), 1u);
}

TEST_F(NodeIsolationTest, A_virtual_node_larger_than_its_machine_is_not_bound) {
  settings_.task_affinity = true;
  facts_.cpus = 64;
  EXPECT_FALSE(order().bind_tasks());
  ASSERT_EQ(said_.size(), 2u);
  EXPECT_EQ(said_[1], "jobs are not bound to processors: node n1 is configured with 64 of them, this machine has 4");
}

TEST_F(NodeIsolationTest, Private_folders_lie_below_the_base) {
  settings_.private_folders = true;
  ContainerSettings container;
  container.base_path = root_ + "/a/base";
  container.auto_base_path = true;
  settings_.containers = {container};
  const auto isolation = order();
  EXPECT_TRUE(isolation.private_base().starts_with(root_ + "/a/base/millrace_n1_")) << isolation.private_base();
  ASSERT_EQ(isolation.private_folders_size(), 1);
  EXPECT_EQ(isolation.private_folders(0).target(), "/tmp");
  EXPECT_EQ(isolation.private_folders(0).source(), isolation.private_base() + "/tmp");
  EXPECT_TRUE(isolation.private_shm());
  facts_.spool = "/tmp/spool";
  EXPECT_FALSE(NodeIsolation::prepare(settings_, facts_, [](std::string_view) {}));
}

TEST_F(NodeIsolationTest, In_a_base_that_others_may_write_to_jobs_have_a_folder_of_ours) {
  settings_.private_folders = true;
  ContainerSettings container;
  container.base_path = root_ + "/scratch";
  settings_.containers = {container};
  ASSERT_EQ(mkdir(container.base_path.c_str(), 0777), 0);
  ASSERT_EQ(chmod(container.base_path.c_str(), 0777), 0);
  const auto prepare = [&] { return NodeIsolation::prepare(settings_, facts_, [](std::string_view) {}); };
  auto prepared = prepare();
  ASSERT_FALSE(prepared);
  EXPECT_NE(prepared.error().story.find("others may rename"), std::string::npos) << prepared.error().story;
  ASSERT_EQ(chmod(container.base_path.c_str(), 01777), 0);
  EXPECT_TRUE(order().private_base().starts_with(container.base_path + "/.millrace/millrace_n1_"));
  ASSERT_EQ(rmdir((container.base_path + "/.millrace").c_str()), 0);
  ASSERT_EQ(symlink(root_.c_str(), (container.base_path + "/.millrace").c_str()), 0);
  prepared = prepare();
  ASSERT_FALSE(prepared);
  EXPECT_NE(prepared.error().story.find("somebody else has made it"), std::string::npos) << prepared.error().story;
}

NodeGres kind(const char* name, const char* type, std::int64_t count, const char* files) {
  NodeGres out;
  out.name = name;
  out.type = type;
  out.count = count;
  out.files = files;
  return out;
}

wire::LaunchPlan granted(const char* name, const char* type, std::initializer_list<std::uint32_t> devices) {
  wire::LaunchPlan plan;
  auto* grant = plan.add_devices();
  grant->set_name(name);
  grant->set_type(type);
  for (const std::uint32_t device : devices) grant->add_devices(device);
  return plan;
}

TEST(DeviceFiles, Of_others_are_all_device_files_but_those_given) {
  const std::vector<NodeGres> kinds{kind("gpu", "a", 2, "/dev/nvidia[0-1]"), kind("gpu", "b", 1, "/dev/nvidia2"),
                                    kind("nic", "", 1, "/dev/nic0"), kind("count", "", 5, "")};
  using List = std::vector<std::string>;
  EXPECT_EQ(device_files(kinds, {}).others, (List{"/dev/nic0", "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2"}));
  EXPECT_EQ(device_files(kinds, granted("gpu", "a", {1})).others, (List{"/dev/nic0", "/dev/nvidia0", "/dev/nvidia2"}));
  EXPECT_EQ(device_files(kinds, granted("gpu", "b", {2})).others, (List{"/dev/nic0", "/dev/nvidia0", "/dev/nvidia1"}));
  EXPECT_EQ(device_files(kinds, granted("nic", "", {0})).others,
            (List{"/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2"}));
}

TEST(DeviceFiles, A_part_of_a_gpu_opens_that_gpu) {
  std::vector<NodeGres> kinds{kind("gpu", "", 2, "/dev/nvidia[0-1]"), kind("shard", "", 8, "/dev/nvidia[0-1]")};
  EXPECT_EQ(device_files(kinds, granted("shard", "", {1})).others, std::vector<std::string>{"/dev/nvidia0"});
}

TEST(DeviceFiles, A_device_of_several_files_has_all_of_them) {
  EXPECT_EQ(device_files({kind("fpga", "", 2, "/dev/f[0-3]")}, granted("fpga", "", {1})).others,
            (std::vector<std::string>{"/dev/f0", "/dev/f1"}));
}

}  // namespace
}  // namespace millrace
