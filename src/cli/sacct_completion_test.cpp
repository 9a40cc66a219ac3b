// src/cli/sacct_completion_test.cpp - lines of a file of completed jobs become records again.
#include "cli/sacct_completion.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Completions, A_line_is_read_back_with_blanks_in_its_name_and_folder) {
  std::uint64_t odd = 0;
  const wire::Jobs jobs = parse_completions(
      "JobId=12 UserId=alice(1000) GroupId=staff(50) Name=two words JobState=COMPLETED Partition=debug TimeLimit=30 "
      "StartTime=2026-01-01T10:00:00 EndTime=2026-01-01T10:05:00 "
      "NodeList=n[0-1] NodeCnt=2 ProcCnt=8 WorkDir=/home/a b ReservationName= Tres=cpu=8,node=2 Account=physics "
      "QOS=normal WcKey=*x Cluster=c SubmitTime=2026-01-01T09:59:00 "
      "EligibleTime=2026-01-01T09:59:00 ArrayJobId=10 ArrayTaskId=2 DerivedExitCode=0:0 ExitCode=3:0 \n"
      "something else\n"
      "JobId=13 UserId=bob(1001) GroupId=staff(50) Name=x JobState=CANCELLED Partition=debug TimeLimit=UNLIMITED "
      "StartTime=Unknown EndTime=2026-01-01T10:05:00 NodeList=(null) NodeCnt=0 ProcCnt=0 "
      "WorkDir=/ ReservationName= Tres= Account= QOS= WcKey= Cluster=c SubmitTime=2026-01-01T09:59:00 "
      "EligibleTime=Unknown DerivedExitCode=0:0 ExitCode=0:15 \n",
      odd);
  EXPECT_EQ(odd, 1u);
  ASSERT_EQ(jobs.jobs_size(), 2);
  const wire::JobView& first = jobs.jobs(0);
  EXPECT_EQ(first.job_id(), 12u);
  EXPECT_EQ(first.user_name(), "alice");
  EXPECT_EQ(first.uid(), 1000u);
  EXPECT_EQ(first.name(), "two words");
  EXPECT_EQ(first.work_dir(), "/home/a b");
  EXPECT_EQ(first.state(), wire::COMPLETED);
  EXPECT_EQ(first.end_at_us() - first.start_at_us(), 300'000'000);
  EXPECT_EQ(first.array_job_id(), 10u);
  EXPECT_EQ(first.array_task(), 2u);
  EXPECT_EQ(first.exit_code(), 3u);
  EXPECT_EQ(first.account(), "physics");
  EXPECT_EQ(first.extras().wckey(), "*x");
  const wire::JobView& second = jobs.jobs(1);
  EXPECT_EQ(second.start_at_us(), 0);
  EXPECT_EQ(second.nodes(), "");
  EXPECT_EQ(second.time_limit_minutes(), UINT32_MAX);
  EXPECT_EQ(second.exit_signal(), 15u);
}

}  // namespace
}  // namespace millrace
