// src/accelerators/sysfs.h - accelerators as the kernel tells of them, with no maker's library: AMD's by KFD, Intel's
// and NVIDIA's by their drivers.
#pragma once

#include <string>
#include <vector>

#include "accelerators/accelerator.h"

namespace millrace {

// `root` is where /sys, /proc and /dev are looked for; "" for the real ones. A machine without such devices has none:
// no error.
std::vector<Accelerator> amd_gpus(const std::string& root);
std::vector<Accelerator> intel_gpus(const std::string& root);
// Without NVIDIA's library: no instances of divided gpus, no use, no health.
std::vector<Accelerator> nvidia_gpus(const std::string& root);

}  // namespace millrace
