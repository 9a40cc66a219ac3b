// src/config/cgroup_conf_test.cpp - cgroup.conf, job_container.conf and the keys of slurm.conf that go with them.
#include <gtest/gtest.h>

#include "config/job_container_conf.h"
#include "config/slurm_conf.h"

namespace millrace {
namespace {

ConfigurationReport read(std::string_view slurm, std::string_view cgroup, std::string_view container = "") {
  const std::string text =
      "ClusterName=c\nSlurmctldHost=h\nNodeName=n[1-2]\nPartitionName=p Nodes=ALL\n" + std::string{slurm};
  CompanionLines companions;
  companions.cgroup = split_conf_text(cgroup, "cgroup.conf");
  companions.container = split_conf_text(container, "job_container.conf");
  return parse_configuration(split_conf_text(text, "slurm.conf"), "/etc/slurm/slurm.conf", companions);
}

TEST(CgroupConf, Without_a_file_processes_are_tracked_and_nothing_is_constrained) {
  const auto report = read("", "");
  ASSERT_TRUE(report.errors.empty()) << report.errors.front();
  const IsolationSettings& isolation = report.configuration.isolation;
  EXPECT_TRUE(isolation.track_by_cgroup);
  EXPECT_FALSE(isolation.task_cgroup || isolation.task_affinity || isolation.private_folders);
  EXPECT_FALSE(isolation.cgroup.constrain_memory || isolation.cgroup.constrain_cores ||
               isolation.cgroup.constrain_devices);
}

TEST(CgroupConf, Keys_reach_their_settings) {
  const auto report = read(
      "TaskPlugin=task/cgroup,task/affinity\nTaskPluginParam=verbose,autobind=cores\nProctrackType=proctrack/"
      "linuxproc\n",
      "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/cg/"
      "\nConstrainCores=yes\nConstrainRAMSpace=YES\nConstrainSwapSpace=true\nConstrainDevices=no\n"
      "AllowedRAMSpace=110.5\nMaxRAMPercent=90%\nMinRAMSpace=64\nMemorySwappiness=0\nMillraceMaxProcesses=500\n");
  ASSERT_TRUE(report.errors.empty()) << report.errors.front();
  const IsolationSettings& isolation = report.configuration.isolation;
  EXPECT_TRUE(isolation.task_cgroup && isolation.task_affinity);
  EXPECT_FALSE(isolation.track_by_cgroup);
  EXPECT_EQ(isolation.default_bind, "verbose,cores");
  EXPECT_EQ(isolation.cgroup.version, CgroupVersion::v1);
  EXPECT_EQ(isolation.cgroup.mountpoint, "/cg");
  EXPECT_TRUE(isolation.cgroup.constrain_cores && isolation.cgroup.constrain_memory && isolation.cgroup.constrain_swap);
  EXPECT_FALSE(isolation.cgroup.constrain_devices);
  EXPECT_EQ(isolation.cgroup.allowed_memory_percent, 110.5);
  EXPECT_EQ(isolation.cgroup.max_memory_percent, 90);
  EXPECT_EQ(isolation.cgroup.min_memory_mib, 64u);
  EXPECT_EQ(isolation.cgroup.swappiness, 0u);
  EXPECT_EQ(isolation.cgroup.processes_max, 500u);
}

TEST(CgroupConf, What_is_wrong_is_named_with_its_line) {
  const auto report =
      read("TaskPlugin=task/magic\n",
           "ConstrainCores=maybe\nConstrainRamSpcae=yes\nCgroupPlugin=cgroup/v3\nMemorySwappiness=200\n");
  ASSERT_EQ(report.errors.size(), 5u);
  EXPECT_EQ(report.errors[0], "slurm.conf:5: TaskPlugin: 'task/magic' is not task/affinity, task/cgroup or task/none");
  EXPECT_EQ(report.errors[1], "cgroup.conf:1: ConstrainCores: 'maybe' is wrong, yes or no would be right");
  EXPECT_EQ(report.errors[2],
            "cgroup.conf:2: unknown key ConstrainRamSpcae; see docs/admin/cgroups.md for those there are");
  EXPECT_EQ(
      report.errors[3],
      "cgroup.conf:3: CgroupPlugin: 'cgroup/v3' is wrong, autodetect, cgroup/v1, cgroup/v2 or disabled would be right");
}

TEST(CgroupConf, Tasks_are_measured_as_often_as_it_says) {
  const auto report = read("JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=task=5,energy=0\n", "");
  ASSERT_TRUE(report.errors.empty()) << report.errors.front();
  EXPECT_TRUE(report.configuration.measure_tasks);
  EXPECT_EQ(report.configuration.measure_every_seconds, 5u);
  EXPECT_FALSE(read("JobAcctGatherType=jobacct_gather/none\n", "").configuration.measure_tasks);
  const auto wrong = read("JobAcctGatherType=jobacct_gather/magic\nJobAcctGatherFrequency=energy=30\n", "");
  ASSERT_EQ(wrong.errors.size(), 1u);
  EXPECT_EQ(wrong.errors[0],
            "slurm.conf:5: JobAcctGatherType: 'jobacct_gather/magic' is not jobacct_gather/none, jobacct_gather/linux "
            "or jobacct_gather/cgroup");
  // A site's file that has it starts all the same.
  ASSERT_EQ(wrong.configuration.not_built.size(), 1u);
  EXPECT_EQ(wrong.configuration.not_built[0].key, "JobAcctGatherFrequency=energy=30");
}

TEST(JobContainerConf, Each_node_has_its_line) {
  const auto report = read("JobContainerType=job_container/tmpfs\n", "",
                           "AutoBasePath=true\nBasePath=/scratch/own Dirs=/tmp,/var/tmp\nNodeName=n2 BasePath=none\n");
  ASSERT_TRUE(report.errors.empty()) << report.errors.front();
  const auto* first = container_of(report.configuration.isolation, "n1");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->base_path, "/scratch/own");
  EXPECT_TRUE(first->auto_base_path);
  EXPECT_EQ(first->folders, (std::vector<std::string>{"/tmp", "/var/tmp"}));
  EXPECT_EQ(container_of(report.configuration.isolation, "n2"), nullptr);
}

TEST(JobContainerConf, What_is_not_there_or_not_built_is_said) {
  EXPECT_EQ(read("NamespaceType=namespace/tmpfs\n", "").errors.size(), 1u);
  const auto report = read("NamespaceType=namespace/tmpfs\n", "", "BasePath=here\nCloneNSScript=/bin/x\nBaseBath=/x\n");
  ASSERT_EQ(report.errors.size(), 3u);
  EXPECT_EQ(report.errors[0],
            "job_container.conf:1: BasePath: 'here' is wrong, an absolute path without .. would be right");
  EXPECT_EQ(report.errors[1], "job_container.conf:2: CloneNSScript: not built yet");
}

}  // namespace
}  // namespace millrace
