// src/cli/options/foreign_directives_test.cpp - lines of PBS and LSF scripts become options of sbatch.
#include "cli/options/foreign_directives.h"

#include <gtest/gtest.h>

#include "cli/options/job_options.h"
#include "cli/options/script.h"

namespace millrace {
namespace {

std::string joined(const Result<ForeignLine>& line) {
  if (!line) return "error: " + line.error().story;
  std::string out;
  for (const std::string& word : line->words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string pbs(std::vector<std::string> words) { return joined(read_pbs_directive(words)); }
std::string lsf(std::vector<std::string> words) { return joined(read_lsf_directive(words)); }

TEST(ForeignDirectives, Resources_of_pbs) {
  EXPECT_EQ(pbs({"-l", "nodes=2:ppn=4,walltime=01:30:00,mem=4gb"}),
            "--nodes=2 --ntasks-per-node=4 --time=01:30:00 --mem=4gb");
  EXPECT_EQ(pbs({"-lwalltime=90"}), "--time=0:90") << "seconds, and glued";
  EXPECT_EQ(pbs({"-l", "nodes=n1+n2:ppn=2:fast"}), "--nodes=2 --nodelist=n1,n2 --ntasks-per-node=2 --constraint=fast");
  EXPECT_EQ(pbs({"-l", "select=2:ncpus=8:mpiprocs=4:mem=8gb:ngpus=1"}),
            "--nodes=2 --mem=8gb --gpus-per-node=1 --ntasks-per-node=4 --cpus-per-task=2");
  EXPECT_EQ(pbs({"-l", "select=1:ncpus=3"}), "--nodes=1 --ntasks-per-node=1 --cpus-per-task=3");
  EXPECT_EQ(pbs({"-l", "place=scatter:excl"}), "--spread-job --exclusive");
  EXPECT_EQ(pbs({"-l", "place=free:shared"}), "");
  EXPECT_TRUE(pbs({"-l", "place=sideways"}).starts_with("error: #PBS -l place=sideways"));
  EXPECT_EQ(pbs({"-l", "moons=3"}),
            "error: #PBS -l moons: this resource is not known; --ignore-pbs skips all #PBS lines");
}

TEST(ForeignDirectives, Other_options_of_pbs) {
  EXPECT_EQ(pbs({"-N", "name", "-o", "host:/tmp/out", "-e", "err", "-j", "oe", "-q", "long@server", "-A", "acct"}),
            "--job-name=name --output=/tmp/out --error=err --partition=long --account=acct");
  EXPECT_EQ(pbs({"-m", "abe", "-M", "me@x"}), "--mail-type=FAIL,BEGIN,END --mail-user=me@x");
  EXPECT_EQ(pbs({"-W", "depend=afterok:1:2,afterany:3"}), "--dependency=afterok:1:2,afterany:3");
  EXPECT_EQ(pbs({"-V", "-v", "A=1,B", "-r", "n", "-J", "1-5", "-S", "/bin/bash", "-h"}),
            "--export=ALL --export=ALL,A=1,B --no-requeue --array=1-5 --hold");
  EXPECT_EQ(pbs({"-a", "202611151030"}), "--begin=2026-11-15T10:30");
  EXPECT_EQ(pbs({"-Y"}), "error: #PBS -Y: this option is not known; --ignore-pbs skips all #PBS lines");
  EXPECT_EQ(pbs({"-N"}), "error: #PBS -N: a value is missing");
  // Without them the job would run, and not as it was meant.
  EXPECT_EQ(pbs({"-W", "stagein=a@b:c"}),
            "error: #PBS -W stagein: files are not copied; sbcast and cp in the script do it");
  EXPECT_EQ(pbs({"-W", "umask=022"}), "error: #PBS -W umask: the job has the umask of its submitter");
  EXPECT_EQ(pbs({"-u", "other"}), "error: #PBS -u: a job is its submitter's; --uid is for root");
  EXPECT_EQ(lsf({"-E", "prepare"}), "error: #BSUB -E: no command is run before the job");
}

TEST(ForeignDirectives, Options_of_lsf) {
  EXPECT_EQ(lsf({"-J", "name[1-10]%2", "-n", "8", "-W", "1:30", "-q", "normal", "-o", "out.%J"}),
            "--job-name=name --array=1-10%2 --ntasks=8 --time=1:30:00 --partition=normal --output=out.%A");
  EXPECT_EQ(lsf({"-W", "90", "-M", "4096", "-P", "proj", "-x"}), "--time=90 --mem=4096K --account=proj --exclusive");
  EXPECT_EQ(lsf({"-R", "span[ptile=4] rusage[mem=2G]", "-gpu", "num=2:mode=shared"}),
            "--ntasks-per-node=4 --mem=2G --gpus-per-node=2");
  EXPECT_EQ(lsf({"-w", "done(12) && ended(13)"}), "--dependency=afterok:12,afterany:13");
  EXPECT_EQ(lsf({"-oo", "f", "-B", "-N", "-u", "me"}),
            "--output=f --open-mode=truncate --mail-type=BEGIN --mail-type=END --mail-user=me");
  EXPECT_TRUE(lsf({"-w", "done(name)"}).starts_with("error: #BSUB -w done(name)"));
}

TEST(ForeignDirectives, Requirements_of_lsf_are_met_refused_or_said) {
  EXPECT_EQ(lsf({"-R", "select[mem>4096 && type==any] span[hosts=1]"}), "--nodes=1 --mem=4096");
  EXPECT_EQ(lsf({"-R", "mem > 500"}), "--mem=500");
  EXPECT_EQ(lsf({"-R", "select[mem>4096] rusage[mem=2000]"}), "--mem=2000") << "what is used counts";
  EXPECT_TRUE(lsf({"-R", "select[hname=='a']"})
                  .starts_with("error: #BSUB -R select[hname=='a']: this requirement is not known"))
      << lsf({"-R", "select[hname=='a']"});
  EXPECT_TRUE(lsf({"-R", "affinity[core(2)]"}).starts_with("error: #BSUB -R affinity[]"));
  EXPECT_TRUE(lsf({"-R", "cu[type=rack]"}).starts_with("error: #BSUB -R cu[]"));
  EXPECT_TRUE(lsf({"-R", "rusage[license=1]"}).starts_with("error: #BSUB -R rusage[license]"));
  const auto ordered = read_lsf_directive(std::vector<std::string>{"-R", "order[ut] span[ptile=2]"});
  ASSERT_TRUE(ordered) << ordered.error().story;
  EXPECT_EQ(ordered->words, std::vector<std::string>{"--ntasks-per-node=2"});
  EXPECT_EQ(ordered->notes.size(), 1u);
  EXPECT_EQ(lsf({"-n", "4,8", "-o", "%J.%I"}), "--ntasks=4 --output=%A.%a");
  EXPECT_EQ(pbs({"-p", "100"}), "--nice=-100");
  EXPECT_EQ(script_warnings("#!/bin/sh\n#PBS -l vmem=4gb,walltime=1:00\n#BSUB -R order[ut]\n").size(), 2u);
  EXPECT_EQ(script_warnings("#!/bin/sh\n#PBS -l place=pack\n#PBS -l place=scatter\n").size(), 1u);
  EXPECT_TRUE(script_warnings("#!/bin/sh\n#PBS -l vmem=4gb\n", true).empty());
}

TEST(ForeignDirectives, Are_weaker_than_sbatch_lines_and_can_be_skipped) {
  const std::string script =
      "#!/bin/sh\n#SBATCH --nodes=1\n#PBS -l nodes=2:ppn=3  # comment\n#PBS -N \"a b\"\n#BSUB -n 6\necho\n#PBS -Y\n";
  const auto words = script_words(script, false);
  ASSERT_TRUE(words) << words.error().story;
  EXPECT_EQ(words->front(), (std::vector<std::string>{"--nodes=2", "--ntasks-per-node=3", "--job-name=a b",
                                                      "--ntasks=6", "--nodes=1"}));
  const auto skipped = script_words(script, true);
  ASSERT_TRUE(skipped);
  EXPECT_EQ(skipped->front(), std::vector<std::string>{"--nodes=1"});
  EXPECT_EQ(script_warnings("#!/bin/sh\n  # note\n#SLURM -n 1\n#SLURM -t 1\n"),
            std::vector<std::string>{
                "Change from #SLURM to #SBATCH in your script and verify the options are valid in sbatch"});
  EXPECT_TRUE(script_warnings("#!/bin/sh\n#SBATCH -n 1\necho\n#SLURM\n").empty());
}

// Every word a row makes is one sbatch has.
TEST(ForeignDirectives, Words_are_options_of_sbatch) {
  const auto line_of_pbs = read_pbs_directive(
      std::vector<std::string>{"-l", "nodes=2:ppn=2:gpus=1,walltime=60,mem=1gb,pmem=1gb,procs=4,file=1gb,nice=3", "-m",
                               "a", "-M", "x", "-p", "-5", "-r", "y", "-t", "1", "-d", "/"});
  ASSERT_TRUE(line_of_pbs) << line_of_pbs.error().story;
  JobDraft draft;
  const std::vector<std::string_view> list(line_of_pbs->words.begin(), line_of_pbs->words.end());
  const auto line = apply_words(job_options(), sbatch, list, Operands::end_options, draft);
  EXPECT_TRUE(line) << line.error().story;
}

}  // namespace
}  // namespace millrace
