// src/cli/resize_script.h - files by which a shell learns that its job has fewer nodes: slurm_job_12_resize.sh and
// .csh.
#pragma once

#include <string>

#include "base/result.h"
#include "client.pb.h"

namespace millrace {

struct ResizeScripts {
  std::string sh, csh;
};
ResizeScripts resize_scripts(const wire::JobView& job);

// In the folder where the command runs. The words say how to use them.
Result<std::string> write_resize_scripts(const wire::JobView& job);

}  // namespace millrace
