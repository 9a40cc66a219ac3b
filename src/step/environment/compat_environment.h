// src/step/environment/compat_environment.h - variables of PBS and LSF, for jobs that qsub or bsub submitted.
#pragma once

#include <string>
#include <string_view>

#include "step/environment/environment.h"

namespace millrace {

// Adds what the system the job was submitted for promises; a job of sbatch is left as it is. The name of the variable
// that says where the file with the hosts lies; empty: there is none.
std::string_view add_compat(Environment& environment, const wire::LaunchPlan& plan);
// What stands in that file: a line with the host for every task.
std::string host_lines(const wire::LaunchPlan& plan);

}  // namespace millrace
