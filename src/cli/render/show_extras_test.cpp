// src/cli/render/show_extras_test.cpp - words, mail and the like of a job in scontrol's record, and nothing of them
// where none were given.
#include <gtest/gtest.h>

#include "cli/render/show_records.h"
#include "core/model/job_extras.h"

namespace millrace {
namespace {

wire::JobView plain() {
  wire::JobView job;
  job.set_job_id(12);
  job.set_name("x");
  job.set_user_name("anna");
  job.set_group_name("users");
  job.set_comment("said");
  return job;
}

std::string shown(const wire::JobView& job) {
  Names names;
  return show_job(job, 0, names, {});
}

TEST(ShowExtras, Stand_at_their_places) {
  wire::JobView job = plain();
  wire::JobExtras& extras = *job.mutable_extras();
  extras.set_mail_types(mail_begin | mail_fail);
  extras.set_wckey("key");
  extras.set_extra("more");
  extras.set_admin_comment("seen");
  extras.set_network("net");
  extras.set_core_spec(2);
  extras.set_threads_spec(true);
  extras.set_delay_boot_seconds(90);
  const std::string text = shown(job);
  for (const char* words :
       {" QOS=(null) WCKey=key\n", " ThreadSpec=2\n", " DelayBoot=00:01:30\n", " Network=net\n",
        "\n   AdminComment=seen\n   Comment=said\n   Extra=more\n", "\n   MailUser=anna MailType=BEGIN,FAIL\n"})
    EXPECT_NE(text.find(words), std::string::npos) << words << text;
}

TEST(ShowExtras, Are_not_mentioned_where_there_are_none) {
  const std::string text = shown(plain());
  for (const char* word : {"WCKey", "Mail", "Extra=", "AdminComment", "ThreadSpec"})
    EXPECT_EQ(text.find(word), std::string::npos) << word;
  EXPECT_NE(text.find(" CoreSpec=*\n"), std::string::npos);
  EXPECT_NE(text.find(" DelayBoot=00:00:00\n"), std::string::npos);
}

TEST(ShowExtras, No_name_makes_up_a_line) {
  wire::JobView job = plain();
  job.set_name("x\nJobState=COMPLETED\x1b[1A");
  job.set_comment("a\r\nb");
  for (const bool one_line : {false, true}) {
    Names names;
    ShowOptions options;
    options.one_line = one_line;
    const std::string text = show_job(job, 0, names, options);
    EXPECT_NE(text.find("JobName=x\\nJobState=COMPLETED\\x1b[1A"), std::string::npos) << text;
    EXPECT_NE(text.find("Comment=a\\r\\nb"), std::string::npos) << text;
    for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << text;
  }
}

}  // namespace
}  // namespace millrace
