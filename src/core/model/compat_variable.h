// src/core/model/compat_variable.h - jobs that qsub or bsub submitted say so on their way to the node, where they get
// those systems' variables.
#pragma once

#include <string_view>

namespace millrace {

// "pbs" or "lsf". Taken out before anything of the job runs: what it submits in turn with sbatch is a plain job.
constexpr std::string_view compat_marker = "MILLRACE_FRONT";

// Only the submitting side knows these; the node adds the others. They go with the job whatever --export says.
constexpr std::string_view submission_variables[] = {
    "PBS_ENVIRONMENT", "PBS_O_WORKDIR", "PBS_O_HOST", "PBS_O_LOGNAME", "PBS_O_HOME",   "PBS_O_PATH",      "PBS_O_SHELL",
    "PBS_O_LANG",      "PBS_O_MAIL",    "PBS_O_TZ",   "LS_SUBCWD",     "LSB_SUB_USER", "LSB_INTERACTIVE",
};

}  // namespace millrace
