// src/cli/options/resource_setters.h - options for devices, features, licences, shape of nodes and layout of tasks:
// what each sets.
#pragma once

#include <string_view>

#include "base/result.h"
#include "cli/options/job_draft.h"

namespace millrace::resource {

using Text = std::string_view;

Result<void> constraint(JobDraft& d, Text v);
Result<void> prefer(JobDraft& d, Text v);
Result<void> gres(JobDraft& d, Text v);
Result<void> gpus(JobDraft& d, Text v);
Result<void> gpus_per_node(JobDraft& d, Text v);
Result<void> gpus_per_task(JobDraft& d, Text v);
Result<void> gpus_per_socket(JobDraft& d, Text v);
Result<void> tres_per_task(JobDraft& d, Text v);
Result<void> gres_flags(JobDraft& d, Text v);
Result<void> licenses(JobDraft& d, Text v);
Result<void> distribution(JobDraft& d, Text v);
Result<void> cpu_bind(JobDraft& d, Text v);
Result<void> mem_bind(JobDraft& d, Text v);
Result<void> gpu_bind(JobDraft& d, Text v);
Result<void> container(JobDraft& d, Text v);
Result<void> x11(JobDraft& d, Text v);
Result<void> tres_bind(JobDraft& d, Text v);
Result<void> oom_kill_step(JobDraft& d, Text v);
Result<void> hint(JobDraft& d, Text v);
Result<void> reservation(JobDraft& d, Text v);
Result<void> switches(JobDraft& d, Text v);
Result<void> segment(JobDraft& d, Text v);
Result<void> spread_segments(JobDraft& d, Text v);
Result<void> consolidate_segments(JobDraft& d, Text v);
Result<void> cpus_per_gpu(JobDraft& d, Text v);
Result<void> memory_per_gpu(JobDraft& d, Text v);
Result<void> tasks_per_socket(JobDraft& d, Text v);
Result<void> tasks_per_core(JobDraft& d, Text v);
Result<void> tasks_per_gpu(JobDraft& d, Text v);
Result<void> sockets_per_node(JobDraft& d, Text v);
Result<void> cores_per_socket(JobDraft& d, Text v);
Result<void> threads_per_core(JobDraft& d, Text v);
Result<void> extra_node_info(JobDraft& d, Text v);
Result<void> tmp(JobDraft& d, Text v);
Result<void> time_min(JobDraft& d, Text v);
Result<void> deadline(JobDraft& d, Text v);
Result<void> contiguous(JobDraft& d, Text v);
Result<void> spread_job(JobDraft& d, Text v);
Result<void> use_min_nodes(JobDraft& d, Text v);
Result<void> oversubscribe(JobDraft& d, Text v);

// "2@10:00" of --switches and scontrol update.
struct SwitchAsk {
  std::uint32_t count = 0, wait_seconds = 0;
};
Result<SwitchAsk> parse_switches(Text v);

// Contradictions between them.
Result<void> check(const JobDraft& draft);
// SLURM_HOSTFILE without --nodelist: srun puts each task where the file says.
void take_host_file(JobDraft& draft);
// What follows from the outside: the list of an arbitrary distribution is in the file SLURM_HOSTFILE, or it is
// --nodelist.
Result<void> complete(JobDraft& draft);

}  // namespace millrace::resource
