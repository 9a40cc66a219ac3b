// src/cli/commands.h - the commands: each runs to its end and gives the exit code of the program.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/options/option.h"

namespace millrace {

int run_sbatch(Command& command);
int run_srun(Command& command);
int run_salloc(Command& command);
int run_squeue(Command& command);
int run_sinfo(Command& command);
int run_scancel(Command& command);
int run_sbcast(Command& command);
int run_sgather(Command& command);
int run_swait(Command& command);
int run_scontrol(Command& command);
int run_why(Command& command);
int run_sacctmgr(Command& command);
int run_sprio(Command& command);
int run_sshare(Command& command);
int run_sattach(Command& command);
int run_sstat(Command& command);
int run_sacct(Command& command);
int run_sdiag(Command& command);
int run_sview(Command& command);
int run_scrontab(Command& command);
int run_strigger(Command& command);
int run_check(Command& command);  // millrace check [slurm.conf]
int run_man(Command& command);    // millrace man sbatch
int run_help(Command& command);
int run_completion(Command& command);   // millrace completion bash
int run_differences(Command& command);  // millrace differences: what Slurm's options come to here

// Man pages; each from the command's own table.
std::string sbatch_manual();
std::string srun_manual();
std::string salloc_manual();
std::string squeue_manual();
std::string sinfo_manual();
std::string scancel_manual();
std::string sbcast_manual();
std::string sgather_manual();
std::string swait_manual();
std::string scontrol_manual();
std::string sacctmgr_manual();
std::string sprio_manual();
std::string sshare_manual();
std::string sattach_manual();
std::string sstat_manual();
std::string sacct_manual();
std::string sdiag_manual();
std::string sview_manual();
std::string scrontab_manual();
std::string strigger_manual();

// The options of each, for completion and for the page about what differs from Slurm.
std::vector<OptionText> sbatch_options();
std::vector<OptionText> sacct_option_texts();
std::vector<OptionText> sdiag_options();
std::vector<OptionText> sview_options();
std::vector<OptionText> scrontab_options();
std::vector<OptionText> strigger_options();
std::vector<OptionText> srun_options();
std::vector<OptionText> salloc_options();
std::vector<OptionText> squeue_options();
std::vector<OptionText> sinfo_options();
std::vector<OptionText> scancel_options();
std::vector<OptionText> sbcast_options();
std::vector<OptionText> sgather_options();
std::vector<OptionText> swait_options();
std::vector<OptionText> sacctmgr_options();
std::vector<OptionText> sprio_options();
std::vector<OptionText> sshare_options();
std::vector<OptionText> sattach_options();
std::vector<OptionText> sstat_options();
std::vector<OptionText> scontrol_options();
// A word of a command that has words of its own: scontrol hold.
struct CommandWord {
  std::string_view name, arguments, help;
  bool built;
  std::string_view why;  // it is refused; empty: not built yet
};
std::vector<CommandWord> scontrol_words();
std::vector<CommandWord> scontrol_entities();
// What scontrol update can change of each entity.
struct EntityKeys {
  std::string_view entity;
  std::vector<std::string_view> keys;
};
std::vector<EntityKeys> scontrol_update_keys();
std::vector<std::string_view> scontrol_reservation_keys();
std::vector<CommandWord> sacctmgr_words();
std::vector<CommandWord> sacctmgr_entities();  // of show; those that can be changed say so in `arguments`
std::string bash_completion();
std::string differences_text();  // the generated part of docs/user/coming-from-slurm.md

}  // namespace millrace
