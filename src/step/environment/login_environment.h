// src/step/environment/login_environment.h - sbatch --get-user-env: the variables a login of the user on this node has.
#pragma once

#include <string>
#include <string_view>

#include "step/environment/environment.h"

namespace millrace {

// NAME=value, each ended by NUL or (of an env without -0) by a newline. What is no name is passed over: it is the rest
// of a value.
void add_login_variables(std::string_view printed, Environment& environment);

// Runs the user's shell, as a login ("L...") or not ("S..."), and puts what it has under `environment`: variables that
// are there stay. To be called by the task itself, as the user, before its program. False: it took longer than the
// seconds that stand in `wish` (else 8), or the shell could not be run; the environment is as it was.
bool load_login_environment(const std::string& wish, Environment& environment);

}  // namespace millrace
