// src/cli/resize_script_test.cpp - what a shell is told when its job has fewer nodes.
#include "cli/resize_script.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(ResizeScript, Sets_what_has_changed_and_forgets_what_is_not_known_any_more) {
  wire::JobView job;
  job.set_job_id(7);
  job.set_nodes("n[1-3]");
  job.set_node_count(3);
  for (const std::uint32_t cpus : {4u, 4u, 2u}) job.add_cpus_per_allocated_node(cpus);
  const ResizeScripts scripts = resize_scripts(job);
  EXPECT_EQ(scripts.sh,
            "export SLURM_NODELIST=\"n[1-3]\"\nexport SLURM_JOB_NODELIST=\"n[1-3]\"\nexport SLURM_NNODES=\"3\"\nexport "
            "SLURM_JOB_NUM_NODES=\"3\"\n"
            "export SLURM_JOB_CPUS_PER_NODE=\"4(x2),2\"\nunset SLURM_NPROCS\nunset SLURM_NTASKS\nunset "
            "SLURM_TASKS_PER_NODE\n");
  EXPECT_EQ(scripts.csh,
            "setenv SLURM_NODELIST \"n[1-3]\"\nsetenv SLURM_JOB_NODELIST \"n[1-3]\"\nsetenv SLURM_NNODES \"3\"\nsetenv "
            "SLURM_JOB_NUM_NODES \"3\"\n"
            "setenv SLURM_JOB_CPUS_PER_NODE \"4(x2),2\"\nunsetenv SLURM_NPROCS\nunsetenv SLURM_NTASKS\nunsetenv "
            "SLURM_TASKS_PER_NODE\n");
}

}  // namespace
}  // namespace millrace
