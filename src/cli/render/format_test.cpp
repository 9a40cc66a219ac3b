// src/cli/render/format_test.cpp - formats as people and programs write them; words for states; sizes and times.
#include "cli/render/format.h"

#include <gtest/gtest.h>

#include "cli/render/columns.h"
#include "cli/render/job_words.h"
#include "cli/render/node_words.h"
#include "cli/render/text_forms.h"

namespace millrace {
namespace {

class Formats : public testing::Test {
 protected:
  Formats() {
    job_.set_job_id(7);
    job_.set_name("a-long-name");
    job_.set_partition("p");
    job_.set_time_limit_minutes(1564);
  }
  std::string by_letters(std::string_view format) {
    return render_jobs({{&job_, {}, &context_}}, parse_short_format(format, job_columns(), letters_), false);
  }
  std::string by_names(std::string_view format) {
    return render_jobs({{&job_, {}, &context_}}, parse_long_format(format, job_columns(), names_), false);
  }
  wire::JobView job_;
  Names users_;
  JobContext context_{0, "c", &users_};
  std::string letters_;
  std::vector<std::string> names_;
};

TEST_F(Formats, Letters) {
  EXPECT_EQ(by_letters(" %A|%P"), " 7|p\n") << "a leading blank is kept";
  EXPECT_EQ(by_letters("%%i %t"), "7 PD\n") << "a doubled percent is one";
  EXPECT_EQ(by_letters("%.4j|%4j|%4P|%.4P"), "a-lo|a-lo|p   |   p\n");
  EXPECT_EQ(by_letters("%.3l"), "1-02:04:00\n") << "durations are never cut";
  EXPECT_EQ(by_letters("{\"id\": %A, \"st\": \"%t\"}"), "{\"id\": 7, \"st\": \"PD\"}\n");
  by_letters("%i %!");
  EXPECT_EQ(letters_, "!");
}

TEST_F(Formats, Names) {
  EXPECT_EQ(by_names("JobID:|,Partition:|,State:"), "7|p|PENDING\n");
  EXPECT_EQ(by_names("jobid,partition:.4"), "7                      p\n");
  EXPECT_EQ(by_names("Name:4 ,JobID:-3x"), "a-lo 7  x\n");
  EXPECT_EQ(by_names("JobID:,"), "7\n");
  EXPECT_TRUE(names_.empty());
  by_names("ALL");
  EXPECT_EQ(names_, std::vector<std::string>{"ALL"});
}

TEST_F(Formats, Every_column_has_a_name_and_no_two_letters_agree) {
  std::string letters;
  for (const auto& column : job_columns()) {
    EXPECT_FALSE(column.name.empty());
    if (column.letter == 0) continue;
    EXPECT_EQ(letters.find(column.letter), std::string::npos) << column.letter;
    letters += column.letter;
  }
}

TEST_F(Formats, Flags_hide_the_state_below_them) {
  job_.set_state(wire::FAILED);
  job_.set_completing(true);
  EXPECT_EQ(state_compact(job_), "CG");
  EXPECT_FALSE(matches(*parse_state("f"), job_));
  EXPECT_TRUE(matches(*parse_state("completing"), job_));
  EXPECT_FALSE(parse_state("nonsense"));
}

TEST_F(Formats, Array_lists_are_cut) {
  job_.set_array_job_id(5);
  job_.set_array_tasks(std::string(100, '1') + "%3");
  EXPECT_EQ(job_name_text(job_, {}), "5_[" + std::string(60, '1') + "...%3]");
  setenv("SLURM_BITSTR_LEN", "0", 1);
  EXPECT_EQ(job_name_text(job_, {}).size(), 106u);
  unsetenv("SLURM_BITSTR_LEN");
}

TEST(Forms, Sizes_and_durations) {
  EXPECT_EQ(format_mib(0), "0");
  EXPECT_EQ(format_mib(500), "500M");
  EXPECT_EQ(format_mib(4096), "4G");
  EXPECT_EQ(format_mib(1500), "1500M");
  EXPECT_EQ(format_mib(2097152), "2T");
  EXPECT_EQ(format_short_duration(7), "0:07");
  EXPECT_EQ(format_short_duration(3600), "1:00:00");
  EXPECT_EQ(format_short_duration(-1), "INVALID");
  EXPECT_EQ(format_limit(UINT32_MAX), "UNLIMITED");
}

TEST(Forms, Node_states) {
  wire::NodeView node;
  node.set_base(wire::NodeView::MIXED);
  node.set_drain(true);
  EXPECT_EQ(node_state_long(node), "draining");
  EXPECT_EQ(node_state_full(node), "MIXED+DRAIN");
  node.set_base(wire::NodeView::DOWN);
  node.set_drain(false);
  node.set_not_responding(true);
  EXPECT_EQ(node_state_compact(node), "down*");
  EXPECT_TRUE(matches(*parse_node_state("DOWN"), node));
  EXPECT_TRUE(matches(*parse_node_state("down*"), node));
  EXPECT_FALSE(matches(*parse_node_state("idle"), node));
  EXPECT_FALSE(parse_node_state("blue"));
}

}  // namespace
}  // namespace millrace
