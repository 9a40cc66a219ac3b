// src/wire/program_environment.h - what prologs and epilogs are told of a job, in Slurm's variables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::wire {
class AttemptStatus;
class Credential;
class LaunchPlan;
}  // namespace millrace::wire

namespace millrace {

// `context`: prolog_slurmd, epilog_slurmd, prolog_slurmctld, epilog_slurmctld. Of an epilog `end` is how the job ended.
std::vector<std::string> program_environment(std::string_view context, const wire::LaunchPlan& plan,
                                             const wire::Credential& identity, const wire::AttemptStatus* end);

}  // namespace millrace
