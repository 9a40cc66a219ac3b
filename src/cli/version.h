// src/cli/version.h - the two versions we print: whose behaviour we keep, and our own.
#pragma once

namespace millrace {

constexpr const char* slurm_version = "26.11.0";  // clients take the second word of "slurm 26.11.0" as the version
constexpr const char* millrace_version = "0.1.0";

}  // namespace millrace
