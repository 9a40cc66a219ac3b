// src/wire/program_environment.cpp - see program_environment.h.
#include "wire/program_environment.h"

#include "agent.pb.h"
#include "core/model/file_name.h"

namespace millrace {
namespace {

class Variables {
 public:
  Variables& set(std::string_view name, std::string_view value) {
    if (value.find('\0') == std::string_view::npos) entries.push_back(std::string{name} + "=" + std::string{value});
    return *this;
  }
  Variables& set_if_known(std::string_view name, std::string_view value) {
    return value.empty() ? *this : set(name, value);
  }
  Variables& number(std::string_view name, std::int64_t value) { return set(name, std::to_string(value)); }
  std::vector<std::string> entries;
};

// As wait() has it.
std::int64_t wait_status(const wire::AttemptStatus& end) {
  return static_cast<std::int64_t>(end.exit_code()) << 8 | end.exit_signal();
}

void describe_files(const wire::LaunchPlan& plan, const wire::Credential& identity, Variables& out) {
  const wire::JobDescription& job = plan.job();
  out.set("SLURM_JOB_WORK_DIR", job.work_dir());
  if (job.interactive() || job.allocation_only()) return;
  NameFacts facts;
  facts.job_id = plan.job_id();
  facts.array_job_id = plan.array_job_id();
  if (plan.has_array_task()) facts.array_task = plan.array_task();
  facts.node_name = plan.node_name();
  facts.node_position = plan.node_position();
  facts.restarts = plan.restarts();
  facts.user_name = identity.user_name();
  facts.job_name = job.name();
  const auto path = [&](std::string_view pattern) {
    return under_directory(expand_pattern(pattern, facts), job.work_dir());
  };
  const std::string output =
      path(job.std_out().empty() ? default_output_pattern(facts) : std::string_view{job.std_out()});
  out.set("SLURM_JOB_STDIN", job.std_in().empty() ? "/dev/null" : path(job.std_in())).set("SLURM_JOB_STDOUT", output);
  out.set("SLURM_JOB_STDERR", job.std_err().empty() ? output : path(job.std_err()));
}

void describe_array(const wire::LaunchPlan& plan, Variables& out) {
  if (!plan.has_array_task()) return;
  out.number("SLURM_ARRAY_JOB_ID", plan.array_job_id()).number("SLURM_ARRAY_TASK_ID", plan.array_task());
  out.number("SLURM_ARRAY_TASK_COUNT", plan.array_task_count()).number("SLURM_ARRAY_TASK_MIN", plan.array_task_min());
  out.number("SLURM_ARRAY_TASK_MAX", plan.array_task_max()).number("SLURM_ARRAY_TASK_STEP", plan.array_task_step());
}

std::string gpus_of(const wire::LaunchPlan& plan) {
  std::string out;
  for (const wire::DeviceGrant& grant : plan.devices())
    if (grant.name() == "gpu")
      for (const std::uint32_t device : grant.devices()) out += (out.empty() ? "" : ",") + std::to_string(device);
  return out;
}

}  // namespace

std::vector<std::string> program_environment(std::string_view context, const wire::LaunchPlan& plan,
                                             const wire::Credential& identity, const wire::AttemptStatus* end) {
  const wire::JobDescription& job = plan.job();
  const bool on_node = context.ends_with("_slurmd");
  Variables out;
  out.set("SLURM_SCRIPT_CONTEXT", context)
      .set("SLURM_CLUSTER_NAME", plan.cluster())
      .set_if_known("SLURM_CONF", plan.config_path());
  if (on_node) out.set("SLURMD_NODENAME", plan.node_name());
  out.number("SLURM_JOB_ID", plan.job_id()).number("SLURM_JOBID", plan.job_id());
  out.set("SLURM_JOB_USER", identity.user_name())
      .number("SLURM_JOB_UID", identity.uid())
      .number("SLURM_UID", identity.uid());
  out.number("SLURM_JOB_GID", identity.gid()).set_if_known("SLURM_JOB_GROUP", plan.group_name());
  out.set("SLURM_JOB_NAME", job.name()).set("SLURM_JOB_PARTITION", plan.partition());
  out.set("SLURM_JOB_NODELIST", plan.nodes()).set("SLURM_NODELIST", plan.nodes());
  out.set_if_known("SLURM_JOB_ACCOUNT", job.account()).set_if_known("SLURM_JOB_QOS", job.qos());
  out.set_if_known("SLURM_JOB_COMMENT", job.comment())
      .set_if_known("SLURM_JOB_CONSTRAINTS", job.resources().features());
  out.set_if_known("SLURM_JOB_LICENSES", plan.licenses())
      .set_if_known("SLURM_WCKEY", job.extras().wckey())
      .set_if_known("SLURM_JOB_EXTRA", job.extras().extra());
  out.number("SLURM_JOB_RESTART_COUNT", plan.restarts());
  out.number("SLURM_JOB_START_TIME", plan.start_at_us() / 1'000'000);
  if (plan.end_at_us() != 0) out.number("SLURM_JOB_END_TIME", plan.end_at_us() / 1'000'000);
  describe_files(plan, identity, out);
  describe_array(plan, out);
  if (const std::string gpus = gpus_of(plan); on_node && !gpus.empty())
    out.set("SLURM_JOB_GPUS", gpus).set("CUDA_VISIBLE_DEVICES", gpus);
  if (end) {
    out.number("SLURM_JOB_EXIT_CODE", wait_status(*end));
    out.set("SLURM_JOB_EXIT_CODE2", std::to_string(end->exit_code()) + ":" + std::to_string(end->exit_signal()));
    out.number("SLURM_JOB_DERIVED_EC", end->exit_code());
  }
  return std::move(out.entries);
}

}  // namespace millrace
