// src/cli/commands.h - the commands: each runs to its end and gives the exit code of the program.
#pragma once

#include <string>

#include "cli/console.h"

namespace millrace {

int run_sbatch(Command& command);
int run_srun(Command& command);
int run_salloc(Command& command);
int run_squeue(Command& command);
int run_sinfo(Command& command);
int run_scancel(Command& command);
int run_sbcast(Command& command);
int run_scontrol(Command& command);
int run_why(Command& command);
int run_sacctmgr(Command& command);
int run_sprio(Command& command);
int run_sshare(Command& command);
int run_sattach(Command& command);
int run_sstat(Command& command);
int run_sacct(Command& command);
int run_sdiag(Command& command);
int run_check(Command& command);  // millrace check [slurm.conf]
int run_man(Command& command);    // millrace man sbatch
int run_help(Command& command);

// Man pages; each from the command's own table.
std::string sbatch_manual();
std::string srun_manual();
std::string salloc_manual();
std::string squeue_manual();
std::string sinfo_manual();
std::string scancel_manual();
std::string sbcast_manual();
std::string scontrol_manual();
std::string sacctmgr_manual();
std::string sprio_manual();
std::string sshare_manual();
std::string sattach_manual();
std::string sstat_manual();
std::string sacct_manual();
std::string sdiag_manual();

}  // namespace millrace
