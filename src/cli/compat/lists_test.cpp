// src/cli/compat/lists_test.cpp - jobs and nodes in the words of PBS and LSF.
#include <gtest/gtest.h>

#include "cli/compat/compat.h"
#include "cli/compat/lsf_lists.h"
#include "cli/compat/pbs_lists.h"
#include "cli/options/foreign_directives.h"

namespace millrace {
namespace {

wire::JobView job(wire::JobStateName state, const char* reason = "None") {
  wire::JobView out;
  out.set_job_id(12);
  out.set_name("a_long_name_of_a_job");
  out.set_partition("main");
  out.set_state(state);
  out.set_reason(reason);
  return out;
}

TEST(Compat, States_of_jobs_in_the_words_of_both) {
  EXPECT_EQ(pbs_state(job(wire::PENDING, "Resources")), 'Q');
  EXPECT_EQ(pbs_state(job(wire::PENDING, "JobHeldUser")), 'H');
  EXPECT_EQ(pbs_state(job(wire::PENDING, "Dependency")), 'W');
  EXPECT_EQ(pbs_state(job(wire::RUNNING)), 'R');
  EXPECT_EQ(pbs_state(job(wire::TIMEOUT)), 'C');
  EXPECT_EQ(lsf_state(job(wire::PENDING, "Resources")), "PEND");
  EXPECT_EQ(lsf_state(job(wire::PENDING, "JobHeldAdmin")), "PSUSP");
  EXPECT_EQ(lsf_state(job(wire::COMPLETED)), "DONE");
  EXPECT_EQ(lsf_state(job(wire::FAILED)), "EXIT");
}

TEST(Compat, Rows_have_the_widths_people_parse) {
  const wire::JobView pending = job(wire::PENDING, "Resources");
  EXPECT_EQ(qstat_row({.job = &pending, .user = "ann"}),
            "12                  a_long_name_o... ann                    0 Q main           \n");
  const wire::JobView waits = job(wire::PENDING, "Resources");
  EXPECT_EQ(bjobs_row({&waits, {}, "ann", 0}, false).substr(0, 59),
            "12      ann     PEND  main                   -           *_");
}

TEST(Compat, Arrays_of_lsf_have_a_row_for_each_task) {
  wire::JobView array = job(wire::PENDING, "Resources");
  array.set_array_job_id(12);
  array.set_array_tasks("3,5%2");
  array.set_name("many");
  const auto rows = lsf_rows(array, "ann", 0);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(lsf_number(rows[1]), "12[5]");
  EXPECT_EQ(bjobs_row(rows[0], false).substr(0, 68),
            "12      ann     PEND  main                   -           many[3]    ");
  EXPECT_EQ(bjobs_arrays(rows),
            "JOBID    ARRAY_SPEC  OWNER   NJOBS PEND DONE  RUN EXIT SSUSP USUSP PSUSP\n12       many        ann        "
            " 2    2    0    0    0     0     0     0\n");
}

TEST(Compat, Fields_of_bjobs) {
  const wire::JobView waits = job(wire::PENDING, "Resources");
  const LsfRow rows[] = {{&waits, {}, "ann", 0}};
  const auto format = parse_lsf_format("jobid:4 stat:-6 name:5");
  ASSERT_TRUE(format) << format.error().story;
  EXPECT_EQ(render_lsf(*format, rows, true), "*BID   STAT *NAME \n12     PEND *_job \n");
  const auto joined = parse_lsf_format("jobid queue delimiter='^'");
  ASSERT_TRUE(joined) << joined.error().story;
  EXPECT_EQ(render_lsf(*joined, rows, false), "12^main\n");
  EXPECT_FALSE(parse_lsf_format("moons"));
}

TEST(Compat, The_other_table_of_qstat_and_arrays) {
  wire::JobView array = job(wire::PENDING, "Resources"), first = job(wire::RUNNING);
  array.set_array_job_id(12);
  array.set_array_tasks("3-4");
  first.set_array_job_id(12);
  first.set_array_task(2);
  first.set_nodes("n[1-2]");
  first.set_node_count(2);
  first.set_cpus(5);
  first.add_cpus_per_allocated_node(4);
  first.add_cpus_per_allocated_node(1);
  first.set_time_limit_minutes(90);
  first.set_requested_memory_mib(2048);
  const std::vector<PbsRow> jobs{{.job = &array, .user = "ann"}, {.job = &first, .user = "ann"}};
  const auto whole = pbs_rows(jobs, false), tasks = pbs_rows(jobs, true);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(qstat_row(whole[0]), "12[]                a_long_name_o... ann                    0 B main           \n");
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(pbs_number(tasks[1]), "12[4]");
  EXPECT_EQ(qstat_other_row(tasks[2], {.nodes = true}),
            "12[2]           ann      main     a_long_nam     --   2   5    2gb 01:30 R 00:00\n   n1/0*4+n2/0\n");
  EXPECT_EQ(qstat_other_row(tasks[2], {.nodes = true, .one_line = true}),
            "12[2]           ann      main     a_long_nam     --   2   5    2gb 01:30 R 00:00 n1/0*4+n2/0\n");
}

TEST(Compat, Names_of_jobs_with_servers_and_tasks) {
  EXPECT_EQ(job_number("12.server"), "12");
  EXPECT_EQ(job_number("12[3].server"), "12_3");
  EXPECT_EQ(job_number("12[].server"), "12");
}

TEST(Compat, A_command_line_of_qsub_ends_where_the_script_begins) {
  const std::vector<std::string> words{"-N", "x", "-lwalltime=60", "-I", "-j", "oe", "run.sh", "-v", "arg"};
  const auto line = read_pbs_line(words);
  ASSERT_TRUE(line) << line.error().story;
  EXPECT_EQ(line->words, (std::vector<std::string>{"--job-name=x", "--time=0:60"}));
  EXPECT_EQ(line->flags, (std::vector<std::string>{"-I", "-joe"}));
  EXPECT_EQ(line->operands, (std::vector<std::string>{"run.sh", "-v", "arg"}));
  EXPECT_FALSE(read_lsf_line(std::vector<std::string>{"-nosuch", "x"}));
}

TEST(Compat, A_node_that_is_drained_is_offline) {
  wire::NodeView node;
  node.set_name("n1");
  node.set_base(wire::NodeView::IDLE);
  EXPECT_EQ(pbs_node_state(node), "free");
  node.set_drain(true);
  EXPECT_EQ(pbs_node_state(node), "offline");
  EXPECT_NE(pbsnodes_record(node).find("    state = offline\n"), std::string::npos);
}

}  // namespace
}  // namespace millrace
