// src/config/slurm_conf_test.cpp - what slurm.conf files mean, and how wrong ones are answered.
#include "config/slurm_conf.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "config/client_settings.h"
#include "config/keys.h"
#include "config/show_config.h"
#include "core/model/partition.h"

namespace millrace {
namespace {

constexpr const char* head = "ClusterName=Test\nSlurmctldHost=vm(127.0.0.1)\n";

ConfigurationReport parse(const std::string& text) {
  return parse_configuration_text(head + text, "/etc/slurm/slurm.conf");
}

TEST(SlurmConf, A_policy_is_chosen_by_name_and_brings_what_it_needs) {
  const auto chosen = parse("SchedulerParameters=bf_interval=2,millrace_policy=guarded\n");
  ASSERT_TRUE(chosen.errors.empty()) << chosen.errors[0];
  EXPECT_EQ(chosen.configuration.scheduler.schedule, Schedule::guarded);
  EXPECT_TRUE(chosen.configuration.scheduler.predict_run_times);
  const auto predicted = parse("SchedulerParameters=millrace_predict\n");
  EXPECT_EQ(predicted.configuration.scheduler.schedule, Schedule::conservative);
  EXPECT_TRUE(predicted.configuration.scheduler.predict_run_times);
  const auto unknown = parse("SchedulerParameters=millrace_policy=best\n");
  ASSERT_EQ(unknown.errors.size(), 1u);
  EXPECT_NE(
      unknown.errors[0].find("millrace_policy 'best' is not known; it is one of conservative, easy, sjbf, guarded"),
      std::string::npos)
      << unknown.errors[0];
}

TEST(SlurmConf, Reads_keys_in_any_case_with_comments_and_continuation) {
  const auto report = parse(
      "killwait=5 # short\n  MINJOBAGE = "
      "60\nSchedulerParameters=bf_interval=2,\\\nrequeue_delay=7,max_script_size=100\n"
      "AuthInfo=socket=/tmp/x.sock\nSelectTypeParameters=CR_CPU\nSlurmdSpoolDir=/s/%n\nDefMemPerCPU=100\n");
  ASSERT_TRUE(report.errors.empty()) << report.errors[0];
  const Configuration& c = report.configuration;
  EXPECT_EQ(c.cluster_name, "test");
  EXPECT_EQ(c.controllers[0].address, "127.0.0.1");
  EXPECT_EQ(c.kill_wait, seconds(5));
  EXPECT_EQ(c.min_job_age, seconds(60));
  EXPECT_EQ(c.socket_path, "/tmp/x.sock");
  EXPECT_EQ(c.scheduler.requeue_delay, seconds(7));
  EXPECT_EQ(c.scheduler.script_size_max, 100u);
  EXPECT_EQ(c.consumable, ConsumableUnit::cpu);
  EXPECT_FALSE(c.memory_is_consumable);
  EXPECT_EQ(c.default_memory_per_cpu, Mebibytes{100});
  EXPECT_EQ(expand_node_path(c.agent_spool_pattern, "n1", "vm"), "/s/n1");
  EXPECT_EQ(c.cluster_key_file, "/var/spool/cluster.key");
  EXPECT_EQ(c.node_key_file, "/etc/slurm/millrace.key");
}

TEST(SlurmConf, Continuation_joins_lines_as_they_are) {
  const auto lines = split_conf_text("NodeName=a \\\n  CPUs=4\nX=1", "f");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].pairs.size(), 2u);
  EXPECT_EQ(lines[0].line, 1);
  EXPECT_EQ(lines[1].line, 3);
}

TEST(SlurmConf, Expands_nodes_and_applies_defaults) {
  const auto report = parse(
      "SlurmdPort=7000\nGresTypes=gpu\nNodeName=DEFAULT RealMemory=4000 Feature=big,fast\n"
      "NodeName=c[1-2] NodeHostname=vm Port=[37001-37002] CPUs=8 Gres=gpu:2\n"
      "NodeName=d1 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 State=DRAIN Reason=\"being mended\"\n"
      "NodeSet=fast Feature=fast\nDownNodes=c2 Reason=broken\n"
      "PartitionName=DEFAULT MaxTime=30\nPartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED\n"
      "PartitionName=some Nodes=fast OverSubscribe=FORCE:2 AllowGroups=staff\n");
  ASSERT_TRUE(report.errors.empty()) << report.errors[0];
  const Configuration& c = report.configuration;
  ASSERT_EQ(c.nodes.size(), 3u);
  EXPECT_EQ(c.nodes[1].port, 37002);
  EXPECT_EQ(c.nodes[1].host_name, "vm");
  EXPECT_EQ(c.nodes[0].sockets, 8u);
  EXPECT_EQ(c.nodes[1].state, ConfiguredNodeState::down);
  EXPECT_EQ(c.nodes[1].reason, "broken");
  EXPECT_EQ(c.nodes[2].cpus, 16u);
  EXPECT_EQ(c.nodes[2].port, 7000);
  EXPECT_EQ(c.nodes[2].reason, "being mended");
  ASSERT_EQ(c.partitions.size(), 2u);
  EXPECT_EQ(c.partitions[0].nodes.size(), 3u);
  EXPECT_FALSE(c.partitions[0].max_time_minutes);
  EXPECT_EQ(c.partitions[1].max_time_minutes, 30u);
  EXPECT_EQ(c.partitions[1].sharing, Sharing::force);
  EXPECT_EQ(c.partitions[1].allow_groups, "staff");
}

TEST(SlurmConf, Collects_what_it_does_not_know_or_do) {
  const auto report = parse(
      "NoSuchKey=1\nBurstBufferType=x\nPriorityFlags=MAX_TRES,INCR_ONLY\nPriorityWeightQOS=0\nNodeName=a CpuBind=core "
      "Colour=red\n");
  ASSERT_TRUE(report.errors.empty()) << report.errors[0];
  ASSERT_EQ(report.configuration.unknown.size(), 2u);
  EXPECT_EQ(report.configuration.unknown[0].key, "NoSuchKey");
  EXPECT_EQ(report.configuration.unknown[0].line, 3);
  EXPECT_EQ(report.configuration.unknown[1].key, "Colour");
  ASSERT_EQ(report.configuration.not_built.size(), 3u);
  EXPECT_EQ(report.configuration.not_built[0].key, "BurstBufferType");
  EXPECT_EQ(report.configuration.not_built[1].key, "PriorityFlags=INCR_ONLY");
  EXPECT_EQ(report.configuration.not_built[1].text, "not built yet");
  EXPECT_EQ(report.configuration.not_built[1].line, 5);
}

TEST(SlurmConf, Preemption_by_suspending_needs_gang) {
  const auto good = parse(
      "PreemptMode=GANG,Suspend\nSchedulerTimeSlice=5\nNodeName=a\nPartitionName=p Nodes=a PreemptMode=SUSPEND "
      "OverSubscribe=YES\n");
  ASSERT_TRUE(good.errors.empty()) << good.errors[0];
  EXPECT_TRUE(good.configuration.gang);
  EXPECT_EQ(good.configuration.preempt_mode, PreemptMode::suspend);
  EXPECT_EQ(good.configuration.time_slice, seconds(5));
  EXPECT_EQ(good.configuration.partitions[0].preempt_mode, PreemptMode::suspend);
  EXPECT_EQ(good.configuration.partitions[0].share_count, 4u);
  const auto complains = [&](const char* text, const char* about) {
    const auto report = parse(text);
    return !report.errors.empty() && report.errors[0].find(about) != std::string::npos;
  };
  EXPECT_TRUE(complains("PreemptMode=SUSPEND\nNodeName=a\nPartitionName=p Nodes=a\n", "SUSPEND,GANG would be right"));
  EXPECT_TRUE(complains("PreemptMode=CANCEL\nNodeName=a\nPartitionName=p Nodes=a PreemptMode=SUSPEND\n", "needs GANG"));
  EXPECT_TRUE(complains("PreemptMode=CANCEL,REQUEUE\nNodeName=a\nPartitionName=p Nodes=a\n", "two things at once"));
}

TEST(SlurmConf, Wrong_values_name_file_line_and_what_would_be_right) {
  const auto report = parse(
      "KillWait=soon\nSchedulerType=sched/magic\nNodeName=a CPUs=none\nNodeName=b\nNodeName=b\n"
      "PartitionName=p Nodes=zz\njust words\n");
  ASSERT_EQ(report.errors.size(), 6u);
  EXPECT_EQ(report.errors[0], "/etc/slurm/slurm.conf:3: KillWait: 'soon' is not a time, as in 120 or 1-00:00:00");
  EXPECT_EQ(report.errors[1],
            "/etc/slurm/slurm.conf:4: SchedulerType: 'sched/magic' is not known, sched/backfill or sched/builtin would "
            "be right");
  EXPECT_EQ(report.errors[2],
            "/etc/slurm/slurm.conf:5: NodeName=a CPUs: 'none' is wrong, a number of at least 1 would be right");
  EXPECT_EQ(report.errors[3], "/etc/slurm/slurm.conf:7: NodeName=b: node b was defined before; each node has one line");
  EXPECT_EQ(report.errors[4], "/etc/slurm/slurm.conf:9: expected Key=Value, found 'just words'");
  EXPECT_EQ(report.errors[5],
            "/etc/slurm/slurm.conf:8: PartitionName=p Nodes: node zz is not defined by any NodeName line");
}

TEST(SlurmConf, Reads_weights_limits_and_what_a_job_costs) {
  const auto report = parse(
      "PriorityWeightFairShare=10000\nPriorityDecayHalfLife=14-0\nPriorityMaxAge=1-0\nPriorityCalcPeriod="
      "2\nPriorityFavorSmall=YES\n"
      "PriorityWeightTRES=CPU=1000,Mem=2000,GRES/"
      "gpu=3000\nPriorityUsageResetPeriod=MONTHLY\nPriorityFlags=NO_FAIR_TREE,MAX_TRES\n"
      "AccountingStorageEnforce=safe,qos\nAccountingStorageTRES=gres/gpu,gres/gpu:a100,license/fluent\n"
      "NodeName=a\nPartitionName=p Nodes=a QOS=part AllowQos=normal,high "
      "TRESBillingWeights=\"CPU=1.0,Mem=0.25G,GRES/gpu=2\"\n");
  ASSERT_TRUE(report.errors.empty()) << report.errors[0];
  EXPECT_TRUE(report.configuration.not_built.empty());
  const PriorityPolicy& p = report.configuration.priority;
  EXPECT_EQ(p.fairshare, 10000u);
  EXPECT_EQ(p.half_life_seconds, 14u * 86400);
  EXPECT_EQ(p.max_age_seconds, 86400u);
  EXPECT_EQ(p.calc_period_seconds, 120u);
  EXPECT_TRUE(p.favor_small);
  ASSERT_EQ(p.tres.size(), 3u);
  EXPECT_EQ(p.tres[2], (TresWeight{"gres/gpu", 3'000'000'000'000, 1}));
  EXPECT_EQ(p.reset, ResetPeriod::monthly);
  EXPECT_EQ(p.flags, priority_no_fair_tree | priority_max_tres);
  EXPECT_EQ(report.configuration.enforce, enforce_associations | enforce_limits | enforce_qos | enforce_safe);
  EXPECT_EQ(report.configuration.tres, (std::vector<std::string>{"gres/gpu:a100", "license/fluent"}));
  const ConfiguredPartition& partition = report.configuration.partitions.at(0);
  EXPECT_EQ(partition.qos, "part");
  ASSERT_EQ(partition.billing_weights.size(), 3u);
  EXPECT_EQ(partition.billing_weights[1], (TresWeight{"mem", 250'000'000, 1024}));  // a quarter for each 1024 MiB
}

TEST(SlurmConf, Wrong_weights_and_limits_say_what_would_be_right) {
  const auto report = parse(
      "PriorityFlags=SIDEWAYS\nAccountingStorageEnforce=most\nPriorityWeightTRES=Tea=4\nPriorityUsageResetPeriod="
      "HOURLY\n"
      "NodeName=a\nPartitionName=p Nodes=a TRESBillingWeights=CPU=lots\n");
  ASSERT_EQ(report.errors.size(), 5u);
  EXPECT_NE(report.errors[0].find("'SIDEWAYS' is not a flag"), std::string::npos);
  EXPECT_NE(report.errors[1].find("associations, limits, qos, safe"), std::string::npos);
  EXPECT_NE(report.errors[2].find("'tea' is not a trackable resource"), std::string::npos);
  EXPECT_NE(report.errors[3].find("MONTHLY"), std::string::npos);
  EXPECT_NE(report.errors[4].find("'lots' is not a weight of cpu, 2.0 would be"), std::string::npos);
}

TEST(SlurmConf, Needs_a_cluster_and_a_controller) {
  const auto report = parse_configuration_text("", "s.conf");
  ASSERT_EQ(report.errors.size(), 2u);
}

TEST(SlurmConf, Puts_a_cpu_count_right_that_fits_no_level) {
  const auto report = parse("NodeName=a CPUs=5 Sockets=1 CoresPerSocket=2 ThreadsPerCore=2\n");
  ASSERT_TRUE(report.errors.empty());
  EXPECT_EQ(report.configuration.nodes[0].cpus, 4u);
  EXPECT_EQ(report.configuration.adjusted.size(), 1u);
}

TEST(ConfigKeys, Are_unique_and_accept_their_own_defaults) {
  for (const ConfigKey& key : config_keys()) {
    EXPECT_EQ(find_config_key(key.name), &key) << key.name;
    if (key.fallback.empty()) continue;
    EXPECT_TRUE(check_kind(key, key.fallback)) << key.name;
  }
}

TEST(ShowConfig, Prints_units_and_defaults) {
  const auto report = parse("KillWait=5\nSlurmdTimeout=300\n");
  const auto shown = show_config(report.configuration, {"2026-11-15T07:12:04", 95, 0, "26.11.0"});
  const auto value = [&](std::string_view key) {
    for (const auto& [name, text] : shown)
      if (name == key) return text;
    return std::string{"missing"};
  };
  EXPECT_EQ(value("KillWait"), "5 sec");
  EXPECT_EQ(value("NEXT_JOB_ID"), "95");
  EXPECT_EQ(value("PriorityDecayHalfLife"), "7-00:00:00");
  EXPECT_EQ(value("PriorityCalcPeriod"), "00:05:00");
  EXPECT_EQ(value("SlurmctldHost[0]"), "vm(127.0.0.1)");
  EXPECT_EQ(value("SelectTypeParameters"), "CR_CORE_MEMORY");
  EXPECT_EQ(value("SuspendTime"), "INFINITE");
  EXPECT_EQ(value("Prolog"), "missing");
}

TEST(SlurmConf, Names_partition_keys_that_have_no_effect_yet_but_not_those_that_ask_nothing) {
  const auto report = parse(
      "NodeName=q1\nPartitionName=q Nodes=q1 OverSubscribe=FORCE:2 AllowQos=ALL MaxCPUsPerNode=4 LLN=YES "
      "MaxCPUsPerSocket=2 AllocNodes=x\n");
  EXPECT_TRUE(report.errors.empty());
  std::vector<std::string> named;
  for (const auto& note : report.configuration.not_built) named.push_back(note.key);
  EXPECT_EQ(named, (std::vector<std::string>{"MaxCPUsPerSocket"}));
  EXPECT_EQ(report.configuration.partitions.front().max_cpus_per_node, 4u);
  EXPECT_TRUE(report.configuration.partitions.front().least_loaded);
  EXPECT_TRUE(parse("NodeName=q1\nPartitionName=q Nodes=q1 OverSubscribe=EXCLUSIVE\n").configuration.not_built.empty());
}

TEST(SlurmConf, A_plugin_that_is_none_asks_for_nothing) {
  const auto report = parse(
      "SwitchType=switch/none\nJobCompType=jobcomp/none\nMCSPlugin=mcs/none\nAccountingStorageType=accounting_storage/"
      "none\n"
      "AcctGatherEnergyType=acct_gather_energy/none\nNodeName=a\n");
  EXPECT_TRUE(report.errors.empty());
  EXPECT_TRUE(report.configuration.not_built.empty()) << report.configuration.not_built.front().key;
  EXPECT_EQ(parse("SwitchType=switch/hpe_slingshot\nNodeName=a\n").configuration.not_built.size(), 1u);
}

TEST(SlurmConf, Words_of_SelectTypeParameters_are_kept_or_named) {
  const auto report = parse(
      "SelectTypeParameters=CR_Core,CR_LLN,CR_ONE_TASK_PER_CORE,ENFORCE_BINDING_GRES,CR_Pack_Nodes,LL_SHARED_"
      "GRES\nNodeName=a\n");
  EXPECT_TRUE(report.errors.empty());
  const Configuration& read = report.configuration;
  EXPECT_TRUE(read.least_loaded && read.one_task_per_core && read.enforce_gres_binding);
  ASSERT_EQ(read.not_built.size(), 1u);
  EXPECT_EQ(read.not_built.front().key, "SelectTypeParameters=LL_SHARED_GRES");
}

TEST(SlurmConf, Reads_the_programs_around_jobs_and_nodes) {
  const auto report = parse(
      "Prolog=/etc/a\nProlog=b.d/*\nEpilog=/etc/c\nPrologSlurmctld=/etc/d\nPrologEpilogTimeout=20\nEpilogTimeout=30\n"
      "PrologFlags=Alloc,ForceRequeueOnFail,Contain\nSchedulerParameters=nohold_on_prolog_fail\nHealthCheckNodeState="
      "IDLE,CYCLE\n"
      "HealthCheckProgram=/etc/"
      "e\nHealthCheckInterval=60\nSlurmdParameters=config_overrides\nResumeTimeout=600\nNodeName=a\n");
  EXPECT_TRUE(report.errors.empty());
  const NodeLifeSettings& life = report.configuration.node_life;
  ASSERT_EQ(life.prolog.size(), 2u);
  EXPECT_EQ(life.prolog[0], "/etc/a");
  EXPECT_TRUE(life.prolog[1].ends_with("b.d/*"));
  EXPECT_EQ(life.controller_prolog, std::vector<std::string>{"/etc/d"});
  EXPECT_EQ(life.prolog_limit, seconds(20));
  EXPECT_EQ(life.epilog_limit, seconds(30));
  EXPECT_TRUE(life.requeue_on_prolog_failure && !life.hold_on_prolog_failure && life.config_overrides);
  EXPECT_TRUE(life.check_idle && !life.check_busy);
  EXPECT_EQ(life.resume_timeout, seconds(600));
  std::vector<std::string> later;
  for (const auto& note : report.configuration.not_built) later.push_back(note.key);
  EXPECT_EQ(later, (std::vector<std::string>{"PrologFlags=Contain", "HealthCheckNodeState=CYCLE"}));
  EXPECT_EQ(parse("PrologFlags=Shiny\nNodeName=a\n").errors.size(), 1u);
  EXPECT_EQ(parse("HealthCheckProgram=check\nNodeName=a\n").errors.size(), 1u);
  EXPECT_EQ(parse("HealthCheckNodeState=SICK\nNodeName=a\n").errors.size(), 1u);
}

TEST(SlurmConf, Reads_power_saving) {
  const std::string both = "SuspendProgram=/etc/down\nResumeProgram=/etc/up\n";
  const auto report = parse(both +
                            "SuspendTime=600\nSuspendTimeout=20\nSuspendRate=0\nResumeRate=7\nSuspendExcNodes=a[1-2],"
                            "a3:2,b1\nSuspendExcParts=q\n"
                            "SuspendExcStates=DOWN,DRAIN\nPrivateData=cloud\nMaxNodeCount=50\nNodeName=a[1-3]"
                            "\nNodeName=b1 State=CLOUD SuspendTime=-1 Feature=f\n"
                            "NodeSet=s Feature=f\nPartitionName=q Nodes=s,a1 SuspendTime=INFINITE ResumeTimeout=900 "
                            "PowerDownOnIdle=YES\nPartitionName=all Nodes=ALL\n");
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
  EXPECT_TRUE(report.configuration.not_built.empty());
  const PowerSettings& power = report.configuration.power;
  EXPECT_EQ(power.suspend_seconds, 600u);
  EXPECT_EQ(power.suspend_timeout_seconds, 20u);
  EXPECT_EQ(power.suspend_rate, 0u);
  EXPECT_EQ(power.resume_rate, 7u);
  ASSERT_EQ(power.keep_up.size(), 2u);
  EXPECT_EQ(power.keep_up[0].nodes, (std::vector<std::string>{"a1", "a2", "a3"}));
  EXPECT_EQ(power.keep_up[0].count, 2u);
  EXPECT_EQ(power.keep_up[1].count, unlimited_count);
  EXPECT_EQ(power.except_partitions, std::vector<std::string>{"q"});
  EXPECT_TRUE(power.show_cloud);
  EXPECT_EQ(report.configuration.nodes[3].suspend_seconds, unlimited_count);
  const ConfiguredPartition& q = report.configuration.partitions[0];
  EXPECT_EQ(q.node_features, std::vector<std::string>{"f"});
  EXPECT_TRUE(q.power_down_on_idle && !q.all_nodes && report.configuration.partitions[1].all_nodes);
  EXPECT_EQ(q.resume_timeout_seconds, 900u);
  EXPECT_EQ(parse(both + "SuspendExcNodes=x\nNodeName=a\n").errors.size(), 1u);
  EXPECT_EQ(parse(both + "SuspendExcStates=SHINY\nNodeName=a\n").errors.size(), 1u);
  EXPECT_EQ(parse("SuspendProgram=down\nResumeProgram=/etc/up\nNodeName=a\n").errors.size(), 1u) << "not absolute";
}

TEST(SlurmConf, Reads_time_beyond_limits) {
  const auto report = parse(
      "OverTimeLimit=5\nNodeName=a\nPartitionName=p Nodes=a\nPartitionName=q Nodes=a OverTimeLimit=0\nPartitionName=r "
      "Nodes=a OverTimeLimit=UNLIMITED\n");
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
  EXPECT_TRUE(report.configuration.not_built.empty());
  EXPECT_EQ(report.configuration.over_time_minutes, 5u);
  EXPECT_FALSE(report.configuration.partitions[0].over_time_minutes);
  EXPECT_EQ(report.configuration.partitions[1].over_time_minutes, 0u);
  EXPECT_EQ(report.configuration.partitions[2].over_time_minutes, unlimited_count);
  EXPECT_EQ(parse("OverTimeLimit=UNLIMITED\nNodeName=a\n").configuration.over_time_minutes, unlimited_count);
  EXPECT_TRUE(parse("ScronParameters=enable,explicit_scancel\nNodeName=a\n").configuration.crontabs);
  EXPECT_FALSE(parse("ScronParameters=explicit_scancel\nNodeName=a\n").configuration.crontabs);
  EXPECT_FALSE(parse("ScronParameters=enabled\nNodeName=a\n").errors.empty());
  EXPECT_EQ(parse("OverTimeLimit=70000\nNodeName=a\n").errors.size(), 1u);
  EXPECT_EQ(parse("NodeName=a\nPartitionName=p Nodes=a OverTimeLimit=soon\n").errors.size(), 1u);
}

TEST(SlurmConf, Reads_what_is_kept_for_the_system) {
  const auto report = parse(
      "NodeName=a Sockets=2 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=1000 CoreSpecCount=1 "
      "MemSpecLimit=200\nNodeName=b CPUs=4 CPUSpecList=0,3\nNodeName=c CPUs=2\n");
  ASSERT_TRUE(report.errors.empty()) << report.errors.front();
  EXPECT_TRUE(report.configuration.not_built.empty());
  EXPECT_EQ(report.configuration.nodes[0].withheld_cpus, std::vector<std::uint64_t>{0b1100'0000});
  EXPECT_EQ(report.configuration.nodes[0].withheld_memory, Mebibytes{200});
  EXPECT_EQ(report.configuration.nodes[1].withheld_cpus, std::vector<std::uint64_t>{0b1001});
  EXPECT_TRUE(report.configuration.nodes[2].withheld_cpus.empty());
  EXPECT_EQ(parse("NodeName=a CPUs=4 CoreSpecCount=1 CPUSpecList=0\n").errors.size(), 1u) << "they exclude each other";
  EXPECT_EQ(parse("NodeName=a CPUs=4 CoreSpecCount=4\n").errors.size(), 1u) << "nothing is left";
  EXPECT_EQ(parse("NodeName=a CPUs=4 CPUSpecList=4\n").errors.size(), 1u);
  EXPECT_EQ(parse("NodeName=a CPUs=4 RealMemory=100 MemSpecLimit=100\n").errors.size(), 1u);
  EXPECT_EQ(parse("SelectTypeParameters=CR_Socket\nNodeName=a CPUs=4 CoreSpecCount=1\n").errors.size(), 1u);
}

TEST(SlurmConf, Reads_private_data_and_launch_parameters) {
  EXPECT_EQ(
      format_ranges(
          parse("MpiParams=ports=12000-12019,disable_slurm_hydra_bootstrap\nAllowSpecResourcesUsage=yes\nNodeName=a\n")
              .configuration.reserved_ports),
      "12000-12019");
  for (const char* wrong :
       {"MpiParams=ports=0-0\nNodeName=a\n", "MpiParams=port=1-2\nNodeName=a\n", "MpiParams=ports=5-1\nNodeName=a\n"})
    EXPECT_FALSE(parse(wrong).errors.empty()) << wrong;
  const auto report = parse(
      "PrivateData=jobs,Usage,cloud\nLaunchParameters=use_interactive_step,test_exec\nInactiveLimit=120\nSrunPortRange="
      "60001-60010\nNodeName=a\n");
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
  EXPECT_EQ(report.configuration.private_data, private_jobs | private_usage);
  EXPECT_TRUE(report.configuration.power.show_cloud);
  EXPECT_EQ(report.configuration.inactive_limit, seconds(120));
  ASSERT_EQ(report.configuration.not_built.size(), 1u);
  EXPECT_EQ(report.configuration.not_built[0].key, "LaunchParameters=test_exec");
  EXPECT_EQ(parse("PrivateData=everything\nNodeName=a\n").errors.size(), 1u)
      << "who misspells a secret must hear of it";
  EXPECT_EQ(parse("SrunPortRange=70000-70001\nNodeName=a\n").errors.size(), 1u);
  EXPECT_EQ(parse("SrunPortRange=9-3\nNodeName=a\n").errors.size(), 1u);
}

TEST(SlurmConf, Power_saving_without_its_programs_is_off_and_said) {
  const std::string cluster = "ClusterName=c\nSlurmctldHost=h\nNodeName=n1 CPUs=2\n";
  for (const char* more : {"SuspendTime=300\nPartitionName=p Nodes=n1\n",
                           "SuspendProgram=/bin/off\nPartitionName=p Nodes=n1 SuspendTime=60\n"}) {
    const auto report = parse_configuration_text(cluster + more, "f");
    EXPECT_TRUE(report.errors.empty()) << report.errors[0];
    ASSERT_EQ(report.configuration.adjusted.size(), 1u);
    EXPECT_NE(report.configuration.adjusted[0].text.find("no node is powered down"), std::string::npos);
    EXPECT_TRUE(report.configuration.power.suspend_program.empty());
    EXPECT_FALSE(report.configuration.partitions[0].suspend_seconds);
  }
}

TEST(SlurmConf, A_place_of_records_is_judged_by_their_type) {
  const std::string cluster = "ClusterName=c\nSlurmctldHost=h\nNodeName=n1 CPUs=2\nPartitionName=p Nodes=n1\n";
  EXPECT_TRUE(parse_configuration_text(
                  cluster + "JobCompLoc=http://es:9200/slurm/_doc\nJobCompType=jobcomp/elasticsearch\n", "f")
                  .errors.empty());
  const auto wrong = parse_configuration_text(cluster + "JobCompLoc=here\nJobCompType=jobcomp/script\n", "f");
  ASSERT_EQ(wrong.errors.size(), 1u);
  EXPECT_EQ(wrong.errors[0],
            "f: JobCompType=jobcomp/script needs JobCompLoc, the absolute name of a program: 'here' is wrong");
}

TEST(SlurmConf, Included_files_may_be_named_after_the_cluster) {
  char name[] = "/tmp/mr_include_XXXXXX";
  const std::string folder = std::string{mkdtemp(name)} + "/";
  std::ofstream(folder + "slurm.conf") << "ClusterName=Big\nInclude %c.conf\n";
  std::ofstream(folder + "big.conf") << "NodeName=n1 CPUs=2\n";
  const auto lines = read_conf_lines(folder + "slurm.conf");
  ASSERT_TRUE(lines) << lines.error().story;
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ((*lines)[1].pairs[0].value, "n1");
  std::filesystem::remove_all(folder);
}

TEST(ClientSettings, Say_how_salloc_and_srun_go_about) {
  const auto plain = parse_client_settings("ClusterName=c\n", "f");
  EXPECT_FALSE(plain.use_interactive_step);
  EXPECT_EQ(plain.interactive_step_options, "--interactive --preserve-env --pty $SHELL");
  const auto settings = parse_client_settings(
      "LaunchParameters=a,use_interactive_step\nInteractiveStepOptions=\"--interactive --pty "
      "sh\"\nSrunPortRange=60001-60010\n",
      "f");
  EXPECT_TRUE(settings.use_interactive_step);
  EXPECT_EQ(settings.interactive_step_options, "--interactive --pty sh");
  EXPECT_EQ(settings.first_port, 60001);
  EXPECT_EQ(settings.last_port, 60010);
}

TEST(SlurmConf, Reads_nodes_that_slurm_conf_does_not_name) {
  const auto nodes = configured_nodes("x[1-2]", "CPUs=4 RealMemory=100 Gres=gpu:2 Feature=f State=CLOUD");
  ASSERT_TRUE(nodes) << nodes.error().story;
  ASSERT_EQ(nodes->size(), 2u);
  EXPECT_EQ((*nodes)[1].name, "x2");
  EXPECT_EQ((*nodes)[1].kinds.size(), 1u);
  EXPECT_FALSE(configured_nodes("x", "Cpuss=4"));
  EXPECT_FALSE(configured_nodes("x", "State=DOWN"));
  EXPECT_FALSE(configured_nodes("", "CPUs=4"));
  EXPECT_FALSE(configured_nodes("x", "CPUs=4\nNodeName=y"));
  EXPECT_FALSE(configured_nodes("DEFAULT", "CPUs=4"));
}

TEST(ClientSettings, The_socket_is_that_of_the_cluster_that_is_named) {
  const auto one = parse_client_settings("ClusterName=One\nSlurmctldPort=7001\n", "f");
  EXPECT_EQ(one.socket_path, "/run/millrace/one/controller.sock");
  EXPECT_EQ(one.controller_port, 7001);
  EXPECT_EQ(parse_client_settings("ClusterName=two\n", "f").socket_path, "/run/millrace/two/controller.sock");
  EXPECT_EQ(parse_client_settings("ClusterName=../x\n", "f").socket_path, "/run/millrace/_.._x/controller.sock");
  const std::string longest(cluster_name_max, 'n');
  EXPECT_LE((default_socket_path(longest) + ".relay.new").size(), 107u);
  EXPECT_EQ(parse("ClusterName=" + longest + "\n").errors.size(), 0u);
  EXPECT_EQ(parse("ClusterName=" + longest + "n\n").errors.size(), 1u);
  EXPECT_EQ(parse("ClusterName=..\n").errors.size(), 1u);
}

TEST(ClientSettings, Finds_its_few_lines_and_ignores_the_rest) {
  const auto settings = parse_client_settings(
      "# AuthInfo=socket=/no\nNodeName=a[1-9999] CPUs=4\n clustername=Big\nauthinfo=x=1,socket=/run/a.sock # "
      "here\nMessageTimeout=3\n",
      "f");
  EXPECT_EQ(settings.socket_path, "/run/a.sock");
  EXPECT_EQ(settings.cluster_name, "big");
  EXPECT_EQ(settings.message_timeout_seconds, 3);
}

}  // namespace
}  // namespace millrace
