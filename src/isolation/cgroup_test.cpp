// src/isolation/cgroup_test.cpp - the drivers on trees of plain files, where every word they write can be read.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "isolation/cgroup_search.h"
#include "isolation/control_file.h"
#include "isolation/device_program.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

class CgroupTree : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mr-cgroup-XXXXXX";
    root_ = mkdtemp(name);
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ + "/" + path).substr(0, (root_ + "/" + path).rfind('/')));
    std::ofstream{root_ + "/" + path} << text;
  }
  std::string get(const std::string& path) const { return read_control(root_ + "/" + path); }
  std::string root_;
};

// What mkdir makes in a real tree is put there before.
class V1Tree : public CgroupTree {
 protected:
  void fill(const std::string& controller, std::initializer_list<const char*> files) {
    for (const char* folder : {"", "/job_7", "/job_7/step_batch"}) {
      for (const char* file : files) put(controller + folder + "/" + file, "");
      put(controller + folder + "/tasks", "");
      put(controller + folder + "/cgroup.procs", "");
    }
    folders_.driver = CgroupDriver::v1;
    folders_.folders.push_back({controller, root_ + "/" + controller});
  }
  CgroupFolders folders_;
};

TEST_F(V1Tree, Limits_are_written_for_the_job_and_the_step) {
  fill("memory", {"memory.limit_in_bytes", "memory.soft_limit_in_bytes", "memory.memsw.limit_in_bytes",
                  "memory.swappiness", "memory.oom_control"});
  fill("cpuset", {"cpuset.cpus", "cpuset.mems"});
  fill("cpu", {"cpu.shares"});
  fill("pids", {"pids.max"});
  fill("devices", {"devices.deny"});
  put("cpuset/cpuset.mems", "0-1\n");
  CgroupLimits limits;
  limits.memory = 1000;
  limits.memory_high = 900;
  limits.swap = 50;
  limits.swappiness = 3;
  limits.cpus = "2-3";
  limits.cpu_weight = 200;
  limits.processes_max = 77;
  limits.denied_devices = {{false, 195, 1}};
  const auto cgroup = make_job_cgroup(folders_, "job_7", "step_batch");
  const auto created = cgroup->create(limits);
  ASSERT_TRUE(created) << created.error().story;
  for (const std::string level : {"/job_7", "/job_7/step_batch"}) {
    EXPECT_EQ(get("memory" + level + "/memory.limit_in_bytes"), "1000");
    EXPECT_EQ(get("memory" + level + "/memory.soft_limit_in_bytes"), "900");
    EXPECT_EQ(get("memory" + level + "/memory.memsw.limit_in_bytes"), "1050");
    EXPECT_EQ(get("memory" + level + "/memory.swappiness"), "3");
    EXPECT_EQ(get("cpuset" + level + "/cpuset.cpus"), "2-3");
    EXPECT_EQ(get("cpuset" + level + "/cpuset.mems"), "0-1\n");
    EXPECT_EQ(get("cpu" + level + "/cpu.shares"), "2048");
    EXPECT_EQ(get("pids" + level + "/pids.max"), "77");
    EXPECT_EQ(get("devices" + level + "/devices.deny"), "c 195:1 rwm");
  }
  ASSERT_TRUE(cgroup->join());
  EXPECT_EQ(get("memory/job_7/step_batch/tasks"), "0");
  EXPECT_EQ(get("cpuset/job_7/step_batch/tasks"), "0");
}

TEST_F(V1Tree, A_step_may_have_less_than_its_job) {
  fill("memory", {"memory.limit_in_bytes", "memory.soft_limit_in_bytes", "memory.memsw.limit_in_bytes",
                  "memory.swappiness", "memory.oom_control"});
  fill("cpuset", {"cpuset.cpus", "cpuset.mems"});
  fill("cpu", {"cpu.shares"});
  fill("pids", {"pids.max"});
  fill("devices", {"devices.deny"});
  CgroupLimits job, step;
  job.memory = 1000;
  job.cpus = "0-3";
  job.cpu_weight = 400;
  step = job;
  step.memory = 300;
  step.cpus = "2";
  step.cpu_weight = 100;
  step.denied_devices = {{false, 195, 1}};
  const auto created = make_job_cgroup(folders_, "job_7", "step_batch")->create(step, job);
  ASSERT_TRUE(created) << created.error().story;
  EXPECT_EQ(get("memory/job_7/memory.limit_in_bytes"), "1000");
  EXPECT_EQ(get("memory/job_7/step_batch/memory.limit_in_bytes"), "300");
  EXPECT_EQ(get("cpuset/job_7/cpuset.cpus"), "0-3");
  EXPECT_EQ(get("cpuset/job_7/step_batch/cpuset.cpus"), "2");
  EXPECT_EQ(get("cpu/job_7/cpu.shares"), "4096");
  EXPECT_EQ(get("cpu/job_7/step_batch/cpu.shares"), "1024");
  EXPECT_EQ(get("devices/job_7/devices.deny"), "");
  EXPECT_EQ(get("devices/job_7/step_batch/devices.deny"), "c 195:1 rwm");
}

TEST_F(V1Tree, Oom_kills_of_an_earlier_attempt_do_not_count) {
  fill("memory", {"memory.oom_control"});
  put("memory/job_7/step_batch/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  const auto cgroup = make_job_cgroup(folders_, "job_7", "step_batch");
  ASSERT_TRUE(cgroup->create({}));
  EXPECT_EQ(cgroup->oom_kills(), 0u);
  put("memory/job_7/step_batch/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  EXPECT_EQ(cgroup->oom_kills(), 1u);
}

TEST_F(V1Tree, A_limit_that_cannot_be_written_is_an_error_with_its_file) {
  fill("memory", {});
  CgroupLimits limits;
  limits.memory = 1;
  const auto created = make_job_cgroup(folders_, "job_7", "step_batch")->create(limits);
  ASSERT_FALSE(created);
  EXPECT_NE(created.error().story.find("memory.limit_in_bytes"), std::string::npos) << created.error().story;
}

TEST_F(CgroupTree, V2_limits_are_written_for_the_job_and_the_step) {
  for (const char* folder : {"", "job_7/", "job_7/step_0/"})
    for (const char* file : {"memory.max", "memory.high", "memory.swap.max", "memory.oom.group", "cpuset.cpus",
                             "cpu.weight", "pids.max", "cgroup.procs", "cgroup.subtree_control"})
      put(std::string{folder} + file, "");
  put("job_7/cgroup.controllers", "cpu memory\n");
  put("job_7/step_0/memory.events", "low 0\noom 1\noom_kill 4\noom_group_kill 0\n");
  const CgroupFolders folders{CgroupDriver::v2, {{"", root_}}};
  CgroupLimits limits;
  limits.memory = 1000;
  limits.swap = 0;
  limits.cpus = "1";
  limits.cpu_weight = 300;
  limits.oom_kills_all = true;
  const auto cgroup = make_job_cgroup(folders, "job_7", "step_0");
  const auto created = cgroup->create(limits);
  ASSERT_TRUE(created) << created.error().story;
  EXPECT_EQ(get("job_7/memory.max"), "1000");
  EXPECT_EQ(get("job_7/step_0/memory.max"), "1000");
  EXPECT_EQ(get("job_7/step_0/memory.swap.max"), "0");
  EXPECT_EQ(get("job_7/step_0/memory.oom.group"), "1");
  EXPECT_EQ(get("job_7/memory.oom.group"), "");
  EXPECT_EQ(get("job_7/step_0/cpuset.cpus"), "1");
  EXPECT_EQ(get("job_7/cpu.weight"), "300");
  EXPECT_EQ(get("job_7/cgroup.subtree_control"), "+memory");  // plain files keep the last write only
  EXPECT_EQ(cgroup->oom_kills(), 0u);
  put("job_7/step_0/memory.events", "oom_kill 5\n");
  EXPECT_EQ(cgroup->oom_kills(), 1u);
  ASSERT_TRUE(cgroup->freeze().has_value() == false);  // no such file here
}

TEST_F(CgroupTree, Search_finds_v1_below_the_agents_own_cgroup) {
  put("freezer/tasks", "");
  put("memory/tasks", "");
  put("memory/box/1/tasks", "");
  CgroupSearch search;
  search.mountpoint = root_;
  search.own = "6:freezer:/\n4:memory,hugetlb:/box/1\n0::/\n";
  search.node_folder = "millrace_n1_0";
  search.controllers = {"memory", "cpuset"};
  const auto found = find_cgroups(search);
  ASSERT_EQ(found.folders.driver, CgroupDriver::v1) << found.problem;
  ASSERT_EQ(found.folders.folders.size(), 2u);
  EXPECT_EQ(found.folders.folders[0].path, root_ + "/freezer/millrace_n1_0");
  EXPECT_EQ(found.folders.folders[1].path, root_ + "/memory/box/1/millrace_n1_0");
  EXPECT_EQ(found.missing, std::vector<std::string>{"cpuset"});
  remove_node_folders(found.folders);
  EXPECT_FALSE(fs::exists(root_ + "/memory/box/1/millrace_n1_0"));
}

TEST_F(CgroupTree, Search_uses_the_top_where_a_container_sees_only_its_part) {
  put("freezer/tasks", "");
  CgroupSearch search;
  search.mountpoint = root_;
  search.own = "6:freezer:/docker/abc\n";
  search.node_folder = "m";
  EXPECT_EQ(find_cgroups(search).folders.folders.at(0).path, root_ + "/freezer/m");
}

TEST_F(CgroupTree, Search_hands_v2_controllers_down) {
  put("cgroup.controllers", "cpuset cpu memory pids\n");
  put("cgroup.subtree_control", "cpu\n");
  put("m/cgroup.controllers", "cpu memory\n");
  put("m/cgroup.subtree_control", "");
  CgroupSearch search;
  search.mountpoint = root_;
  search.node_folder = "m";
  search.controllers = {"memory", "cpu", "devices", "pids"};
  const auto found = find_cgroups(search);
  ASSERT_EQ(found.folders.driver, CgroupDriver::v2) << found.problem;
  EXPECT_EQ(found.missing, std::vector<std::string>{"pids"});
  EXPECT_EQ(get("cgroup.subtree_control"), "+pids");
  EXPECT_EQ(get("m/cgroup.subtree_control"), "+cpu");
}

TEST_F(CgroupTree, Search_says_why_there_are_none) {
  CgroupSearch search;
  search.mountpoint = root_;
  EXPECT_EQ(find_cgroups(search).problem, "no cgroup file system is mounted at " + root_);
  put("cgroup.controllers", "");
  search.allow_v2 = false;
  EXPECT_EQ(find_cgroups(search).problem, root_ + " holds cgroups of version 2, and CgroupPlugin asks for the other");
}

TEST(NodeFolder, Name_differs_by_spool) {
  EXPECT_EQ(node_folder_name("n1", "/var/spool/slurmd").size(), std::string{"millrace_n1_"}.size() + 8);
  EXPECT_NE(node_folder_name("n1", "/a"), node_folder_name("n1", "/b"));
}

TEST(DeviceProgram, Skips_over_each_device_that_is_not_meant) {
  const auto program = device_program({{false, 195, 1}, {true, 8, 0}});
  ASSERT_EQ(program.size(), 4u + 2 * 5 + 2);
  EXPECT_EQ(program[4].imm, BPF_DEVCG_DEV_CHAR);
  EXPECT_EQ(program[4].off, 4);
  EXPECT_EQ(program[5].imm, 195);
  EXPECT_EQ(program[6].imm, 1);
  EXPECT_EQ(program[6].off, 2);
  EXPECT_EQ(program[9].imm, BPF_DEVCG_DEV_BLOCK);
  EXPECT_EQ(program[14].imm, 1);
}

}  // namespace
}  // namespace millrace
