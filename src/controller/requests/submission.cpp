// src/controller/requests/submission.cpp - see submission.h.
#include "controller/requests/submission.h"

#include <algorithm>

#include "controller/requests/job_extras.h"
#include "controller/views/resources.h"
#include "core/model/request_limits.h"

namespace millrace {

static SubmitJob to_submit_job(const wire::JobDescription& job, const UserIdentity& identity) {
  SubmitJob out;
  JobSpec& spec = out.spec;
  Owner owner{
      identity.uid, identity.gid, identity.user_name, identity.group_name, identity.groups, job.submit_host(), {}};
  for (const auto& limit : job.limits()) owner.limits.push_back({limit.name(), limit.soft()});
  spec.owner = SharedValue(std::move(owner));
  RareRequest rare;
  rare.comment = job.comment();
  rare.qos = job.qos();
  rare.std_in = job.std_in();
  rare.std_err = job.std_err();
  rare.export_env = job.export_env();
  rare.cpu_bind = job.cpu_bind();
  rare.mem_bind = job.mem_bind();
  rare.gpu_bind = job.gpu_bind();
  rare.container = job.container();
  rare.oom_kill_step = job.oom_kill_step();
  rare.client_waits = job.client_waits();
  if (job.has_pty()) rare.terminal = {job.pty().rows(), std::max(job.pty().columns(), 1u)};
  if (job.has_step_options()) rare.step_options = job.step_options().SerializeAsString();
  rare.arguments.assign(job.arguments().begin(), job.arguments().end());
  if (job.has_stdio()) rare.stdio = StdioEndpoint{job.stdio().host(), job.stdio().port(), job.stdio().secret()};
  if (!(rare == RareRequest{})) spec.rare = SharedValue(std::move(rare));
  JobExtras extras;
  read_extras(job.extras(), extras);
  if (!(extras == JobExtras{})) spec.extras = SharedValue(std::move(extras));
  spec.name = job.name();
  spec.account = job.account();
  spec.work_dir = job.work_dir();
  spec.std_out = job.std_out();
  spec.command = job.command();
  spec.submit_line = job.submit_line();
  spec.submit_sid = job.submit_sid();
  spec.min_nodes = job.min_nodes();
  spec.max_nodes = job.max_nodes();
  spec.tasks = job.tasks();
  spec.tasks_per_node = job.tasks_per_node();
  spec.cpus_per_task = job.cpus_per_task();
  spec.min_cpus_per_node = job.min_cpus_per_node();
  if (job.has_memory_per_node_mib()) spec.memory_per_node = Mebibytes{bounded_mebibytes(job.memory_per_node_mib())};
  if (job.has_memory_per_cpu_mib()) spec.memory_per_cpu = Mebibytes{bounded_mebibytes(job.memory_per_cpu_mib())};
  spec.nice = job.nice();
  spec.umask = job.umask();
  spec.open_mode = static_cast<std::uint8_t>(job.open_mode());
  spec.exclusive = job.exclusive();
  spec.oversubscribe = job.oversubscribe();
  spec.interactive = job.interactive();
  spec.label_output = job.label_output();
  spec.allocation_only = job.allocation_only();
  spec.kill_on_invalid_dependency = job.kill_on_invalid_dependency();
  out.partition = job.partition();
  out.dependency = job.dependency();
  out.array = job.array();
  out.required_nodes = job.required_nodes();
  out.excluded_nodes = job.excluded_nodes();
  if (job.has_time_limit_minutes()) out.time_limit_minutes = job.time_limit_minutes();
  if (job.has_priority()) out.priority = job.priority();
  if (job.has_requeue()) out.requeue = job.requeue();
  out.begin_at = bounded_time(job.begin_at_us());
  out.hold = job.hold();
  out.wishes = to_wishes(job.resources());
  return out;
}

std::vector<std::string> settle_extras(std::vector<SubmitJob>& jobs, const SiteAllows& site) {
  std::vector<std::string> notes;
  for (SubmitJob& job : jobs) {
    if (!job.spec.extras) continue;
    JobExtras& extras = job.spec.extras.edit();
    if (!site.spec_resources) {
      if (extras.core_spec)
        notes.push_back("--core-spec and --thread-spec are ignored: AllowSpecResourcesUsage is not set in slurm.conf");
      extras.core_spec.reset();
      extras.threads_spec = false;
    }
    if (extras.core_spec || extras.reboot) job.spec.exclusive = true;
    if (extras.reboot && !site.reboots) {
      extras.reboot = false;
      notes.push_back("nodes are not rebooted: slurm.conf has no RebootProgram");
    }
    if (extras == JobExtras{}) job.spec.extras = {};
  }
  return notes;
}

std::vector<SubmitJob> to_submit_jobs(const wire::SubmitJob& ask, const UserIdentity& identity) {
  std::vector<SubmitJob> out{to_submit_job(ask.job(), identity)};
  JobSpec& spec = out.front().spec;
  const std::string& key = ask.idempotency_key();
  if (key.size() == spec.submission.size())
    std::copy_n(reinterpret_cast<const std::uint8_t*>(key.data()), key.size(), spec.submission.begin());
  out.front().script_bytes = ask.script().size();
  for (const wire::JobDescription& more : ask.more_components()) {
    SubmitJob component = to_submit_job(more, identity);
    component.spec.owner = out.front().spec.owner;
    if (component.spec.work_dir.empty()) component.spec.work_dir = out.front().spec.work_dir;
    if (component.spec.name.empty()) component.spec.name = out.front().spec.name;
    out.push_back(std::move(component));
  }
  return out;
}

}  // namespace millrace
