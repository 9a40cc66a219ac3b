// src/cli/render/format_test.cpp - formats as people and programs write them; words for states; sizes and times.
#include "cli/render/format.h"

#include <gtest/gtest.h>

#include "cli/render/columns.h"
#include "cli/render/config_file.h"
#include "cli/render/error_texts.h"
#include "cli/render/job_words.h"
#include "cli/render/node_columns.h"
#include "cli/render/node_words.h"
#include "cli/render/text_forms.h"
#include "config/show_config.h"
#include "config/slurm_conf.h"

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

TEST_F(Formats, What_a_terminal_obeys_is_escaped_in_every_column) {
  const std::string evil = "a\x1b[2J\nb\rc\x7f\xc2\x9b\xff";
  const std::string shown = "a\\x1b[2J\\nb\\rc\\x7f\\xc2\\x9b\\xff";
  job_.set_name(evil);
  job_.set_comment(evil);
  job_.set_work_dir(evil);
  EXPECT_EQ(by_letters("%j|%k|%Z"), shown + "|" + shown + "|" + shown + "\n");
  EXPECT_EQ(by_names("name:6,comment:.7"),
            "a\\x1b["
            "a\\x1b[2\n")
      << "the width is that of what is shown";
  job_.set_name("gr\xc3\xbcn");
  EXPECT_EQ(by_letters("%j"), "gr\xc3\xbcn\n");
}

TEST_F(Formats, All_letters) {
  std::string header;
  append_header(header, parse_short_format("%all", job_columns(), letters_));
  EXPECT_TRUE(header.starts_with(
      "ACCOUNT|TRES_PER_NODE|MIN_CPUS|MIN_TMP_DISK|END_TIME|FEATURES|GROUP|OVER_SUBSCRIBE|JOBID|NAME|COMMENT|"))
      << header;
  EXPECT_TRUE(header.ends_with("|SUBMIT_TIME|LICENSES|CORE_SPEC|SCHEDNODES|WORK_DIR\n")) << header;
  EXPECT_EQ(std::ranges::count(header, '|'), 51);
  header.clear();
  append_header(header, parse_short_format("%all:%i", job_columns(), letters_));
  EXPECT_TRUE(header.ends_with("|WORK_DIR:JOBID\n")) << header;
  EXPECT_TRUE(letters_.empty());
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

TEST(Forms, A_reserved_node_says_so_and_one_in_maintenance_too) {
  wire::NodeView node;
  node.set_base(wire::NodeView::IDLE);
  node.set_reservation("friday");
  EXPECT_EQ(node_state_compact(node), "resv");
  EXPECT_EQ(node_state_full(node), "IDLE+RESERVED");
  EXPECT_TRUE(matches(*parse_node_state("resv"), node));
  node.set_maintenance(true);
  EXPECT_EQ(node_state_long(node), "maint$");
  EXPECT_EQ(node_state_full(node), "IDLE+MAINTENANCE+RESERVED");
  node.set_base(wire::NodeView::MIXED);
  EXPECT_EQ(node_state_compact(node), "mix$");
}

TEST(Forms, Times_as_the_user_wants_them) {
  setenv("TZ", "UTC", 1);
  tzset();
  constexpr std::int64_t moment = 1'700'000'000'000'000;
  EXPECT_EQ(format_time(moment, "N/A"), "2023-11-14T22:13:20");
  setenv("SLURM_TIME_FORMAT", "%s", 1);
  EXPECT_EQ(format_time(moment, "N/A"), "1700000000");
  setenv("SLURM_TIME_FORMAT", "standard", 1);
  EXPECT_EQ(format_time(moment, "N/A"), "2023-11-14T22:13:20");
  setenv("SLURM_TIME_FORMAT", "relative", 1);
  EXPECT_EQ(format_time(moment, "N/A"), "14 Nov 2023");
  const std::int64_t now = static_cast<std::int64_t>(time(nullptr)) * 1'000'000;
  EXPECT_EQ(format_time(now, "N/A").size(), std::string_view{"12:34:56"}.size());
  EXPECT_TRUE(format_time(now - 86'400'000'000, "N/A").starts_with("Ystday "));
  unsetenv("SLURM_TIME_FORMAT");
}

TEST(Forms, Numbers_of_errors) {
  EXPECT_EQ(error_text(2017), "Invalid job id specified");
  EXPECT_EQ(error_text(0), "No error");
  EXPECT_EQ(error_text(2), "No such file or directory");
  EXPECT_EQ(error_text(123456), "Unknown error 123456");
}

TEST(Forms, Reservations_of_sinfo) {
  setenv("TZ", "UTC", 1);
  tzset();
  wire::Reservations all;
  auto& one = *all.add_reservations();
  one.set_name("maintenance_window");
  one.set_start_us(1'700'000'000'000'000);
  one.set_end_us(1'700'003'600'000'000);
  one.set_nodes("n[1-2]");
  one.set_active(true);
  EXPECT_EQ(reservation_lines(all, true),
            "RESV_NAME              STATE           START_TIME             END_TIME     DURATION  NODELIST\n"
            "maintenance_window    ACTIVE  2023-11-14T22:13:20  2023-11-14T23:13:20     01:00:00  n[1-2]\n");
}

TEST(Forms, A_written_configuration_can_be_read) {
  const auto first = parse_configuration_text(
      "ClusterName=written\nSlurmctldHost=head(10.0.0.1)\nSlurmctldTimeout=77\nMinJobAge=99\nSchedulerParameters=bf_"
      "interval=7\nGresTypes=gpu\n"
      "NodeName=n[1-2] CPUs=8 RealMemory=4000 Gres=gpu:2 Feature=a,b\nPartitionName=main Nodes=ALL Default=YES "
      "MaxTime=1-00:00:00\n",
      "/etc/slurm/slurm.conf");
  ASSERT_TRUE(first.errors.empty()) << first.errors[0];
  wire::Config config;
  for (const auto& [key, value] : show_config(first.configuration, {"2026-11-15T07:12:04", 95, 0, "26.11.0"})) {
    auto* entry = config.add_entries();
    entry->set_key(key);
    entry->set_value(value);
  }
  wire::Nodes nodes;
  for (const char* name : {"n1", "n2"}) {
    wire::NodeView& node = *nodes.add_nodes();
    node.set_name(name);
    node.set_cpus(8);
    node.set_sockets(8);
    node.set_memory_mib(4000);
    node.set_gres("gpu:2");
    node.set_features("a,b");
    node.set_active_features("a,b");
    node.set_weight(1);
  }
  wire::Partitions partitions;
  wire::PartitionView& main = *partitions.add_partitions();
  main.set_name("main");
  main.set_nodes("n[1-2]");
  main.set_is_default(true);
  main.set_max_time_minutes(1440);
  main.set_priority_tier(1);
  main.set_priority_job_factor(1);
  const std::string text = config_file_text(config, nodes, partitions);
  const auto second = parse_configuration_text(text, "/etc/slurm/slurm.conf");
  ASSERT_TRUE(second.errors.empty()) << second.errors[0] << '\n' << text;
  EXPECT_TRUE(second.configuration.unknown.empty()) << second.configuration.unknown[0].key;
  EXPECT_EQ(second.configuration.cluster_name, "written");
  EXPECT_EQ(second.configuration.nodes.size(), 2u);
  EXPECT_NE(text.find("MinJobAge=99\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace millrace
