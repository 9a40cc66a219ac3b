// src/cli/options/job_options_test.cpp - command lines, scripts and environments become jobs, or the right refusal.
#include "cli/options/job_options.h"

#include <gtest/gtest.h>

#include <set>

#include "cli/options/job_environment.h"
#include "cli/options/job_values.h"
#include "cli/options/manual.h"
#include "cli/options/script.h"
#include "core/model/job_extras.h"

namespace millrace {
namespace {

Result<CommandLine<JobDraft>> read(JobDraft& draft, std::initializer_list<std::string_view> words,
                                   std::uint8_t tool = sbatch) {
  const std::vector<std::string_view> list(words);
  return apply_words(job_options(), tool, list, Operands::end_options, draft);
}

std::string refusal(std::initializer_list<std::string_view> words, std::uint8_t tool = sbatch) {
  JobDraft draft;
  const auto line = read(draft, words, tool);
  return line ? "accepted" : line.error().story;
}

TEST(JobOptions, Read_glued_separate_and_abbreviated_forms) {
  JobDraft draft;
  const auto line = read(draft, {"-N2-4", "-n", "8", "--cpus-per-t=2", "--mem=4GB", "-t", "1-02:03:04", "--job-na",
                                 "x y", "job.sh", "-n", "1"});
  ASSERT_TRUE(line) << line.error().story;
  EXPECT_EQ(draft.job.min_nodes(), 2u);
  EXPECT_EQ(draft.job.max_nodes(), 4u);
  EXPECT_EQ(draft.job.tasks(), 8u);
  EXPECT_EQ(draft.job.cpus_per_task(), 2u);
  EXPECT_EQ(draft.job.memory_per_node_mib(), 4096u);
  EXPECT_EQ(draft.job.time_limit_minutes(), 1564u);
  EXPECT_EQ(draft.job.name(), "x y");
  ASSERT_EQ(line->operands.size(), 3u) << "what follows the script belongs to it";
}

TEST(JobOptions, Optional_values_must_be_glued) {
  JobDraft draft;
  const auto line = read(draft, {"--nice", "--exclusive", "-W", "--nice=-5", "script"});
  ASSERT_TRUE(line);
  EXPECT_EQ(draft.job.nice(), -5);
  EXPECT_TRUE(draft.job.exclusive());
  EXPECT_TRUE(draft.wait);
}

TEST(JobOptions, Refuse_in_the_words_of_getopt) {
  EXPECT_EQ(refusal({"--nosuch"}), "unrecognized option '--nosuch'");
  EXPECT_EQ(refusal({"-@"}), "invalid option -- '@'");
  EXPECT_EQ(refusal({"-n"}), "option requires an argument -- 'n'");
  EXPECT_EQ(refusal({"--ntasks"}), "option '--ntasks' requires an argument");
  EXPECT_EQ(refusal({"--hold=1"}), "option '--hold' doesn't allow an argument");
  EXPECT_EQ(refusal({"--ho"}), "accepted");
  EXPECT_TRUE(refusal({"--mem-"}).starts_with("option '--mem-' is ambiguous; possibilities: '--mem-per-cpu'"));
}

TEST(JobOptions, Refuse_by_name_what_is_not_built) {
  EXPECT_EQ(refusal({"--bb=x"}), "--bb is refused in Millrace: there are no burst buffers");
  EXPECT_EQ(refusal({"--exclusive=mcs"}), "--exclusive=mcs is not built yet in Millrace");
  EXPECT_EQ(refusal({"--gres-flags=one-task-per-sharing"}),
            "--gres-flags=one-task-per-sharing is not built yet in Millrace");
  EXPECT_EQ(refusal({"--mcs-label=a"}, srun),
            "--mcs-label is refused in Millrace: there are no security categories (MCSPlugin=mcs/none)");
  EXPECT_EQ(refusal({"--resv-ports=x"}, srun), "Invalid --resv-ports specification");
  EXPECT_EQ(refusal({"--no-kill"}), "accepted");
  EXPECT_EQ(refusal({"-k"}), "accepted");
  EXPECT_EQ(refusal({"--no-kill=off"}), "accepted");
  EXPECT_EQ(refusal({"--no-kill=perhaps"}), "Invalid --no-kill specification");
  EXPECT_EQ(refusal({"--label"}), "unrecognized option '--label'") << "an option of srun alone";
}

TEST(JobOptions, Components_of_a_heterogeneous_job) {
  EXPECT_EQ(refusal({"--het-group=x"}, srun),
            "--het-group=x: numbers of components from 0 to 127 are expected, as 1, 0-2 or 0,3");
  EXPECT_EQ(refusal({"--het-group=128"}, srun),
            "--het-group=128: numbers of components from 0 to 127 are expected, as 1, 0-2 or 0,3");
}

TEST(JobOptions, Devices_features_licences_and_layout) {
  JobDraft draft;
  const auto line = read(draft, {"--gres=gpu:a100:2,nic",
                                 "-C",
                                 "intel&[rack1|rack2]",
                                 "-L",
                                 "foo:2,bar",
                                 "-G4",
                                 "--cpus-per-gpu=8",
                                 "--mem-per-gpu=2G",
                                 "-m",
                                 "cyclic:block",
                                 "-B",
                                 "2:8:2",
                                 "--switches=2@10:00",
                                 "--hint=nomultithread",
                                 "--tmp=1G",
                                 "--time-min=10",
                                 "-p",
                                 "a,b",
                                 "--exclusive=user",
                                 "--contiguous",
                                 "--ntasks-per-socket=3",
                                 "--spread-job",
                                 "--use-min-nodes",
                                 "-s",
                                 "job.sh"});
  ASSERT_TRUE(line) << line.error().story;
  const wire::ResourceWishes& ask = draft.job.resources();
  EXPECT_EQ(ask.gres(), "gpu:a100:2,nic");
  EXPECT_EQ(ask.features(), "intel&[rack1|rack2]");
  EXPECT_EQ(ask.licenses(), "foo:2,bar");
  EXPECT_EQ(ask.gpus(), "4");
  EXPECT_EQ(ask.memory_per_gpu_mib(), 2048u);
  EXPECT_EQ(ask.sockets_per_node(), 2u);
  EXPECT_EQ(ask.cores_per_socket(), 8u);
  EXPECT_EQ(ask.switches(), 2u);
  EXPECT_EQ(ask.switches_wait_seconds(), 600u);
  EXPECT_EQ(ask.threads_per_core(), 1u) << "the hint came last";
  EXPECT_EQ(ask.tmp_disk_mib(), 1024u);
  EXPECT_TRUE(ask.exclusive_user());
  EXPECT_FALSE(draft.job.exclusive());
  EXPECT_TRUE(draft.job.oversubscribe());
  EXPECT_EQ(draft.job.partition(), "a,b");
}

TEST(JobOptions, Wrong_requests_say_where) {
  EXPECT_EQ(refusal({"--gres=gpu:a100:x"}), "Invalid --gres specification: 'gpu:a100:x': after the type comes a count");
  EXPECT_EQ(refusal({"-C", "a&"}),
            "Invalid --constraint specification: features 'a&': a feature expected at position 3");
  EXPECT_EQ(refusal({"-L", "a|b,c"}),
            "Invalid --licenses specification: 'a|b,c': either ',' (all of them) or '|' (one of them), not both");
  EXPECT_EQ(refusal({"--hint=fast"}), "unrecognized --hint argument \"fast\", see --hint=help");
  EXPECT_EQ(refusal({"-B", "0"}), "Invalid --extra-node-info specification");
  EXPECT_EQ(refusal({"--switches=x"}), "Invalid numeric value \"x\" for --switches.");
  JobDraft draft;
  ASSERT_TRUE(read(draft, {"-c2", "--cpus-per-gpu=2", "x"}));
  EXPECT_EQ(check_draft(draft).error().story, "--cpus-per-gpu and --cpus-per-task are mutually exclusive");
}

TEST(JobOptions, Bad_values_are_said_as_slurm_says_them) {
  EXPECT_EQ(refusal({"-t", "xx"}), "Invalid --time specification");
  EXPECT_EQ(refusal({"-n", "x"}), "Invalid numeric value \"x\" for --ntasks.");
  EXPECT_EQ(refusal({"-n", "0"}), "invalid number of tasks (-n 0)");
  EXPECT_EQ(refusal({"-N", "4-2"}), "Maximum node count 2 is less than minimum node count 4");
  EXPECT_EQ(refusal({"--gres-flags=foo"}), "Invalid --gres-flags specification");
  EXPECT_EQ(refusal({"-N", "x"}), "\"x\" is not a valid node count");
  EXPECT_EQ(refusal({"--mem=12x"}), "Invalid --mem specification");
  EXPECT_EQ(refusal({"--open-mode=x"}), "Invalid --open-mode specification");
}

TEST(JobOptions, Names_and_letters_are_unique_per_command) {
  for (const std::uint8_t tool : {std::uint8_t{sbatch}, std::uint8_t{srun}}) {
    std::set<std::string_view> names;
    std::set<char> letters;
    for (const JobOption& row : job_options()) {
      if ((row.tools & tool) == 0) continue;
      EXPECT_TRUE(names.insert(row.name).second) << row.name;
      if (row.letter != '\0') {
        EXPECT_TRUE(letters.insert(row.letter).second) << row.name;
      }
    }
  }
}

TEST(JobOptions, Environment_gives_defaults_and_refuses_what_is_not_built) {
  setenv("SBATCH_TIMELIMIT", "7", 1);
  JobDraft draft;
  ASSERT_TRUE(apply_environment(job_options(), sbatch, draft));
  EXPECT_EQ(draft.job.time_limit_minutes(), 7u);
  setenv("SBATCH_GRES", "gpu:1", 1);
  ASSERT_TRUE(apply_environment(job_options(), sbatch, draft));
  EXPECT_EQ(draft.job.resources().gres(), "gpu:1");
  setenv("SBATCH_CONTAINER_ID", "x", 1);
  const auto refused = apply_environment(job_options(), sbatch, draft);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().story,
            "--container-id (from SBATCH_CONTAINER_ID) is refused in Millrace: the runtime names containers after "
            "their step");
  unsetenv("SBATCH_CONTAINER_ID");
  setenv("SBATCH_NO_KILL", "", 1);
  setenv("SBATCH_BATCH", "big", 1);
  ASSERT_TRUE(apply_environment(job_options(), sbatch, draft));
  EXPECT_TRUE(draft.job.extras().no_kill());
  EXPECT_EQ(draft.job.extras().batch_features(), "big");
  unsetenv("SBATCH_NO_KILL");
  unsetenv("SBATCH_BATCH");
  unsetenv("SBATCH_GRES");
  unsetenv("SBATCH_TIMELIMIT");
}

TEST(Script, Directives_end_at_the_first_command) {
  const auto words = script_words(
      "#!/bin/sh\n#SBATCH -J \"a b\" --mem=100 # comment\n\n# c\n  \n  # indented\n\t#SBATCH -n 9\n#SBATCH\t-n 2\necho "
      "hi\n#SBATCH -n 3\n",
      false);
  ASSERT_TRUE(words);
  EXPECT_EQ(words->at(0), (std::vector<std::string>{"-J", "a b", "--mem=100", "-n", "2"}));
}

TEST(Script, Directives_need_no_blank_and_end_at_a_last_backslash) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(script_words("#!/bin/sh\n#SBATCH--time=5\n#SBATCH-Jy\n", false)->at(0), (Words{"--time=5", "-Jy"}));
  EXPECT_EQ(script_words("#!/bin/sh\n#SBATCH -t 9 \\\n#SBATCH -J a\\b\\\n", false)->at(0),
            (Words{"-t", "9", "-J", "ab"}));
  EXPECT_EQ(script_words("#!/bin/sh\n#SLURM -J x -t 3\n#SBATCH -J y\n#SLURM -t 4\n", false)->at(0),
            (Words{"-J", "x", "-t", "3", "-J", "y", "-t", "4"}));
  EXPECT_FALSE(script_words("#!/bin/sh\n#SBATCH -J \"a b\\\n", false));
}

TEST(Script, Refuses_what_is_no_directive) {
  EXPECT_EQ(script_words("#!/bin/sh\n#SBATCHX no\n", false).error().story,
            "Invalid directive found in batch script: X");
  EXPECT_EQ(script_words("#!/bin/sh\n#SBATCH nonsense\n", false).error().story,
            "Invalid directive found in batch script: nonsense");
  EXPECT_FALSE(script_words("#!/bin/sh\n#PBS -l x\n", false));
  EXPECT_TRUE(script_words("#!/bin/sh\n#PBS -l x\n", true));
}

TEST(Script, Hetjob_begins_the_next_component) {
  const auto words = script_words(
      "#!/bin/sh\n#SBATCH -n 2\n#SBATCH -N 2\n#SBATCH hetjob\n#SBATCH -n 4\n#SBATCH packjob\n#SBATCH -n "
      "1\necho\n#SBATCH hetjob\n",
      false);
  ASSERT_TRUE(words);
  using Words = std::vector<std::string>;
  EXPECT_EQ(*words, (std::vector<Words>{{"-n", "2", "-N", "2"}, {"-n", "4"}, {"-n", "1"}}));
  EXPECT_EQ(script_words("#!/bin/sh\n#SBATCH hetjob\n#SBATCH -n 1\n", false).error().story,
            "#SBATCH hetjob stands before the options of a component, with no others before it");
  EXPECT_FALSE(script_words("#!/bin/sh\n#SBATCH -n 1\n#SBATCH hetjob\n#SBATCH hetjob\n#SBATCH -n 1\n", false));
  EXPECT_EQ(script_words("#!/bin/sh\n#SBATCH -n 1\n#SBATCH hetjob\necho\n", false).error().story,
            "after the last #SBATCH hetjob come the options of one more component");
}

TEST(Script, Is_checked_before_it_is_sent) {
  EXPECT_EQ(script_problems("", 100)[0], "Batch script is empty!");
  EXPECT_EQ(script_problems(" \n", 100)[0], "Batch script contains only whitespace!");
  EXPECT_EQ(script_problems("echo", 100)[0], "This does not look like a batch script.  The first");
  EXPECT_EQ(script_problems("#!/bin/sh\r\n", 100)[0], "Batch script contains DOS line breaks (\\r\\n)");
  EXPECT_EQ(script_problems("#!/bin/sh\n" + std::string(100, 'x'), 100).size(), 2u);
  EXPECT_TRUE(script_problems("#!/bin/sh\n", 100).empty());
}

TEST(Environment, Follows_export) {
  const char* const given[] = {"A=1", "B=2", "SLURM_X=3", nullptr};
  using namespace std::string_literals;
  EXPECT_EQ(pack_environment(given, "ALL"), "A=1\0B=2\0SLURM_X=3\0"s);
  EXPECT_EQ(pack_environment(given, "NONE"), "SLURM_X=3\0"s);
  EXPECT_EQ(pack_environment(given, "B,C=5"), "B=2\0SLURM_X=3\0C=5\0"s);
  EXPECT_EQ(pack_environment(given, "ALL,A=9"), "B=2\0SLURM_X=3\0A=9\0"s);
  EXPECT_EQ(pack_environment(given, "D='x,y'"), "SLURM_X=3\0D=x,y\0"s);
  std::string packed = "A=1\0AB=2\0"s;
  set_variable(packed, "A", "7");
  EXPECT_EQ(packed, "AB=2\0A=7\0"s);
}

TEST(Values, Begin_times) {
  setenv("TZ", "UTC", 1);
  tzset();
  const std::int64_t now = 1'763'190'000;  // 2025-11-15T07:00:00 UTC
  EXPECT_EQ(parse_time_of_day("now+1hour", now), now + 3600);
  EXPECT_EQ(parse_time_of_day("now+30", now), now + 30);
  EXPECT_EQ(parse_time_of_day("08:30", now), now + 5400);
  EXPECT_EQ(parse_time_of_day("elevenses", now), now + 4 * 3600);
  EXPECT_EQ(parse_time_of_day("06:00", now), now + 23 * 3600);
  EXPECT_EQ(parse_time_of_day("2025-11-16T07:00", now), now + 86400);
  EXPECT_EQ(parse_time_of_day("11/16/25 7:00 PM", now), now + 86400 + 12 * 3600);
  EXPECT_EQ(parse_time_of_day("noon", now), now + 5 * 3600);
  EXPECT_FALSE(parse_time_of_day("soon", now));
  EXPECT_FALSE(parse_time_of_day("25:00", now));
}

TEST(Values, Signals) {
  EXPECT_EQ(parse_signal("TERM"), 15u);
  EXPECT_EQ(parse_signal("sigusr1"), 10u);
  EXPECT_EQ(parse_signal("9"), 9u);
  EXPECT_FALSE(parse_signal("NOPE"));
}

TEST(JobOptions, Signal_before_the_end) {
  JobDraft draft;
  ASSERT_TRUE(read(draft, {"--signal=B:USR1@300"}));
  EXPECT_EQ(draft.job.step_options().signal().signal(), 10u);
  EXPECT_EQ(draft.job.step_options().signal().seconds(), 300u);
  EXPECT_TRUE(draft.job.step_options().signal().batch_only());
  JobDraft plain;
  ASSERT_TRUE(read(plain, {"--signal=SIGINT"}));
  EXPECT_EQ(plain.job.step_options().signal().seconds(), 60u);
  EXPECT_FALSE(plain.job.step_options().signal().batch_only());
  EXPECT_EQ(refusal({"--signal=USR9"}), "Invalid --signal specification 'USR9': no such signal");
  EXPECT_EQ(refusal({"--signal=USR1@70000"}),
            "Invalid --signal specification 'USR1@70000': seconds before the end are 0 to 65535");
  EXPECT_EQ(refusal({"--signal=R:USR1"}), "--signal=R: (a signal before reservations) is not built yet in Millrace");
}

TEST(JobOptions, Mpi_names_are_checked) {
  JobDraft draft;
  ASSERT_TRUE(read(draft, {"--mpi=pmix_v4"}, srun));
  EXPECT_EQ(draft.job.step_options().mpi(), "pmix");
  EXPECT_EQ(refusal({"--mpi=lam"}, srun),
            "Invalid --mpi specification: 'lam' is not known, none, pmi2 or pmix would be right");
}

TEST(Values, Limits) {
  EXPECT_EQ(limit_names("ALL")->size(), 10u);
  EXPECT_TRUE(limit_names("none")->empty());
  EXPECT_EQ(*limit_names("RLIMIT_NOFILE,core"), (std::vector<std::string>{"NOFILE", "CORE"}));
  EXPECT_FALSE(limit_names("COLOUR"));
}

TEST(Manual, Shows_what_works_and_lists_what_is_refused) {
  const auto texts = option_texts(job_options(), sbatch);
  const ManualHead head{"sbatch", "submit a batch script", "[options] script", "Sends a script."};
  EXPECT_EQ(help_text(head, texts).find("--bbf"), std::string::npos);
  EXPECT_NE(help_text(head, texts).find("-n, --ntasks=<count>"), std::string::npos);
  EXPECT_NE(man_page(head, texts).find("\\-\\-bbf\nthere are no burst buffers"), std::string::npos);
  EXPECT_NE(man_page(head, texts).find("without effect here: recorded and shown"), std::string::npos);
}

TEST(JobOptions, Mail_words_and_environment_of_a_job) {
  JobDraft draft;
  const auto line = read(
      draft, {"--mail-type=begin,END", "--mail-type", "TIME_LIMIT_90,ARRAY_TASKS", "--mail-user=me@x", "--wckey=w",
              "--extra=e", "-O", "--network=n", "--core-spec=2", "--acctg-freq=task=5,energy=0", "--get-user-env=10L",
              "--cpu-freq=low-high:performance", "--profile=task,energy", "-M", "all", "--wait-all-nodes=1"});
  ASSERT_TRUE(line) << line.error().story;
  const wire::JobExtras& extras = draft.job.extras();
  EXPECT_EQ(mail_types_text(extras.mail_types()), "ARRAY_TASKS,BEGIN,END,TIME_LIMIT_90");
  EXPECT_EQ(extras.mail_user(), "me@x");
  EXPECT_EQ(extras.wckey(), "w");
  EXPECT_EQ(extras.extra(), "e");
  EXPECT_TRUE(extras.overcommit());
  EXPECT_EQ(extras.core_spec(), 2u);
  EXPECT_EQ(task_sampling_seconds(extras.acctg_freq()), 5u);
  EXPECT_EQ(extras.user_env(), "L10");
  EXPECT_EQ(draft.clusters, "all");
}

TEST(JobOptions, Wrong_values_of_them_are_refused) {
  EXPECT_EQ(refusal({"--mail-type=sometimes"}), "Invalid --mail-type specification");
  EXPECT_EQ(refusal({"--acctg-freq=often"}), "Invalid --acctg-freq specification");
  EXPECT_EQ(refusal({"--cpu-freq=fast"}), "Invalid --cpu-freq specification");
  EXPECT_EQ(refusal({"--core-spec=-1"}), "Invalid --core-spec specification");
  EXPECT_TRUE(refusal({"--get-user-env=x"}).starts_with("Invalid --get-user-env specification"));
  EXPECT_EQ(refusal({"--wait-all-nodes=2"}), "Invalid --wait-all-nodes specification");
  EXPECT_EQ(refusal({"-F", "/nowhere/nodes"}), "Unable to open file /nowhere/nodes");
  EXPECT_EQ(refusal({"--kill-command=NOSUCH"}, salloc),
            "Invalid --kill-command specification 'NOSUCH': no such signal");
  EXPECT_EQ(refusal({"-Iabc"}, srun), "Invalid numeric value \"abc\" for --immediate.");
}

// docs/user/coming-from-slurm.md says why: so every row that is refused or without effect has to.
TEST(JobOptions, What_is_refused_or_changes_nothing_says_why) {
  for (const JobOption& row : job_options())
    EXPECT_EQ(row.what_it_does() == Effect::built, row.why.empty()) << row.name;
}

TEST(JobOptions, A_list_of_sizes_is_read_and_a_later_number_takes_its_place) {
  const auto listed = parse_node_count("1,3-7:2");
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->least, 1u);
  EXPECT_EQ(listed->most, 7u);
  EXPECT_EQ(listed->counts, "1-7:2");
  EXPECT_EQ(parse_node_count("2,3,4")->counts, "");  // no gaps: a range
  EXPECT_EQ(parse_node_count("2-4")->counts, "");
  for (const char* wrong : {"0,2", "1,,2", "1,x", "3-1:2", "1:2", "1,99999999"})
    EXPECT_FALSE(parse_node_count(wrong)) << wrong;
}

}  // namespace
}  // namespace millrace
