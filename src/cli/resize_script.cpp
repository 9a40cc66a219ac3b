// src/cli/resize_script.cpp - see resize_script.h.
#include "cli/resize_script.h"

#include <fstream>

#include "base/text.h"

namespace millrace {
namespace {

Result<void> write(const std::string& name, const std::string& text) {
  std::ofstream file(name, std::ios::trunc);
  file << text;
  file.close();
  if (!file)
    return fail(Errc::io, "Could not create file " + name +
                              ": the shells of the job keep their variables; scontrol show job says what it has");
  return {};
}

}  // namespace

// How many tasks there are where is not known before the next step says so.
ResizeScripts resize_scripts(const wire::JobView& job) {
  const std::string count = std::to_string(job.node_count());
  const std::pair<const char*, std::string> values[] = {
      {"SLURM_NODELIST", job.nodes()},
      {"SLURM_JOB_NODELIST", job.nodes()},
      {"SLURM_NNODES", count},
      {"SLURM_JOB_NUM_NODES", count},
      {"SLURM_JOB_CPUS_PER_NODE",
       compress_counts({job.cpus_per_allocated_node().begin(), job.cpus_per_allocated_node().end()})},
  };
  ResizeScripts out;
  for (const auto& [name, value] : values) {
    out.sh += std::string{"export "} + name + "=\"" + value + "\"\n";
    out.csh += std::string{"setenv "} + name + " \"" + value + "\"\n";
  }
  for (const char* name : {"SLURM_NPROCS", "SLURM_NTASKS", "SLURM_TASKS_PER_NODE"}) {
    out.sh += std::string{"unset "} + name + "\n";
    out.csh += std::string{"unsetenv "} + name + "\n";
  }
  return out;
}

Result<std::string> write_resize_scripts(const wire::JobView& job) {
  const std::string name = "slurm_job_" + std::to_string(job.job_id()) + "_resize";
  const ResizeScripts scripts = resize_scripts(job);
  MR_TRY_VOID(write(name + ".sh", scripts.sh));
  MR_TRY_VOID(write(name + ".csh", scripts.csh));
  return "To reset Slurm environment variables, execute\n  For bash or sh shells:  . ./" + name +
         ".sh\n  For csh shells:         source ./" + name + ".csh\n";
}

}  // namespace millrace
