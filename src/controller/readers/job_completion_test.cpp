// src/controller/readers/job_completion_test.cpp - the line about a job that has ended.
#include "controller/readers/job_completion.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(JobCompletion, A_record_is_one_line_of_text_whatever_the_names_in_it) {
  State state;
  state.partitions.edit().emplace_back().def.name = "main";
  JobSpec spec;
  spec.name = "a\nJobId=7\x7f\xc2\x9b\xff\xc3\xa9";
  spec.work_dir = "/tmp/\x1b[2J with spaces";
  spec.owner = SharedValue(Owner{UserId{7}, GroupId{8}, "anna", "users", {}, "host", {}});
  Job job;
  job.key = JobKey{5};
  job.id = JobId{12};
  job.spec = SharedValue(spec);
  job.state = JobState::ended;
  job.outcome = Outcome::completed;
  state.jobs.set(job.key, SharedValue(job));
  const std::string line = completion_of(state, job, "c").line;
  EXPECT_NE(line.find(" Name=a\\nJobId=7\\x7f\\xc2\\x9b\\xff\xc3\xa9 JobState=COMPLETED "), std::string::npos) << line;
  EXPECT_NE(line.find(" WorkDir=/tmp/\\x1b[2J with spaces ReservationName="), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos);
  job.spec.edit().name = "x SubmitTime=1 EndTime=2";
  EXPECT_NE(completion_of(state, job, "c").line.find(" Name=x SubmitTime?1 EndTime?2 "), std::string::npos)
      << "nobody's words are taken for keys";
}

}  // namespace
}  // namespace millrace
