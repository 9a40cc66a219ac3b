// src/config/key_words_test.cpp - every word of a key is known, named as not built, or has a nearest neighbour.
#include "config/key_words.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "config/keys.h"
#include "config/slurm_conf.h"

namespace millrace {
namespace {

ConfigurationReport parse(const std::string& text) {
  return parse_configuration_text("ClusterName=test\nSlurmctldHost=h\n" + text + "NodeName=a\n", "slurm.conf");
}

std::vector<std::string> keys_of(const std::vector<ConfigurationNote>& notes) {
  std::vector<std::string> out;
  for (const ConfigurationNote& note : notes) out.push_back(note.key);
  return out;
}

TEST(KeyWords, Belong_to_keys_that_are_there_and_stand_in_one_list_each) {
  for (const KeyWords& words : key_words()) {
    EXPECT_NE(find_config_key(words.key), nullptr) << words.key;
    std::set<std::string> seen;
    for (const std::string_view list : {words.works, words.no_effect, words.not_built})
      for (const std::string_view word : split(list, ' '))
        if (!word.empty()) EXPECT_TRUE(seen.insert(lower(word)).second) << words.key << ' ' << word;
  }
}

// A site's file starts here as it does under Slurm, and nothing in it is passed over in silence.
TEST(KeyWords, A_word_of_Slurm_never_keeps_a_daemon_from_starting_and_one_that_does_nothing_is_named) {
  for (const KeyWords& words : key_words()) {
    const bool whole_key = find_config_key(words.key)->effect != KeyEffect::works;
    for (const std::string_view list : {words.no_effect, words.not_built})
      for (const std::string_view word : split(list, ' ')) {
        if (word.empty()) continue;
        const auto report = parse(std::string{words.key} + "=" + std::string{word} + "\n");
        EXPECT_TRUE(report.errors.empty()) << words.key << ": " << report.errors[0];
        const Configuration& c = report.configuration;
        EXPECT_TRUE(c.unknown.empty()) << words.key << ' ' << word;
        const std::vector<std::string> named = keys_of(list == words.no_effect ? c.without_effect : c.not_built);
        const std::string expected =
            whole_key ? std::string{words.key} : std::string{words.key} + "=" + std::string{word};
        if (!equals_ignoring_case(word, "none")) EXPECT_EQ(named, std::vector<std::string>{expected});
      }
  }
}

TEST(KeyWords, A_word_that_is_misspelt_has_a_nearest_one) {
  const auto report = parse(
      "SchedulerParameters=bf_max_job_usr=5,bf_intervall=7,qqq\nLaunchParameters=use_interactiv_step\n"
      "PreemptParameters=yongest_first\nCommunicationParameters=EnableIPv66\nKillWiat=3\n");
  EXPECT_TRUE(report.errors.empty());
  std::vector<std::string> said;
  for (const ConfigurationNote& note : report.configuration.unknown) said.push_back(note.key + ": " + note.text);
  EXPECT_EQ(said, (std::vector<std::string>{
                      "SchedulerParameters=bf_max_job_usr=5: unknown word; did you mean bf_max_job_user?",
                      "SchedulerParameters=bf_intervall=7: unknown word; did you mean bf_interval?",
                      "SchedulerParameters=qqq: unknown word",
                      "LaunchParameters=use_interactiv_step: unknown word; did you mean use_interactive_step?",
                      "PreemptParameters=yongest_first: unknown word; did you mean youngest_first?",
                      "CommunicationParameters=EnableIPv66: unknown word; did you mean EnableIPv6?",
                      "KillWiat: unknown key; did you mean KillWait?"}));
  EXPECT_EQ(report.configuration.scheduler.backfill_interval, seconds(30));
}

TEST(KeyWords, A_word_that_ends_the_start_has_a_nearest_one_too) {
  const auto error = [](const char* line) {
    const auto report = parse(line);
    return report.errors.empty() ? std::string{} : report.errors.front();
  };
  EXPECT_TRUE(error("PrologFlags=Aloc\n").ends_with("; did you mean Alloc?"));
  EXPECT_TRUE(error("SelectTypeParameters=CR_Core_Memry\n").ends_with("; did you mean CR_CORE_MEMORY?"));
  EXPECT_TRUE(error("AccountingStorageEnforce=limit\n").ends_with("; did you mean limits?"));
  EXPECT_TRUE(error("PriorityFlags=MAX_TRESS\n").ends_with("; did you mean MAX_TRES?"));
  EXPECT_TRUE(error("DebugFlags=Backfil\n").ends_with("; did you mean Backfill?"));
  EXPECT_TRUE(error("TaskPluginParam=Autobnd=cores\n").ends_with("; did you mean Autobind?"));
  EXPECT_TRUE(error("AuthType=auth/slrum\n").ends_with("; did you mean auth/slurm?"));
}

TEST(KeyWords, Work_in_any_case_and_with_blanks_around_them) {
  const auto report = parse("SchedulerParameters=\"BF_Interval = 7, Millrace_Predict\"\n");
  EXPECT_TRUE(report.errors.empty());
  EXPECT_TRUE(report.configuration.unknown.empty());
  EXPECT_EQ(report.configuration.scheduler.backfill_interval, seconds(7));
  EXPECT_TRUE(report.configuration.scheduler.predict_run_times);
}

TEST(KeyWords, AuthType_that_is_not_built_is_named) {
  EXPECT_EQ(keys_of(parse("AuthType=auth/slurm\n").configuration.not_built),
            (std::vector<std::string>{"AuthType=auth/slurm"}));
  EXPECT_TRUE(parse("AuthType=auth/munge\n").configuration.not_built.empty());
}

// Without PRIORITY more jobs would be preempted than the site wants: nobody is.
TEST(KeyWords, Modes_of_preemption_that_are_not_built_are_named_and_end_no_job) {
  const auto report = parse("PreemptMode=REQUEUE,PRIORITY\n");
  EXPECT_TRUE(report.errors.empty());
  EXPECT_EQ(report.configuration.preempt_mode, PreemptMode::off);
  EXPECT_EQ(keys_of(report.configuration.not_built), (std::vector<std::string>{"PreemptMode=PRIORITY"}));
  const auto within = parse("PreemptMode=REQUEUE,WITHIN\n");
  EXPECT_EQ(within.configuration.preempt_mode, PreemptMode::requeue);
  EXPECT_EQ(keys_of(within.configuration.not_built), (std::vector<std::string>{"PreemptMode=WITHIN"}));
  const auto partition = parse("PartitionName=p PreemptMode=CANCEL,PRIORITY\n");
  EXPECT_EQ(partition.configuration.partitions.front().preempt_mode, PreemptMode::off);
  EXPECT_EQ(keys_of(partition.configuration.not_built), (std::vector<std::string>{"PreemptMode"}));
}

TEST(KeyWords, A_long_word_costs_nothing) { EXPECT_EQ(did_you_mean(std::string(1'000'000, 'x'), "bf_interval"), ""); }

}  // namespace
}  // namespace millrace
