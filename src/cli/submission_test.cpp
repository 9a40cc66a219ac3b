// src/cli/submission_test.cpp - command line over environment over script, for sbatch, salloc and srun.
#include "cli/submission.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "cli/options/job_options.h"
#include "core/model/job_extras.h"

namespace millrace {
namespace {

class Variable {
 public:
  Variable(std::string name, const char* value) : name_(std::move(name)) { setenv(name_.c_str(), value, 1); }
  ~Variable() { unsetenv(name_.c_str()); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  std::string name_;
};

struct Layered {
  const char* option;
  const char* variable;  // of sbatch
  const char *script, *environment, *line;
  std::function<std::string(const JobDraft&)> shown;
};

const Layered options[] = {
    {"account", "SBATCH_ACCOUNT", "a", "b", "c", [](const JobDraft& d) { return d.job.account(); }},
    {"acctg-freq", "SBATCH_ACCTG_FREQ", "1", "2", "3", [](const JobDraft& d) { return d.job.extras().acctg_freq(); }},
    {"constraint", "SBATCH_CONSTRAINT", "a", "b", "c", [](const JobDraft& d) { return d.job.resources().features(); }},
    {"core-spec", "SBATCH_CORE_SPEC", "1", "2", "3",
     [](const JobDraft& d) { return std::to_string(d.job.extras().core_spec()); }},
    {"clusters", "SBATCH_CLUSTERS", "a", "b", "c", [](const JobDraft& d) { return d.clusters; }},
    {"export", "SBATCH_EXPORT", "a", "b", "c", [](const JobDraft& d) { return d.export_list; }},
    {"gres", "SBATCH_GRES", "gpu:1", "gpu:2", "gpu:3", [](const JobDraft& d) { return d.job.resources().gres(); }},
    {"job-name", "SBATCH_JOB_NAME", "a", "b", "c", [](const JobDraft& d) { return d.job.name(); }},
    {"mem", "SBATCH_MEM_PER_NODE", "1", "2", "3",
     [](const JobDraft& d) { return std::to_string(d.job.memory_per_node_mib()); }},
    {"network", "SBATCH_NETWORK", "a", "b", "c", [](const JobDraft& d) { return d.job.extras().network(); }},
    {"output", "SBATCH_OUTPUT", "a", "b", "c", [](const JobDraft& d) { return d.job.std_out(); }},
    {"partition", "SBATCH_PARTITION", "a", "b", "c", [](const JobDraft& d) { return d.job.partition(); }},
    {"profile", "SBATCH_PROFILE", "all", "none", "task", [](const JobDraft& d) { return d.job.extras().profile(); }},
    {"qos", "SBATCH_QOS", "a", "b", "c", [](const JobDraft& d) { return d.job.qos(); }},
    {"time", "SBATCH_TIMELIMIT", "1", "2", "3",
     [](const JobDraft& d) { return std::to_string(d.job.time_limit_minutes()); }},
    {"wckey", "SBATCH_WCKEY", "a", "b", "c", [](const JobDraft& d) { return d.job.extras().wckey(); }},
};

std::string read(const Layered& each, bool with_line) {
  const std::string word = "--" + std::string{each.option} + "=" + each.line;
  Command command;
  command.name = "sbatch";
  if (with_line) command.words.push_back(word);
  const std::vector<std::vector<std::string>> script{{"--" + std::string{each.option} + "=" + each.script}};
  const auto all = read_all_layers(command, sbatch, script);
  return all ? each.shown(all->draft) : all.error().story;
}

TEST(Layers, Command_line_over_environment_over_script) {
  for (const Layered& each : options) {
    EXPECT_EQ(read(each, false), each.script) << each.option;
    const Variable set(each.variable, each.environment);
    EXPECT_EQ(read(each, false), each.environment) << each.variable;
    EXPECT_EQ(read(each, true), each.line) << each.option;
  }
}

TEST(Layers, Salloc_and_srun_have_names_of_their_own) {
  Command command;
  const Variable of_sbatch("SBATCH_WCKEY", "b"), of_salloc("SALLOC_WCKEY", "a"), of_srun("SLURM_WCKEY", "r"),
      seconds("SALLOC_IMMEDIATE", "5");
  const auto allocation = read_all_layers(command, salloc, {});
  ASSERT_TRUE(allocation) << allocation.error().story;
  EXPECT_EQ(allocation->draft.job.extras().wckey(), "a");
  EXPECT_EQ(allocation->draft.immediate_seconds, 5u);
  const auto step = read_all_layers(command, srun, {});
  ASSERT_TRUE(step);
  EXPECT_EQ(step->draft.job.extras().wckey(), "r");
  EXPECT_FALSE(step->draft.immediate);
}

TEST(Layers, Verbosity_and_the_wait_for_switches_come_from_variables_alone) {
  Command command;
  const Variable debug("SLURM_DEBUG", "3"), count("SBATCH_REQ_SWITCH", "2"), wait("SBATCH_WAIT4SWITCH", "10:00");
  const auto all = read_all_layers(command, sbatch, {});
  ASSERT_TRUE(all) << all.error().story;
  EXPECT_EQ(all->draft.verbose, 3);
  EXPECT_EQ(all->draft.job.resources().switches(), 2u);
  EXPECT_EQ(all->draft.job.resources().switches_wait_seconds(), 600u);
}

TEST(Layers, Only_this_cluster_can_be_named) {
  ClientSettings settings;
  settings.cluster_name = "here";
  JobDraft draft;
  EXPECT_TRUE(check_clusters(draft, settings));
  draft.clusters = "here,all";
  EXPECT_TRUE(check_clusters(draft, settings));
  draft.clusters = "there";
  EXPECT_EQ(check_clusters(draft, settings).error().story,
            "'there' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list clusters' to "
            "see available clusters.");
}

TEST(Layers, Variables_of_a_file_and_preserved_ones_are_packed) {
  JobDraft draft;
  draft.export_list = "NONE";
  draft.exported = std::string{"A=1\0B=two words\0=none\0", 23};
  const Variable tasks("SLURM_NTASKS", "7");
  draft.preserve_env = true;
  const std::string packed = job_environment(draft);
  for (const char* entry : {"A=1", "B=two words", "MILLRACE_PRESERVED_SLURM_NTASKS=7"})
    EXPECT_NE(("\0" + packed).find(std::string{entry} + '\0'), std::string::npos) << entry;
}

}  // namespace
}  // namespace millrace
