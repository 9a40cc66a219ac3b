// src/cli/submission.h - what sbatch and srun share: reading options in their order of precedence, describing the
// submitter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/options/job_draft.h"
#include "client.pb.h"

namespace millrace {

// Command line over environment over script. `script_words` come from #SBATCH lines; they live as long as the result.
struct Submission {
  JobDraft draft;
  std::vector<wire::JobDescription>
      more;  // further components of a heterogeneous job (sbatch -n4 : -n1 --gpus=1 script)
  std::vector<std::string_view> operands;
};

// First look at the command line alone: which script, which of the options that decide how it is read.
Result<Submission> read_command_line(const Command& command, std::uint8_t tool);
// All layers, lowest first.
Result<Submission> read_all_layers(const Command& command, std::uint8_t tool,
                                   const std::vector<std::vector<std::string>>& script_words);

// A program of srun and the component it runs in: srun --het-group=0 a : --het-group=1 b. In the order of the
// components.
struct SrunPart {
  std::uint32_t component = 0;
  std::vector<std::string_view> words;  // its own options, for those who look at them again
  Submission all;
};
Result<std::vector<SrunPart>> read_srun_parts(const Command& command);
// The further components as the first one is described.
void describe_components(const Command& command, Submission& all, const ClientSettings& settings);

// --gres=help: the kinds there are. True: it was asked, and that was all.
bool answer_gres_help(const JobDraft& draft, const ClientSettings& settings);

// Where and from whom: working directory, umask, limits, host, session, submit line.
// The shell's limits as --propagate, else slurm.conf, passes them on.
void describe_submitter(const Command& command, JobDraft& draft, const ClientSettings& settings);
std::string job_environment(const JobDraft& draft);
// What this command submits is for users of another system ("pbs", "lsf"): the job gets the variables that one has.
// Those of the submitting side are to be set after this.
void mark_submission(const char* front);
// -M: this cluster by its name, or all of them, which is the same here.
Result<void> check_clusters(const JobDraft& draft, const ClientSettings& settings);
std::string current_directory();
// Until the job has ended, across restarts of the controller; its exit code, 1 when a signal or anything else ended it.
int wait_for_end(const Command& command, const SessionOptions& options, std::uint32_t job_id);

// "sbatch: Job 95 to start at ..." for --test-only.
std::string test_only_text(const wire::Submitted& submitted);

}  // namespace millrace
