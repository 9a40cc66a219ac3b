// src/controller/readers/job_mail_test.cpp - which mails the life of a job makes due, each once.
#include "controller/readers/job_mail.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr Time start{1'000'000'000'000};

class JobMailTest : public testing::Test {
 protected:
  JobMailTest() {
    job.key = JobKey{5};
    job.id = JobId{12};
    job.submitted_at = start - seconds(65);
    job.time_limit_minutes = 10;
  }
  void want(std::uint32_t types) {
    JobSpec spec;
    spec.name = "x";
    Owner owner;
    owner.user_name = "anna";
    spec.owner = SharedValue(owner);
    spec.extras = SharedValue(JobExtras{.mail_types = types});
    job.spec = SharedValue(spec);
    put();
  }
  void name(const char* as) {
    job.spec.edit().name = as;
    put();
  }
  void put() { state.jobs.set(job.key, SharedValue(job)); }
  void begin() {
    job.state = JobState::running;
    job.started_at = start;
    put();
  }
  void end(Outcome outcome, std::uint32_t code, Time at) {
    job.state = JobState::ended;
    job.outcome = outcome;
    job.exit_code = code;
    job.ended_at = at;
    put();
  }
  std::string subjects(const std::vector<JobMail>& list) {
    std::string out;
    for (const JobMail& mail : list) out += mail.subject + "\n";
    return out;
  }
  std::string look(Time now) { return subjects(mails.look(state, job.key, now)); }

  Job job;
  State state;
  JobMails mails;
};

TEST_F(JobMailTest, A_subject_is_one_line_of_text_whatever_the_name_of_the_job) {
  want(mail_begin);
  name("a\nBcc: b\x7f\xc2\x9b\xff\xc3\xa9");
  EXPECT_EQ(look(start), "");
  begin();
  EXPECT_EQ(look(start), "Slurm Job_id=12 Name=a\\nBcc: b\\x7f\\xc2\\x9b\\xff\xc3\xa9 Began, Queued time 00:01:05\n");
}

TEST_F(JobMailTest, Begin_and_end_are_told_once) {
  want(mail_begin | mail_end);
  EXPECT_EQ(look(start), "");
  begin();
  EXPECT_EQ(look(start), "Slurm Job_id=12 Name=x Began, Queued time 00:01:05\n");
  EXPECT_EQ(look(start), "");
  end(Outcome::completed, 0, start + seconds(5));
  EXPECT_EQ(look(start + seconds(9)), "Slurm Job_id=12 Name=x Ended, Run time 00:00:05, COMPLETED, ExitCode 0\n");
  EXPECT_EQ(look(start + seconds(9)), "");
}

TEST_F(JobMailTest, A_failure_is_told_as_one_where_that_is_wanted) {
  want(mail_fail | mail_end);
  look(start);
  begin();
  look(start);
  end(Outcome::failed, 3, start + seconds(5));
  const std::vector<JobMail> told = mails.look(state, job.key, start);
  EXPECT_EQ(subjects(told), "Slurm Job_id=12 Name=x Failed, Run time 00:00:05, FAILED, ExitCode 3\n");
  const std::vector<std::string> expected{"SLURM_JOB_STATE=FAILED", "SLURM_JOB_MAIL_TYPE=Failed",
                                          "SLURM_JOB_RUN_TIME=00:00:05", "SLURM_JOB_EXIT_CODE_MAX=3",
                                          "SLURM_JOB_EXIT_CODE_MIN=3"};
  EXPECT_EQ(told.front().variables, expected);
}

TEST_F(JobMailTest, Without_fail_a_failure_is_an_end_and_success_is_no_failure) {
  want(mail_end);
  look(start);
  begin();
  end(Outcome::failed, 3, start + seconds(5));
  EXPECT_EQ(look(start), "Slurm Job_id=12 Name=x Ended, Run time 00:00:05, FAILED, ExitCode 3\n");
}

TEST_F(JobMailTest, What_was_so_before_the_controller_started_is_old_news) {
  want(mail_begin | mail_time_limit_50);
  begin();
  mails.remember(state, start + minutes(6));
  EXPECT_EQ(look(start + minutes(6)), "");
  EXPECT_TRUE(mails.time_passed(state, start + minutes(7)).empty());
}

TEST_F(JobMailTest, Time_that_passes_is_told_at_each_mark) {
  want(mail_time_limit_50 | mail_time_limit_90 | mail_time_limit);
  look(start);
  begin();
  look(start);
  EXPECT_EQ(subjects(mails.time_passed(state, start + minutes(4))), "");
  EXPECT_EQ(subjects(mails.time_passed(state, start + minutes(5))),
            "Slurm Job_id=12 Name=x Reached 50% of time limit, Run time 00:05:00\n");
  EXPECT_EQ(subjects(mails.time_passed(state, start + minutes(6))), "");
  EXPECT_EQ(subjects(mails.time_passed(state, start + minutes(9))),
            "Slurm Job_id=12 Name=x Reached 90% of time limit, Run time 00:09:00\n");
  end(Outcome::timeout, 0, start + minutes(10));
  EXPECT_EQ(look(start + minutes(10)), "Slurm Job_id=12 Name=x Reached time limit, Run time 00:10:00\n");
}

TEST_F(JobMailTest, Requeue_and_a_dependency_that_never_comes) {
  want(mail_requeue | mail_invalid_depend | mail_begin);
  look(start);
  begin();
  look(start);
  job.state = JobState::pending;
  job.attempt = Attempt{1};
  put();
  EXPECT_EQ(look(start + seconds(5)), "Slurm Job_id=12 Name=x Requeued, Run time 00:00:05\n");
  job.dependency_never = true;
  put();
  EXPECT_EQ(look(start), "Slurm Job_id=12 Name=x Invalid dependency\n");
  EXPECT_EQ(look(start), "");
}

TEST_F(JobMailTest, An_array_is_told_of_as_a_whole_or_task_by_task) {
  for (const bool each : {false, true}) {
    state = State{};
    mails = JobMails{};
    ArrayState array;
    array.id = JobId{10};
    array.spec.tasks.insert(1);
    array.spec.tasks.insert(2);
    state.arrays.set(JobKey{4}, SharedValue(array));
    std::string told;
    for (const std::uint32_t task : {1u, 2u}) {
      job = Job{};
      job.key = JobKey{4 + task};
      job.id = JobId{10 + task};
      job.array = JobKey{4};
      job.array_task = task;
      job.time_limit_minutes = 10;
      want(mail_begin | mail_end | (each ? std::uint32_t{mail_array_tasks} : 0u));
      begin();
      told += look(start);
      array.ended = task;
      state.arrays.set(JobKey{4}, SharedValue(array));
      end(task == 1 ? Outcome::completed : Outcome::failed, task - 1, start + seconds(1));
      told += look(start + seconds(1));
    }
    const std::string whole =
        "Slurm Array Summary Job_id=10_* (11) Name=x Began, Queued time 11-13:46:40\n"
        "Slurm Array Summary Job_id=10_* (12) Name=x Ended, Run time 00:00:01, Mixed, ExitCode [0-1]\n";
    if (!each)
      EXPECT_EQ(told, whole);
    else
      EXPECT_NE(told.find("Slurm Array Task Job_id=10_2 (12) Name=x Ended, Run time 00:00:01, FAILED, ExitCode 1\n"),
                std::string::npos)
          << told;
  }
}

TEST(MailRecipient, Is_an_address_and_nothing_a_mail_program_would_obey) {
  for (const char* right : {"anna", "anna@example.org", "a.b-c+d@x-y.org", "a@b,c@d", "_x"})
    EXPECT_TRUE(is_mail_address(right)) << right;
  for (const char* wrong : {"", "-X", "-Sexpandaddr", "|sh", "/etc/passwd", "+file", "a b", "a@b@c", "a@", "a,,b",
                            "a\nCc: b", "a;b", "$(id)"})
    EXPECT_FALSE(is_mail_address(wrong)) << wrong;
}

TEST(MailRecipient, Is_the_owner_or_the_named_one_with_the_sites_domain) {
  JobSpec spec;
  Owner owner;
  owner.user_name = "anna";
  spec.owner = SharedValue(owner);
  EXPECT_EQ(mail_recipient(spec, ""), "anna");
  EXPECT_EQ(mail_recipient(spec, "example.org"), "anna@example.org");
  spec.extras = SharedValue(JobExtras{.mail_types = mail_end, .mail_user = "b@c"});
  EXPECT_EQ(mail_recipient(spec, "example.org"), "b@c");
}

}  // namespace
}  // namespace millrace
