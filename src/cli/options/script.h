// src/cli/options/script.h - the batch script: is it one, and which options do its #SBATCH lines give?
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

// Lines to print when it is not a batch script; empty when it is.
std::vector<std::string> script_problems(std::string_view script, std::uint64_t size_max);

// What is said of one that is taken all the same.
std::vector<std::string> script_warnings(std::string_view script, bool ignore_pbs = false);

// The words of all #SBATCH lines (and #SLURM lines, which are warned of) before the first command, in order; a line
// `#SBATCH hetjob` begins the next component. At least one list. #PBS and #BSUB lines, translated, stand before those
// of the first component: #SBATCH lines win.
Result<std::vector<std::vector<std::string>>> script_words(std::string_view script, bool ignore_pbs);

std::string wrap_script(std::string_view command);

}  // namespace millrace
