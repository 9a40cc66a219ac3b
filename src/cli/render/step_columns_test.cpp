// src/cli/render/step_columns_test.cpp - steps as squeue --steps, scontrol show step and sstat print them.
#include "cli/render/step_columns.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "cli/render/usage_fields.h"
#include "core/model/step.h"

namespace millrace {
namespace {

constexpr std::int64_t start_us = 1'794'727'341'000'000;

wire::StepView step(std::uint32_t job, std::uint32_t id, const char* name) {
  wire::StepView out;
  out.set_job_id(job);
  out.set_step(id);
  out.set_name(name);
  out.set_user_name("root");
  out.set_partition("main");
  out.set_nodes("c1");
  out.set_node_count(1);
  out.set_tasks(1);
  out.set_start_at_us(start_us);
  out.set_state(wire::RUNNING);
  return out;
}

TEST(StepColumns, Default_view_is_Slurms_and_sorted_by_job_and_step) {
  wire::StepView task_view = step(88, batch_step, "batch");
  task_view.set_array_job_id(87);
  task_view.set_array_task(1);
  const wire::StepView& task = task_view;
  const wire::StepView script = step(86, batch_step, "batch"), second = step(86, 10, "a long name"),
                       first = step(86, 2, "two");
  Names names;
  const StepContext context{start_us + 7'000'000, "test", &names};
  std::vector<StepRow> rows;
  for (const wire::StepView* each : {&task, &script, &second, &first}) rows.push_back({each, &context});
  std::string unknown, letters;
  sort_steps(rows, "P,i", unknown);
  EXPECT_TRUE(unknown.empty());
  EXPECT_EQ(render_steps(rows, parse_short_format<StepRow>(squeue_steps_format, step_columns(), letters), true),
            "         STEPID     NAME PARTITION     USER      TIME NODELIST\n"
            "           86.2      two      main     root      0:07 c1\n"
            "          86.10 a long n      main     root      0:07 c1\n"
            "       86.batch    batch      main     root      0:07 c1\n"
            "     87_1.batch    batch      main     root      0:07 c1\n");
  sort_steps(rows, "-i,x", unknown);
  EXPECT_EQ(unknown, "x");
  EXPECT_EQ(rows.back().step, &first);
}

TEST(StepColumns, Record_has_Slurms_lines) {
  setenv("TZ", "UTC", 1);
  tzset();
  EXPECT_EQ(show_step_record(step(86, batch_step, "batch"), false),
            "StepId=86.batch UserId=0 StartTime=2026-11-15T07:22:21 TimeLimit=UNLIMITED\n"
            "   State=RUNNING Partition=main NodeList=c1\n"
            "   Nodes=1 CPUs=0 Tasks=1 Name=batch Network=(null)\n"
            "   TRES=(null)\n"
            "   ResvPorts=(null)\n"
            "   CPUFreqReq=Default\n"
            "   SrunHost:Pid=(null):0\n\n");
  wire::StepView spread = step(9, 3, "a.out");
  spread.set_cpus(4);
  spread.set_memory_mib(2048);
  spread.set_srun_host("login");
  spread.set_srun_pid(77);
  spread.set_distribution("cyclic:block");
  const std::string line = show_step_record(spread, true);
  EXPECT_NE(line.find("CPUs=4 Tasks=1 Name=a.out Network=(null) TRES=cpu=4,mem=2G,node=1 ResvPorts=(null) "
                      "CPUFreqReq=Default Dist=Cyclic SrunHost:Pid=login:77\n"),
            std::string::npos)
      << line;
}

TEST(UsageFields, Are_summed_up_over_tasks_and_nodes) {
  wire::StepView view = step(5, 1, "work");
  wire::StepSamples samples;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    wire::StepSample& sample = *samples.add_samples();
    sample.set_job_id(5);
    sample.set_step(1);
    sample.set_node("n" + std::to_string(rank));
    wire::TaskSample& task = *sample.add_tasks();
    task.set_rank(rank);
    task.set_pid(100 + rank);
    task.set_running(true);
    task.set_user_us((rank + 1) * 3'600'000'000);
    task.set_max_rss_bytes(rank == 0 ? 4676 * 1024 : 1000);
    task.set_read_bytes(72121);
  }
  wire::StepSample& other = *samples.add_samples();  // of another step
  other.set_job_id(5);
  other.set_step(2);
  other.add_tasks()->set_max_rss_bytes(1 << 30);
  const auto fields = choose_fields(
      usage_fields(),
      "JobID,MaxRSS,MaxRSSNode,AveRSS,MinCPU,MinCPUTask,AveCPU,MaxDiskRead,Pids,TRESUsageInMax,MaxVMSize");
  ASSERT_TRUE(fields) << fields.error().story;
  EXPECT_EQ(render_fields(*fields, std::vector{sum_up(view, samples)}, {Parsable::without_end, false}),
            "5.1|4676K|n0|2394612|01:00:00|0|01:30:00|72121|100,101|cpu=02:00:00,energy=0,fs/"
            "disk=72121,mem=4676K,pages=0,vmem=0|0\n");
  EXPECT_TRUE(choose_fields(usage_fields(), sstat_default_fields));
  EXPECT_FALSE(choose_fields(usage_fields(), "Nonsense"));
}

}  // namespace
}  // namespace millrace
