// src/cli/render/error_texts.h - Slurm's numbered errors in its words, for scontrol errnumstr.
#pragma once

#include <cstdint>
#include <string>

namespace millrace {

// Of the system's own numbers, what the system says.
std::string error_text(std::int64_t code);

}  // namespace millrace
