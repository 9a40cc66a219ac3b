// src/cli/fronts/lists_test.cpp - jobs and nodes in the words of PBS and LSF.
#include <gtest/gtest.h>

#include "cli/fronts/fronts.h"
#include "cli/fronts/lsf_lists.h"
#include "cli/fronts/pbs_lists.h"
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

TEST(Fronts, States_of_jobs_in_the_words_of_both) {
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

TEST(Fronts, Rows_have_the_widths_people_parse) {
  EXPECT_EQ(qstat_row(job(wire::PENDING, "Resources"), 0, "ann"), "12                  a_long_name_o... ann                    0 Q main           \n");
  EXPECT_EQ(bjobs_row(job(wire::PENDING, "Resources"), "ann", false).substr(0, 59), "12      ann     PEND  main                   -           *_");
}

TEST(Fronts, Names_of_jobs_with_servers_and_tasks) {
  EXPECT_EQ(job_number("12.server"), "12");
  EXPECT_EQ(job_number("12[3].server"), "12_3");
  EXPECT_EQ(job_number("12[].server"), "12");
}

TEST(Fronts, A_command_line_of_qsub_ends_where_the_script_begins) {
  const std::vector<std::string> words{"-N", "x", "-lwalltime=60", "-I", "-j", "oe", "run.sh", "-v", "arg"};
  const auto line = read_pbs_line(words);
  ASSERT_TRUE(line) << line.error().story;
  EXPECT_EQ(line->words, (std::vector<std::string>{"--job-name=x", "--time=0:60"}));
  EXPECT_EQ(line->flags, (std::vector<std::string>{"-I", "-joe"}));
  EXPECT_EQ(line->operands, (std::vector<std::string>{"run.sh", "-v", "arg"}));
  EXPECT_FALSE(read_lsf_line(std::vector<std::string>{"-nosuch", "x"}));
}

TEST(Fronts, A_node_that_is_drained_is_offline) {
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
