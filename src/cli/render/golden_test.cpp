// src/cli/render/golden_test.cpp - our output against recordings of a real Slurm, and against our own fixtures.
#include "base/index_set.h"
#include "cli/render/golden_cluster.h"
#include "cli/render/step_columns.h"
#include "config/show_config.h"
#include "config/slurm_conf.h"

namespace millrace {
namespace {

TEST_F(Golden, Squeue_default_and_long) {
  compare("squeue.txt", queue(squeue_default_format));
  compare("squeue-l.txt", format_date_line(context_.now_us) + "\n" + queue(squeue_long_format));
}

TEST_F(Golden, Squeue_one_line_per_task) {
  std::vector<JobRow> list;
  for (const JobRow& row : rows()) {
    const auto tasks = parse_index_set(
        std::string_view{row.job->array_tasks()}.substr(0, row.job->array_tasks().find('%')), UINT32_MAX);
    if (tasks && row.job->array_job_id() != 0 && !row.job->has_array_task())
      tasks->for_each([&](std::uint32_t task) { list.push_back({row.job, task, &context_}); });
    else
      list.push_back(row);
  }
  std::vector<std::string> unknown;
  compare("squeue-r.txt",
          render_jobs(list, parse_long_format(std::string_view{squeue_default_format}, job_columns(), unknown), true));
}

TEST_F(Golden, Squeue_every_letter) {
  std::string theirs = recorded("squeue-array-o.txt"), unknown;
  // What is an id of theirs: the SLUID.
  const std::string format =
      "%i|%F|%K|%A|%t|%T|%r|%R|%S|%e|%l|%L|%M|%Q|%p|%q|%a|%b|%C|%D|%m|%k|%Z|%o|%B|%u|%U|%g|%G|%v|%w|%W|%X|%y|%Y|%z|%f|%"
      "E|%h|%H|%I|%J|%N|%n|%x|%O|%P|%j|%s|%c|%d|%V";
  for (std::size_t at = 0; (at = theirs.find("|s2YHM", at)) != std::string::npos;)
    theirs.replace(at, 15, "|s0000000000000");
  compare("squeue-array-o.txt",
          render_jobs(rows(), parse_short_format(std::string_view{format}, job_columns(), unknown), false), theirs);
  EXPECT_EQ(unknown, "");
}

TEST_F(Golden, Squeue_start) {
  std::string unknown;
  std::vector<JobRow> list = {rows()[2], rows()[1], rows()[0]};
  sort_jobs(list, "S", unknown);
  compare("squeue-start.txt",
          render_jobs(list, parse_short_format(std::string_view{squeue_start_format}, job_columns(), unknown), true));
}

TEST_F(Golden, Squeue_with_a_name_that_is_no_column) {
  std::vector<std::string> unknown;
  const auto format = parse_long_format<JobRow>("ALL", job_columns(), unknown);
  std::string ours;
  for (const std::string& name : unknown) ours += "squeue: error: Invalid job format specification: " + name + '\n';
  compare("squeue-ALL.txt", ours + render_jobs({rows()[3]}, format, true));
}

TEST_F(Golden, Steps) {
  const std::vector<wire::StepView> views = steps();
  const StepContext context{at("07:22:28"), "clientsnew", &names_};
  std::vector<StepRow> list;
  for (const std::size_t i : {0u, 2u, 1u, 3u}) list.push_back({&views[i], &context});
  std::string letters, records;
  compare("squeue-s.txt",
          render_steps(list, parse_short_format<StepRow>(squeue_steps_format, step_columns(), letters), true));
  for (const wire::StepView& step : views) records += show_step_record(step, false);
  compare("scontrol-show-step.txt", records);
}

TEST_F(Golden, Sinfo_without_any_node) {
  nodes_.clear();
  compare("sinfo-R.txt", sinfo({.reasons = true}));
  partitions_.resize(1);
  compare("sinfo-dp.txt", sinfo({}));
}

TEST_F(Golden, Sinfo_views) {
  compare("sinfo.txt", sinfo({}));
  compare("sinfo-s.txt", sinfo({.summarize = true}));
  compare("sinfo-l.txt", format_date_line(context_.now_us) + "\n" + sinfo({.long_form = true}));
  compare("sinfo-N.txt", format_date_line(context_.now_us) + "\n" + sinfo({.per_node = true, .long_form = true}));
  compare("sinfo-O.txt", sinfo({.per_node = true}, "NodeList,AllocMem,Memory,CPUsState,StateLong"));
}

TEST_F(Golden, Sinfo_every_letter) {
  const std::string format =
      "%a|%A|%b|%B|%c|%C|%d|%D|%e|%E|%f|%F|%g|%G|%h|%H|%I|%l|%L|%m|%M|%n|%N|%o|%O|%p|%P|%r|%R|%s|%S|%t|%T|%u|%U|%v|%w|%"
      "X|%Y|%z|%Z";
  compare("sinfo-o.txt", sinfo({}, format));
}

TEST_F(Golden, Show_job_records) {
  compare("scontrol-show-job-running.txt", show(jobs_[3], "07:22:26"));
  compare("scontrol-show-job-o.txt", show(jobs_[3], "07:22:27", {.one_line = true}));
  compare("scontrol-show-job-held.txt", show(jobs_[2], "07:22:27"));
  compare("scontrol-show-job-dep.txt", show(jobs_[1], "07:22:27"));
  compare("scontrol-show-job-failed.txt", show(failed_, "07:22:27"));
  compare("scontrol-show-job-array.txt",
          show(jobs_[0], "07:22:27") + show(jobs_[6], "07:22:27") + show(jobs_[4], "07:22:27"));
  wire::JobView gpu = jobs_[5];
  gpu.set_submit_line(
      "sbatch --parsable --gres=gpu:1 -t 5 --mem 50 -o /tmp/golden.8Ni8/gpu.out --wrap env | grep -E "
      "\"CUDA|GPU|SLURM_JOB_GPUS|ROCR\" | sort; sleep 15");
  gpu.set_std_out("/tmp/golden.8Ni8/gpu.out");
  compare("scontrol-show-job-gres.txt", show(gpu, "07:22:27"));
  wire::JobView cancelled = jobs_[3];
  cancelled.set_state(wire::CANCELLED);
  cancelled.set_exit_signal(15);
  cancelled.set_end_at_us(at("07:22:35"));
  compare("scontrol-show-job-cancelled.txt", show(cancelled, "07:22:40"));
  wire::JobView bound = jobs_[3];
  bound.add_cpu_ids_per_allocated_node("0-1");
  bound.add_cpu_ids_per_allocated_node("0-1");
  std::string theirs = recorded("scontrol-show-job-dd.txt");
  replace_all(theirs, "s2YHM7F1BTHA00", "s0000000000000");
  compare("scontrol-show-job-dd.txt", show(bound, "07:22:27", {.detail = 2}), theirs);
}

TEST_F(Golden, Show_node_and_partition_records) {
  compare("scontrol-show-node.txt", show_node(nodes_[0], names_, {}));
  std::string all;
  for (const auto& node : nodes_) all += show_node(node, names_, {.one_line = true});
  compare("scontrol-show-nodes-o.txt", all);
  std::string wide, narrow;
  for (const auto& partition : partitions_)
    wide += show_partition(partition, {.one_line = true}), narrow += show_partition(partition, {});
  compare("scontrol-show-part-o.txt", wide);
  compare("scontrol-show-part.txt", narrow);
}

TEST_F(Golden, Show_config) {
  const auto report = parse_configuration_text(
      "ClusterName=clientsnew\nSlurmctldHost=vm(127.0.0.1)\nSlurmctldPort=36817\nSlurmdPort="
      "36818\nAccountingStorageHost=127.0.0.1\n"
      "AccountingStoragePort=36819\nAccountingStorageTRES=cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu,gres/"
      "gpumem,gres/gpuutil\n"
      "AccountingStorageType=accounting_storage/"
      "slurmdbd\nAccountingStoreFlags=job_comment,job_script\nAuthAltTypes=auth/jwt\n"
      "AuthAltParameters=jwt_key=/etc/slurm/jwt.key\nDefMemPerCPU=100\nGresTypes=gpu\nJobAcctGatherFrequency=2\n"
      "JobAcctGatherType=jobacct_gather/linux\nKillWait=5\nMaxArraySize=10001\nProctrackType=proctrack/"
      "linuxproc\nReturnToService=2\n"
      "SchedulerParameters=bf_interval=2,sched_interval=2,batch_sched_delay=0\nSelectTypeParameters=CR_CPU_Memory\n"
      "SlurmctldLogFile=/etc/slurm/var/log/slurmctld.log\nSlurmdLogFile=/etc/slurm/var/log/slurmd.%n.log\n"
      "SlurmdParameters=config_overrides\nSlurmdPidFile=/etc/slurm/var/run/slurmd.%n.pid\nSlurmdSpoolDir=/etc/slurm/"
      "var/spool/%n\n"
      "SlurmctldPidFile=/etc/slurm/var/run/slurmctld.pid\nStateSaveLocation=/etc/slurm/var/state\nTmpFS=/tmp/cln-%n\n"
      "NodeName=c[1-4] NodeHostname=vm Port=[37001-37004] CPUs=8 RealMemory=4000\nPartitionName=main Nodes=ALL\n",
      "/etc/slurm/slurm.conf");
  ASSERT_TRUE(report.errors.empty()) << report.errors[0];
  wire::Config config;
  config.set_now_us(at("07:22:27"));
  for (const auto& [key, value] : show_config(report.configuration, {"2026-11-15T07:12:04", 95, 0, "26.11.0-0rc1"})) {
    auto* entry = config.add_entries();
    entry->set_key(key);
    entry->set_value(value);
  }
  compare("scontrol-show-config.txt", show_configuration(config) + "Slurmctld(primary) at vm is UP\n");
}

}  // namespace
}  // namespace millrace
