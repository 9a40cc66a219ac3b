// src/step/environment/environment.cpp - see environment.h; the variables are those of Slurm that have a meaning here
// today.
#include "step/environment/environment.h"

#include <algorithm>
#include <numeric>

#include "agent.pb.h"
#include "base/text.h"
#include "core/model/preserved_variable.h"
#include "core/model/sluid.h"
#include "step/environment/device_environment.h"

namespace millrace {

namespace {

// Outputs of a job that may be in the submitter's environment when the submission itself comes from a job: without this
// an array index or a rank of the outer job would be taken for the new one's. What users set as input
// (SLURM_TIME_FORMAT, SLURM_EXIT_ERROR ...) passes. SLURM_SUBMIT_DIR is written by the client.
constexpr std::string_view outer_job_prefixes[] = {
    "SLURM_JOB",
    "SLURM_ARRAY_",
    "SLURM_STEP",
    "SLURM_TASK",
    "SLURM_NODE",
    "SLURM_NTASKS",
    "SLURM_NPROCS",
    "SLURM_NNODES",
    "SLURM_CPUS_",
    "SLURM_MEM_PER_",
    "SLURM_TRES_PER_",
    "SLURM_LOCALID",
    "SLURM_PROCID",
    "SLURM_GTIDS",
    "SLURM_SRUN_",
    "SLURM_LAUNCH_",
    "SLURM_RESTART_COUNT",
    "SLURM_SUBMIT_HOST",
    "SLURM_TOPOLOGY_",
    "SLURM_CLUSTER_NAME",
    "SLURM_EXPORT_ENV",
    "SLURM_HET_",
    "SLURM_GPUS_ON_NODE",
    "SLURM_SHARDS_ON_NODE",
    "SLURM_CPU_BIND",
    "SLURM_SCRIPT_CONTEXT",
    "SLURMD_",
    "SLURM_PTY_",
    "MILLRACE_ATTEMPT",
    "SLURM_UMASK",
    "SLURM_RLIMIT_",
    "PMI_FD",
    "PMI_RANK",
    "PMI_SIZE",
    "PMI_JOBID",
    "PMI_SPAWNED",
    "PMIX_NAMESPACE",
    "PMIX_RANK",
    "PMIX_SERVER_",
    "PMIX_SECURITY_MODE",
    "PMIX_PTL_MODULE",
    "PMIX_BFROP_",
    "PMIX_GDS_MODULE",
    "PMIX_DSTORE_",
    "PMIX_HOSTNAME",
    "PMIX_VERSION",
    "PMIX_SYSTEM_TMPDIR",
};

// The same for every component, or nothing a component has.
constexpr std::string_view of_the_whole[] = {"SLURM_CLUSTER_NAME",  "SLURM_CONF",          "SLURM_SUBMIT_DIR",
                                             "SLURM_SUBMIT_HOST",   "SLURM_RESTART_COUNT", "SLURM_PRIO_PROCESS",
                                             "SLURM_OOM_KILL_STEP", "SLURM_JOB_UID",       "SLURM_JOB_GID",
                                             "SLURM_JOB_USER",      "SLURM_JOB_GROUP"};

bool is_of_the_whole(std::string_view name) {
  return std::ranges::find(of_the_whole, name) != std::ranges::end(of_the_whole);
}

bool is_of_outer_job(std::string_view name) {
  return std::ranges::any_of(outer_job_prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Sorted first, so that a hostile environment of a million names costs its sender seconds of nobody's time.
Environment submitters_part(std::string_view bytes) {
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  while (!bytes.empty()) {
    const std::string_view entry = bytes.substr(0, bytes.find('\0'));
    bytes.remove_prefix(std::min(bytes.size(), entry.size() + 1));
    const std::size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    if (!is_of_outer_job(name)) pairs.emplace_back(name, entry.substr(equals + 1));
  }
  std::ranges::stable_sort(pairs, {}, [](const auto& pair) { return pair.first; });
  Environment environment;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (i + 1 == pairs.size() || pairs[i + 1].first != pairs[i].first)
      environment.append(pairs[i].first, pairs[i].second);
  return environment;
}

std::vector<std::uint32_t> to_vector(const google::protobuf::RepeatedField<std::uint32_t>& field) {
  return {field.begin(), field.end()};
}

std::uint32_t cpus_here(const wire::LaunchPlan& plan) {
  const auto position = static_cast<int>(plan.node_position());
  return position < plan.cpus_per_node_size() ? plan.cpus_per_node(position) : 0;
}

const std::string& job_nodes(const wire::LaunchPlan& plan) {
  return plan.has_step() ? plan.allocation_nodes() : plan.nodes();
}

const auto& job_cpus(const wire::LaunchPlan& plan) {
  return plan.has_step() ? plan.allocation_cpus_per_node() : plan.cpus_per_node();
}

void add_job(Environment& environment, const wire::LaunchPlan& plan, const wire::Credential& identity) {
  const wire::JobDescription& job = plan.job();
  const auto text = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) environment.set(name, value);
  };
  // A task of any component is in the job as a whole.
  const std::uint32_t job_id = plan.has_step() && plan.het_job_id() != 0 ? plan.het_job_id() : plan.job_id();
  environment.set_number("SLURM_JOB_ID", job_id);
  environment.set_number("SLURM_JOBID", job_id);
  environment.set("SLURM_JOB_NAME", job.name());
  environment.set("SLURM_JOB_NODELIST", job_nodes(plan));
  environment.set("SLURM_NODELIST", job_nodes(plan));
  environment.set_number("SLURM_JOB_NUM_NODES", job_cpus(plan).size());
  environment.set_number("SLURM_NNODES", plan.cpus_per_node_size());
  environment.set("SLURM_JOB_CPUS_PER_NODE", compress_counts(to_vector(job_cpus(plan))));
  text("SLURM_JOB_PARTITION", plan.partition());
  text("SLURM_JOB_ACCOUNT", job.account());
  text("SLURM_JOB_QOS", job.qos());
  environment.set_number("SLURM_JOB_UID", identity.uid());
  environment.set_number("SLURM_JOB_GID", identity.gid());
  text("SLURM_JOB_USER", identity.user_name());
  text("SLURM_JOB_GROUP", plan.group_name());
  environment.set("SLURM_JOB_SLUID", sluid_text(plan.job_key() & 0xffffffff));
  text("SLURM_JOB_RESERVATION", job.resources().reservation());
  environment.set_number("SLURM_JOB_START_TIME", plan.start_at_us() / 1'000'000);
  if (plan.end_at_us() != 0) environment.set_number("SLURM_JOB_END_TIME", plan.end_at_us() / 1'000'000);
  environment.set("SLURM_JOB_EXCLUSIVE", job.exclusive() ? "YES" : "NO");
  environment.set("SLURM_JOB_OVERSUBSCRIBE", job.oversubscribe() ? "YES" : "NO");
  text("SLURM_JOB_DEPENDENCY", job.dependency());
  environment.set_if_missing("SLURM_SUBMIT_DIR", job.work_dir());
  text("SLURM_SUBMIT_HOST", job.submit_host());
  text("SLURM_CLUSTER_NAME", plan.cluster());
  text("SLURM_CONF", plan.config_path());
  environment.set_number("SLURM_RESTART_COUNT", plan.restarts());
  environment.set_number("SLURM_PRIO_PROCESS", 0);
  environment.set_number("SLURM_OOM_KILL_STEP", job.oom_kill_step() ? 1 : 0);
}

void add_request(Environment& environment, const wire::LaunchPlan& plan) {
  const wire::JobDescription& job = plan.job();
  const std::vector<std::uint32_t> tasks = to_vector(plan.tasks_per_node());
  if (!tasks.empty()) environment.set("SLURM_TASKS_PER_NODE", compress_counts(tasks));
  if (job.interactive() || job.tasks() != 0 || job.tasks_per_node() != 0) {
    environment.set_number("SLURM_NTASKS", plan.tasks());
    environment.set_number("SLURM_NPROCS", plan.tasks());
  }
  if (job.tasks_per_node() != 0) environment.set_number("SLURM_NTASKS_PER_NODE", job.tasks_per_node());
  if (job.cpus_per_task() != 0) {
    environment.set_number("SLURM_CPUS_PER_TASK", job.cpus_per_task());
    environment.set("SLURM_TRES_PER_TASK", "cpu=" + std::to_string(job.cpus_per_task()));
  }
  if (job.has_memory_per_cpu_mib())
    environment.set_number("SLURM_MEM_PER_CPU", static_cast<std::int64_t>(job.memory_per_cpu_mib()));
  else if (job.has_memory_per_node_mib())
    environment.set_number("SLURM_MEM_PER_NODE", static_cast<std::int64_t>(job.memory_per_node_mib()));
}

// What was asked for and is only told on, mostly to the srun of the script.
void add_extras(Environment& environment, const wire::JobExtras& extras) {
  const auto text = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) environment.set(name, value);
  };
  if (extras.overcommit()) environment.set("SLURM_OVERCOMMIT", "1");
  text("SLURM_NETWORK", extras.network());
  text("SLURM_PROFILE", extras.profile());
  text("SLURM_ACCTG_FREQ", extras.acctg_freq());
  text("SLURM_CPU_FREQ_REQ", extras.cpu_freq());
  text("SLURM_GPU_FREQ", extras.gpu_freq());
}

// srun --preserve-env: some variables are as srun saw them.
void restore_preserved(Environment& environment) {
  for (const char* name : {"SLURM_NTASKS", "SLURM_JOB_NUM_NODES"}) {
    const std::string under = std::string{preserved_prefix} + name;
    const std::string value{environment.get(under)};
    if (value.empty()) continue;
    environment.set(name, value);
    environment.unset(under);
  }
}

void add_array(Environment& environment, const wire::LaunchPlan& plan) {
  if (!plan.has_array_task()) return;
  environment.set_number("SLURM_ARRAY_JOB_ID", plan.array_job_id());
  environment.set_number("SLURM_ARRAY_TASK_ID", plan.array_task());
  environment.set_number("SLURM_ARRAY_TASK_COUNT", plan.array_task_count());
  environment.set_number("SLURM_ARRAY_TASK_MIN", plan.array_task_min());
  environment.set_number("SLURM_ARRAY_TASK_MAX", plan.array_task_max());
  environment.set_number("SLURM_ARRAY_TASK_STEP", plan.array_task_step());
}

void add_batch(Environment& environment, const wire::LaunchPlan& plan) {
  environment.set("ENVIRONMENT", "BATCH");
  environment.set("HOSTNAME", plan.node_name());
  environment.set("SLURM_GTIDS", "0");
  environment.set("SLURM_STEP_ID", "-5");  // what 26.x calls the batch step
  environment.set("SLURM_STEPID", "-5");
  if (!plan.job().export_env().empty()) environment.set("SLURM_EXPORT_ENV", plan.job().export_env());
}

void add_step(Environment& environment, const wire::LaunchPlan& plan) {
  const wire::StdioEndpoint& srun = plan.job().stdio();
  environment.set_number("SLURM_STEP_ID", plan.has_shown_step() ? plan.shown_step() : plan.step());
  environment.set_number("SLURM_STEPID", plan.has_shown_step() ? plan.shown_step() : plan.step());
  environment.set("SLURM_STEP_NODELIST", plan.nodes());
  environment.set_number("SLURM_STEP_NUM_NODES", plan.cpus_per_node_size());
  environment.set_number("SLURM_STEP_NUM_TASKS", plan.tasks());
  environment.set("SLURM_STEP_TASKS_PER_NODE", compress_counts(to_vector(plan.tasks_per_node())));
  environment.set_number("SLURM_STEP_LAUNCHER_PORT", srun.port());
  if (!plan.ports().empty()) environment.set("SLURM_STEP_RESV_PORTS", plan.ports());
  environment.set("SLURM_SRUN_COMM_HOST", srun.host());
  environment.set_number("SLURM_SRUN_COMM_PORT", srun.port());
  environment.set("SLURM_LAUNCH_NODE_IPADDR", srun.host());
  environment.set("SLURMD_DEBUG", std::to_string(plan.job().step_options().has_supervisor_level()
                                                     ? plan.job().step_options().supervisor_level()
                                                     : 2));
  if (plan.job().resources().distribution().empty()) environment.set("SLURM_DISTRIBUTION", "block");
  const std::uint32_t mask = plan.job().umask() & 0777;
  const char octal[] = {'0', static_cast<char>('0' + (mask >> 6)), static_cast<char>('0' + (mask >> 3 & 7)),
                        static_cast<char>('0' + (mask & 7))};
  environment.set("SLURM_UMASK", {octal, sizeof octal});
  std::string list;
  for (const std::uint32_t rank : ranks_of_node(plan)) list += (list.empty() ? "" : ",") + std::to_string(rank);
  environment.set("SLURM_GTIDS", list);
}

// In a heterogeneous job the variables of a component say whose they are by a suffix.
void add_components(Environment& environment, const wire::LaunchPlan& plan, const wire::Credential& identity) {
  if (plan.het_components_size() == 0) return;
  environment.set_number("SLURM_HET_SIZE", plan.het_components_size());
  for (int i = 0; i < plan.het_components_size(); ++i) {
    const wire::LaunchPlan& component = plan.het_components(i);
    Environment own;
    add_job(own, component, identity);
    add_request(own, component);
    add_devices(own, component);
    own.set_number("SLURM_CPUS_ON_NODE", cpus_here(component));
    for (const std::string& entry : own.entries()) {
      const std::size_t equals = entry.find('=');
      const std::string_view name = std::string_view{entry}.substr(0, equals);
      if (!name.starts_with("SLURM_") || is_of_the_whole(name)) continue;
      environment.set(std::string{name} + "_HET_GROUP_" + std::to_string(i),
                      std::string_view{entry}.substr(equals + 1));
    }
  }
}

}  // namespace

std::string* Environment::find(std::string_view name) {
  for (std::string& entry : entries_)
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) return &entry;
  return nullptr;
}

void Environment::append(std::string_view name, std::string_view value) {
  std::string& entry = entries_.emplace_back();
  entry.reserve(name.size() + 1 + value.size());
  entry.append(name).append(1, '=').append(value);
}

void Environment::set(std::string_view name, std::string_view value) {
  if (std::string* old = find(name))
    old->replace(name.size() + 1, std::string::npos, value);
  else
    append(name, value);
}

void Environment::set_number(std::string_view name, std::int64_t value) { set(name, std::to_string(value)); }

void Environment::unset(std::string_view name) {
  std::erase_if(entries_, [&](const std::string& entry) {
    return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
  });
}

void Environment::set_if_missing(std::string_view name, std::string_view value) {
  if (find(name) == nullptr) set(name, value);
}

std::string_view Environment::get(std::string_view name) const {
  const std::string* entry = const_cast<Environment*>(this)->find(name);
  return entry == nullptr ? std::string_view{} : std::string_view{*entry}.substr(name.size() + 1);
}

Environment node_environment(const wire::LaunchPlan& plan, const wire::Credential& identity) {
  Environment environment = submitters_part(plan.environment());
  add_job(environment, plan, identity);
  add_request(environment, plan);
  add_array(environment, plan);
  add_devices(environment, plan);
  add_extras(environment, plan.job().extras());
  add_components(environment, plan, identity);
  if (plan.job().interactive())
    add_step(environment, plan);
  else
    add_batch(environment, plan);
  environment.set("SLURMD_NODENAME", plan.node_name());
  environment.set("SLURM_TOPOLOGY_ADDR", plan.topology_address().empty() ? plan.node_name() : plan.topology_address());
  environment.set("SLURM_TOPOLOGY_ADDR_PATTERN", plan.topology_pattern().empty() ? "node" : plan.topology_pattern());
  environment.set_number("SLURM_NODEID", plan.node_position());
  environment.set_number("SLURM_CPUS_ON_NODE", cpus_here(plan));
  environment.set_if_missing("TMPDIR", "/tmp");
  if (!identity.user_name().empty()) {
    environment.set_if_missing("USER", identity.user_name());
    environment.set_if_missing("LOGNAME", identity.user_name());
  }
  restore_preserved(environment);
  return environment;
}

void add_task(Environment& environment, std::uint32_t rank, std::uint32_t local_rank) {
  environment.set_number("SLURM_PROCID", rank);
  environment.set_number("SLURM_LOCALID", local_rank);
}

void drop_loader_variables(Environment& environment) {
  std::vector<std::string> names{"GLIBC_TUNABLES", "GCONV_PATH"};
  for (const std::string& entry : environment.entries())
    if (entry.starts_with("LD_") && !entry.starts_with("LD_LIBRARY_PATH="))
      names.push_back(entry.substr(0, entry.find('=')));
  for (const std::string& name : names) environment.unset(name);
}

std::vector<std::uint32_t> ranks_of_node(const wire::LaunchPlan& plan) {
  if (plan.ranks_size() > 0) return to_vector(plan.ranks());
  const auto position = static_cast<int>(plan.node_position());
  std::uint32_t first = 0;
  for (int node = 0; node < position && node < plan.tasks_per_node_size(); ++node) first += plan.tasks_per_node(node);
  std::vector<std::uint32_t> ranks(position < plan.tasks_per_node_size() ? plan.tasks_per_node(position) : 0);
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

std::string step_name(const wire::LaunchPlan& plan) {
  if (!plan.job().interactive()) return std::to_string(plan.job_id()) + ".batch";
  if (plan.has_shown_step())
    return std::to_string(plan.het_job_id()) + "." + std::to_string(plan.shown_step());  // one name for all parts
  return std::to_string(plan.job_id()) + "." + std::to_string(plan.step());
}

}  // namespace millrace
