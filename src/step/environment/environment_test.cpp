// src/step/environment/environment_test.cpp - the environment of batch scripts and srun tasks against the recorded one
// of a real Slurm.
#include "step/environment/environment.h"
#include "step/attempt/gpus.h"
#include "step/environment/compat_environment.h"

#include <gtest/gtest.h>

#include "agent.pb.h"
#include "base/text.h"

namespace millrace {
namespace {

// The job of compat/golden/env-batch.txt.
wire::LaunchPlan golden_plan() {
  wire::LaunchPlan plan;
  plan.set_job_key(7);
  plan.set_job_id(86);
  plan.set_attempt(1);
  plan.set_nodes("c[1-2]");
  plan.add_cpus_per_node(2);
  plan.add_cpus_per_node(2);
  plan.add_tasks_per_node(2);
  plan.add_tasks_per_node(2);
  plan.set_tasks(4);
  plan.set_node_name("c1");
  plan.set_partition("main");
  plan.set_cluster("clientsnew");
  plan.set_config_path("/etc/slurm/slurm.conf");
  plan.set_start_at_us(1794727341'000000);
  plan.set_end_at_us(1794727941'000000);
  auto* job = plan.mutable_job();
  job->set_name("gold");
  job->set_account("root");
  job->set_qos("normal");
  job->set_work_dir("/tmp/golden");
  job->set_submit_host("vm");
  job->set_tasks_per_node(2);
  job->set_cpus_per_task(1);
  job->set_memory_per_node_mib(100);
  job->set_umask(022);
  job->mutable_stdio()->set_host("127.0.0.1");
  job->mutable_stdio()->set_port(21739);
  return plan;
}

wire::Credential root() {
  wire::Credential identity;
  identity.set_user_name("root");
  return identity;
}

TEST(Environment, Jobs_of_qsub_and_bsub_have_those_systems_variables) {
  wire::LaunchPlan plan = golden_plan();
  plan.set_environment(std::string{"MILLRACE_FRONT=pbs\0PBS_ARRAYID=9\0PBS_NODEFILE=/outer\0", 53});
  Environment environment = node_environment(plan, root());
  EXPECT_EQ(add_compat(environment, plan), "PBS_NODEFILE");
  const std::pair<const char*, const char*> pbs[] = {
      {"PBS_JOBID", "86"},    {"PBS_JOBNAME", "gold"}, {"PBS_QUEUE", "main"}, {"PBS_O_QUEUE", "main"},
      {"PBS_NUM_NODES", "2"}, {"PBS_NUM_PPN", "2"},    {"PBS_NP", "4"},       {"PBS_ARRAYID", ""},
      {"PBS_NODEFILE", ""},   {"MILLRACE_FRONT", ""}};
  for (const auto& [name, value] : pbs) EXPECT_EQ(environment.get(name), value) << name;
  EXPECT_EQ(host_lines(plan), "c1\nc1\nc2\nc2\n");
  plan.set_environment(std::string{"MILLRACE_FRONT=lsf\0", 19});
  plan.set_array_job_id(80);
  plan.set_array_task(3);
  environment = node_environment(plan, root());
  EXPECT_EQ(add_compat(environment, plan), "LSB_DJOB_HOSTFILE");
  const std::pair<const char*, const char*> lsf[] = {
      {"LSB_JOBID", "80"},        {"LSB_JOBINDEX", "3"},        {"LSB_JOBNAME", "gold[3]"},
      {"LSB_BATCH_JID", "80[3]"}, {"LSB_HOSTS", "c1 c1 c2 c2"}, {"LSB_MCPU_HOSTS", "c1 2 c2 2"},
      {"LSB_DJOB_NUMPROC", "4"},  {"LSB_QUEUE", "main"},        {"LSB_SUB_HOST", "vm"}};
  for (const auto& [name, value] : lsf) EXPECT_EQ(environment.get(name), value) << name;
  plan.clear_environment();
  environment = node_environment(plan, root());
  EXPECT_EQ(add_compat(environment, plan), "");
  EXPECT_EQ(environment.get("LSB_JOBID"), "");
}

TEST(Environment, Batch_script_sees_what_slurm_gives_it) {
  const Environment environment = node_environment(golden_plan(), root());
  for (const char* line : {"ENVIRONMENT=BATCH",
                           "HOSTNAME=c1",
                           "SLURMD_NODENAME=c1",
                           "SLURM_CLUSTER_NAME=clientsnew",
                           "SLURM_CONF=/etc/slurm/slurm.conf",
                           "SLURM_CPUS_ON_NODE=2",
                           "SLURM_CPUS_PER_TASK=1",
                           "SLURM_GTIDS=0",
                           "SLURM_JOBID=86",
                           "SLURM_JOB_ACCOUNT=root",
                           "SLURM_JOB_CPUS_PER_NODE=2(x2)",
                           "SLURM_JOB_END_TIME=1794727941",
                           "SLURM_JOB_EXCLUSIVE=NO",
                           "SLURM_JOB_GID=0",
                           "SLURM_JOB_ID=86",
                           "SLURM_JOB_NAME=gold",
                           "SLURM_JOB_NODELIST=c[1-2]",
                           "SLURM_JOB_NUM_NODES=2",
                           "SLURM_JOB_OVERSUBSCRIBE=NO",
                           "SLURM_JOB_PARTITION=main",
                           "SLURM_JOB_QOS=normal",
                           "SLURM_JOB_SLUID=s0000000000007",
                           "SLURM_JOB_START_TIME=1794727341",
                           "SLURM_JOB_UID=0",
                           "SLURM_JOB_USER=root",
                           "SLURM_MEM_PER_NODE=100",
                           "SLURM_NNODES=2",
                           "SLURM_NODEID=0",
                           "SLURM_NODELIST=c[1-2]",
                           "SLURM_NPROCS=4",
                           "SLURM_NTASKS=4",
                           "SLURM_NTASKS_PER_NODE=2",
                           "SLURM_OOM_KILL_STEP=0",
                           "SLURM_PRIO_PROCESS=0",
                           "SLURM_RESTART_COUNT=0",
                           "SLURM_STEPID=-5",
                           "SLURM_STEP_ID=-5",
                           "SLURM_SUBMIT_DIR=/tmp/golden",
                           "SLURM_SUBMIT_HOST=vm",
                           "SLURM_TASKS_PER_NODE=2(x2)",
                           "SLURM_TOPOLOGY_ADDR=c1",
                           "SLURM_TOPOLOGY_ADDR_PATTERN=node",
                           "SLURM_TRES_PER_TASK=cpu=1",
                           "TMPDIR=/tmp"}) {
    const std::string_view name{line, std::string_view{line}.find('=')};
    EXPECT_EQ(environment.get(name), std::string_view{line}.substr(name.size() + 1)) << name;
  }
}

TEST(Environment, Task_of_the_second_node_sees_its_ranks) {
  wire::LaunchPlan plan = golden_plan();
  plan.set_node_position(1);
  plan.set_node_name("c2");
  plan.mutable_job()->set_interactive(true);
  Environment environment = node_environment(plan, root());
  add_task(environment, 3, 1);
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, const char*>>{{"SLURM_GTIDS", "2,3"},
                                                                  {"SLURM_PROCID", "3"},
                                                                  {"SLURM_LOCALID", "1"},
                                                                  {"SLURM_NODEID", "1"},
                                                                  {"SLURM_STEP_ID", "0"},
                                                                  {"SLURM_STEP_NODELIST", "c[1-2]"},
                                                                  {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                                                                  {"SLURM_STEP_NUM_TASKS", "4"},
                                                                  {"SLURM_SRUN_COMM_PORT", "21739"},
                                                                  {"SLURM_UMASK", "0022"},
                                                                  {"SLURM_LAUNCH_NODE_IPADDR", "127.0.0.1"},
                                                                  {"SLURM_DISTRIBUTION", "block"},
                                                                  {"ENVIRONMENT", ""}})
    EXPECT_EQ(environment.get(name), value) << name;
}

TEST(Environment, Variables_of_an_outer_job_do_not_leak_and_the_users_own_stay) {
  wire::LaunchPlan plan = golden_plan();
  using namespace std::string_literals;
  plan.set_environment(
      "HOME=/home/ada\0SLURM_JOB_ID=5\0SLURM_ARRAY_TASK_ID=9\0SLURM_TIME_FORMAT=relative\0=odd\0odd\0"
      "TMPDIR=/scratch\0MILLRACE_ATTEMPT=1.1\0SLURM_SUBMIT_DIR=/where/typed\0EMPTY=\0HOME=/home/eve\0"s);
  const Environment environment = node_environment(plan, root());
  EXPECT_EQ(environment.get("HOME"), "/home/eve");
  EXPECT_EQ(environment.get("SLURM_JOB_ID"), "86");
  EXPECT_EQ(environment.get("SLURM_ARRAY_TASK_ID"), "");
  EXPECT_EQ(environment.get("SLURM_TIME_FORMAT"), "relative");
  EXPECT_EQ(environment.get("TMPDIR"), "/scratch");
  EXPECT_EQ(environment.get("MILLRACE_ATTEMPT"), "");
  EXPECT_EQ(environment.get("SLURM_SUBMIT_DIR"), "/where/typed");
  EXPECT_EQ(std::ranges::count_if(environment.entries(), [](const auto& e) { return e.starts_with("HOME="); }), 1);
  EXPECT_EQ(std::ranges::count(environment.entries(), "EMPTY="), 1);
}

TEST(Environment, Devices_are_named_for_the_node_and_for_each_task) {
  wire::LaunchPlan plan = golden_plan();
  plan.mutable_job()->set_interactive(true);
  plan.mutable_job()->mutable_resources()->set_gpus_per_task("a100:2");
  plan.mutable_job()->mutable_resources()->set_distribution("plane=2:cyclic");
  plan.set_node_has_gpus(true);
  plan.set_licenses("foo:2");
  for (const std::uint32_t rank : {1u, 3u}) plan.add_ranks(rank);
  auto* grant = plan.add_devices();
  grant->set_name("gpu");
  grant->set_count(4);
  for (const std::uint32_t device : {0u, 1u, 4u, 5u}) grant->add_devices(device);
  Environment environment = node_environment(plan, root());
  const Gpus gpus(plan, {});
  gpus.show(environment);
  EXPECT_EQ(environment.get("SLURM_JOB_GPUS"), "0,1,4,5");
  EXPECT_EQ(environment.get("CUDA_VISIBLE_DEVICES"), "0,1,4,5");
  EXPECT_EQ(environment.get("SLURM_GPUS_ON_NODE"), "4");
  EXPECT_EQ(environment.get("SLURM_GPUS_PER_TASK"), "a100:2");
  EXPECT_EQ(environment.get("SLURM_DISTRIBUTION"), "plane");
  EXPECT_EQ(environment.get("SLURM_DIST_PLANESIZE"), "2");
  EXPECT_EQ(environment.get("SLURM_JOB_LICENSES"), "foo:2");
  EXPECT_EQ(environment.get("SLURM_GTIDS"), "1,3");
  add_task(environment, 3, 1);
  EXPECT_TRUE(gpus.show_task(environment, 1, {}));
  EXPECT_EQ(environment.get("CUDA_VISIBLE_DEVICES"), "4,5");
}

TEST(Environment, A_job_without_gpus_sees_none_and_a_part_sees_its_gpu) {
  wire::LaunchPlan plan = golden_plan();
  using namespace std::string_literals;
  plan.set_environment("CUDA_VISIBLE_DEVICES=0,1,2\0"s);
  plan.set_node_has_gpus(true);
  Environment none = node_environment(plan, root());
  Gpus(plan, {}).show(none);
  EXPECT_EQ(std::ranges::count(none.entries(), "CUDA_VISIBLE_DEVICES="), 1);
  auto* grant = plan.add_devices();
  grant->set_name("mps");
  grant->set_count(25);
  grant->set_parts_of_device(100);
  grant->add_devices(2);
  Environment environment = node_environment(plan, root());
  Gpus(plan, {}).show(environment);
  EXPECT_EQ(environment.get("CUDA_VISIBLE_DEVICES"), "2");
  EXPECT_EQ(environment.get("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "25");
}

TEST(Environment, Counts_are_compressed_as_slurm_does) {
  EXPECT_EQ(compress_counts({2, 2, 2, 1}), "2(x3),1");
  EXPECT_EQ(compress_counts({4}), "4");
  EXPECT_EQ(compress_counts({}), "");
}

TEST(Environment, Script_of_a_heterogeneous_job_is_told_of_all_components) {
  wire::LaunchPlan plan = golden_plan();
  *plan.add_het_components() = golden_plan();
  wire::LaunchPlan other = golden_plan();
  other.set_job_id(87);
  other.set_nodes("gpu7");
  other.set_partition("gpu");
  other.mutable_cpus_per_node()->Clear();
  other.add_cpus_per_node(8);
  *plan.add_het_components() = other;
  plan.set_environment(std::string("SLURM_HET_SIZE=9\0SLURM_JOB_ID_HET_GROUP_5=1\0", 45));
  const Environment environment = node_environment(plan, root());
  EXPECT_EQ(environment.get("SLURM_HET_SIZE"), "2");
  EXPECT_EQ(environment.get("SLURM_JOB_ID"), "86");
  EXPECT_EQ(environment.get("SLURM_JOB_ID_HET_GROUP_0"), "86");
  EXPECT_EQ(environment.get("SLURM_JOB_ID_HET_GROUP_1"), "87");
  EXPECT_EQ(environment.get("SLURM_JOB_NODELIST_HET_GROUP_1"), "gpu7");
  EXPECT_EQ(environment.get("SLURM_JOB_NUM_NODES_HET_GROUP_1"), "1");
  EXPECT_EQ(environment.get("SLURM_CPUS_ON_NODE_HET_GROUP_1"), "8");
  EXPECT_EQ(environment.get("SLURM_NTASKS_HET_GROUP_0"), "4");
  EXPECT_EQ(environment.get("SLURM_JOB_PARTITION_HET_GROUP_1"), "gpu");
  EXPECT_EQ(environment.get("SLURM_CLUSTER_NAME_HET_GROUP_1"), "") << "the same for all";
  EXPECT_EQ(environment.get("SLURM_JOB_ID_HET_GROUP_5"), "") << "of an outer job";
}

TEST(Environment, What_was_asked_for_beside_the_request_is_told_on) {
  wire::LaunchPlan plan = golden_plan();
  wire::JobExtras& extras = *plan.mutable_job()->mutable_extras();
  extras.set_overcommit(true);
  extras.set_network("sn_all");
  extras.set_profile("task");
  extras.set_acctg_freq("task=5");
  extras.set_cpu_freq("low");
  extras.set_gpu_freq("high");
  plan.mutable_job()->mutable_resources()->set_reservation("maint");
  const Environment environment = node_environment(plan, root());
  EXPECT_EQ(environment.get("SLURM_OVERCOMMIT"), "1");
  EXPECT_EQ(environment.get("SLURM_NETWORK"), "sn_all");
  EXPECT_EQ(environment.get("SLURM_PROFILE"), "task");
  EXPECT_EQ(environment.get("SLURM_ACCTG_FREQ"), "task=5");
  EXPECT_EQ(environment.get("SLURM_CPU_FREQ_REQ"), "low");
  EXPECT_EQ(environment.get("SLURM_GPU_FREQ"), "high");
  EXPECT_EQ(environment.get("SLURM_JOB_RESERVATION"), "maint");
}

TEST(Environment, Srun_may_keep_two_variables_as_it_saw_them) {
  wire::LaunchPlan plan = golden_plan();
  plan.set_environment(std::string{"MILLRACE_PRESERVED_SLURM_NTASKS=77\0SLURM_NTASKS=5\0", 50});
  const Environment environment = node_environment(plan, root());
  EXPECT_EQ(environment.get("SLURM_NTASKS"), "77");
  EXPECT_EQ(environment.get("MILLRACE_PRESERVED_SLURM_NTASKS"), "");
  EXPECT_EQ(environment.get("SLURM_NPROCS"), "4");
}

TEST(Loader, Variables_that_bring_other_code_are_dropped) {
  Environment environment;
  for (const char* name : {"LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "GLIBC_TUNABLES", "LDFLAGS", "PATH"})
    environment.set(name, "x");
  drop_loader_variables(environment);
  EXPECT_EQ(environment.entries(), (std::vector<std::string>{"LD_LIBRARY_PATH=x", "LDFLAGS=x", "PATH=x"}));
}

}  // namespace
}  // namespace millrace
