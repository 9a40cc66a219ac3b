// src/apps/accelerator_watcher.h - the process that looks at accelerators for an agent (agent/accelerator_watch).
#pragma once

#include <string>

namespace millrace {

// Reports on standard output: once at first, then for each byte on standard input, until that ends.
int watch_accelerators(const std::string& detect);
// `slurmd -G`: what is found, in words.
int print_accelerators();

}  // namespace millrace
