// src/core/model/preserved_variable.h - srun --preserve-env: variables that tasks see as srun did, under another name
// on the way.
#pragma once

#include <string_view>

namespace millrace {

constexpr std::string_view preserved_prefix = "MILLRACE_PRESERVED_";  // before SLURM_NTASKS

}  // namespace millrace
