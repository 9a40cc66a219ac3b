// src/step/launch/task_prolog.h - TaskProlog and srun --task-prolog: a program run by the task before it becomes the
// user's, whose output changes its environment.
#pragma once

#include <string>
#include <string_view>

#include "step/environment/environment.h"

namespace millrace {

// "export NAME=value" and "unset NAME" change `environment`; what stands after "print " is returned, for the task's
// standard output.
std::string obey_prolog_output(std::string_view output, Environment& environment);
// Runs it, with all of the task's rights and none besides. Its exit code, or 128 and the signal; 127 when it cannot be
// run.
int run_task_prolog(const std::string& path, Environment& environment);

}  // namespace millrace
