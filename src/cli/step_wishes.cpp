// src/cli/step_wishes.cpp - see step_wishes.h.
#include "cli/step_wishes.h"

#include <algorithm>
#include <cstdlib>

#include "cli/options/job_options.h"
#include "core/model/gres_text.h"

namespace millrace {
namespace {

constexpr std::string_view not_for_steps[] = {"test-only"};

bool was_given(const Command& command, std::string_view name) {
  JobDraft ignored;
  const auto line = apply_words(job_options(), srun, command.words, Operands::end_options, ignored);
  return line && std::ranges::any_of(line->given, [&](const JobOption* row) { return row->name == name; });
}

// They choose nodes or the time of a job. Slurm's request for a step has no place for them.
void drop_what_is_of_jobs(wire::JobDescription& step) {
  step.clear_min_cpus_per_node();
  wire::ResourceWishes& wishes = *step.mutable_resources();
  wishes.clear_prefer();
  wishes.clear_licenses();
  wishes.clear_reservation();
  wishes.clear_gres_flags();
  wishes.clear_sockets_per_node();
  wishes.clear_cores_per_socket();
  wishes.clear_tmp_disk_mib();
  wishes.clear_contiguous();
  wishes.clear_spread_job();
  wishes.clear_use_min_nodes();
  wishes.clear_exclusive_user();
  wishes.clear_switches();
  wishes.clear_segment();
  wishes.clear_spread_segments();
  wishes.clear_consolidate_segments();
  wishes.clear_switches_wait_seconds();
  wishes.clear_time_min_minutes();
  wishes.clear_deadline_us();
  if (wishes.ByteSizeLong() == 0) step.clear_resources();
}

}  // namespace

void forget_wishes_of_job() {
  for (const char* name : {"SLURM_TRES_PER_TASK", "SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU",
                           "SLURM_CPU_BIND", "SLURM_MEM_BIND", "SLURM_GPUS", "SLURM_GPUS_PER_NODE",
                           "SLURM_GPUS_PER_SOCKET", "SLURM_CPUS_PER_GPU", "SLURM_NTASKS_PER_GPU"})
    unsetenv(name);
}

Result<void> settle_step_wishes(const Command& command, JobDraft& draft) {
  for (const std::string_view name : not_for_steps)
    if (was_given(command, name)) return not_built("--" + std::string{name} + " of a step");
  wire::JobDescription& step = draft.job;
  const wire::ResourceWishes& wishes = step.resources();
  // The devices of each task that the job had are not meant where a step says itself what it wants.
  const std::string_view devices[] = {"gres",          "gpus",          "gpus-per-node", "gpus-per-socket",
                                      "tres-per-task", "ntasks-per-gpu"};
  if (!was_given(command, "gpus-per-task") &&
      std::ranges::any_of(devices, [&](std::string_view name) { return was_given(command, name); }))
    step.mutable_resources()->clear_gpus_per_task();
  if (was_given(command, "threads-per-core") || wishes.has_cpus_per_gpu() ||
      wishes.tres_per_task().find("cpu") != std::string::npos)
    draft.exact = true;
  const char* inherited = std::getenv("SLURM_STEP_GRES");
  const bool said = wishes.has_gres() || wishes.has_gpus() || wishes.has_gpus_per_node() ||
                    wishes.has_gpus_per_socket() || wishes.has_gpus_per_task() || wishes.has_tres_per_task();
  if (inherited != nullptr && *inherited != '\0' && !said) {
    if (const auto asks = parse_gres_asks(inherited, GresScope::node); !asks)
      return fail(Errc::refused, "SLURM_STEP_GRES=" + std::string{inherited} + ": " + asks.error().story);
    step.mutable_resources()->set_gres(inherited);
  }
  if (wishes.has_cpus_per_gpu() && step.cpus_per_task() != 0 && was_given(command, "cpus-per-task"))
    return fail(Errc::refused, "--cpus-per-gpu and --cpus-per-task exclude each other");
  const int memories =
      was_given(command, "mem") + was_given(command, "mem-per-cpu") + was_given(command, "mem-per-gpu");
  if (memories > 1) return fail(Errc::refused, "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.");
  if (step.step_options().has_signal()) {
    if (step.step_options().signal().batch_only())
      return fail(Errc::refused, "--signal=B: of a step: only a batch job has a batch shell");
    const bool limited =
        step.has_time_limit_minutes() && step.time_limit_minutes() != 0xffffffff && step.time_limit_minutes() != 0;
    if (!limited)
      return fail(Errc::refused,
                  "--signal of a step counts from the end of its own time: it needs --time; before the job's end the "
                  "job's --signal is sent");
  }
  drop_what_is_of_jobs(step);
  return {};
}

void settle_interactive_step(JobDraft& draft) {
  wire::JobDescription& step = draft.job;
  step.set_tasks(1);
  step.set_min_nodes(1);
  step.set_max_nodes(1);
  step.clear_tasks_per_node();
  step.clear_cpus_per_task();
  step.clear_required_nodes();
  step.clear_excluded_nodes();
  step.clear_memory_per_node_mib();
  step.clear_memory_per_cpu_mib();
  step.clear_resources();
  step.set_name("interactive");
  draft.name_given = true;
  draft.overlap = draft.whole = true;
  draft.exact = false;
  draft.first_node = 0;
}

bool is_exact(const JobDraft& draft) {
  return !draft.whole && (draft.exact || draft.job.cpus_per_task() != 0 || draft.job.exclusive());
}

}  // namespace millrace
