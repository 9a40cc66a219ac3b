// src/controller/loop/launch_plan.cpp - see launch_plan.h.
#include "controller/loop/launch_plan.h"

#include "controller/requests/job_extras.h"
#include "controller/steps/step_grants.h"
#include "controller/views/resources.h"
#include "core/ledger/job_size.h"
#include "core/model/withheld.h"

namespace millrace {
namespace {

// As it was asked for, for SLURM_JOB_DEPENDENCY.
std::string asked_dependencies(const Job& job) {
  std::string out;
  if (!job.dependencies) return out;
  for (const Dependency& dependency : job.dependencies->list) {
    if (!out.empty()) out += job.dependencies->any ? '?' : ',';
    out += kind_word(dependency.kind);
    if (dependency.kind == DependencyKind::singleton) continue;
    out +=
        ":" + std::to_string(dependency.shown.value) + (dependency.task ? "_" + std::to_string(*dependency.task) : "");
    if (dependency.delay_minutes > 0) out += "+" + std::to_string(dependency.delay_minutes);
  }
  return out;
}

void describe(const State& state, const Job& job, const ClusterFacts& facts, wire::JobDescription& out) {
  const JobSpec& spec = *job.spec;
  const RareRequest& rare = spec.rare_request();
  out.set_name(spec.name);
  out.set_account(spec.account);
  out.set_qos(rare.qos);
  out.set_comment(rare.comment);
  out.set_work_dir(spec.work_dir);
  out.set_std_in(rare.std_in);
  out.set_std_out(spec.std_out);
  out.set_std_err(rare.std_err);
  out.set_command(spec.command);
  out.set_dependency(asked_dependencies(job));
  for (const auto& argument : rare.arguments) out.add_arguments(argument);
  out.set_submit_host(spec.owner->submit_host);
  out.set_min_nodes(spec.nodes_asked ? spec.min_nodes : 0);
  out.set_tasks(spec.tasks_asked || spec.tasks_per_node > 0 ? task_count(job) : 0);
  out.set_tasks_per_node(spec.tasks_per_node);
  out.set_cpus_per_task(spec.cpus_per_task_asked ? spec.cpus_per_task : 0);
  if (spec.memory_per_node) out.set_memory_per_node_mib(static_cast<std::uint64_t>(spec.memory_per_node->value));
  if (spec.memory_per_cpu) out.set_memory_per_cpu_mib(static_cast<std::uint64_t>(spec.memory_per_cpu->value));
  out.set_exclusive(spec.exclusive);
  out.set_oversubscribe(spec.oversubscribe);
  const bool append = spec.open_mode == 2 || (spec.open_mode == 0 && facts.append_output);
  out.set_open_mode(append                ? wire::JobDescription::append
                    : spec.open_mode == 1 ? wire::JobDescription::truncate
                                          : wire::JobDescription::default_mode);
  out.set_umask(spec.umask);
  for (const auto& limit : spec.owner->limits) {
    auto* added = out.add_limits();
    added->set_name(limit.name);
    added->set_soft(limit.soft);
  }
  out.set_interactive(spec.interactive);
  if (rare.stdio) {
    out.mutable_stdio()->set_host(rare.stdio->host);
    out.mutable_stdio()->set_port(rare.stdio->port);
    out.mutable_stdio()->set_secret(rare.stdio->secret);
  }
  out.set_label_output(spec.label_output);
  out.set_allocation_only(spec.allocation_only);
  out.set_export_env(rare.export_env);
  out.set_cpu_bind(rare.cpu_bind);
  out.set_mem_bind(rare.mem_bind);
  out.set_gpu_bind(rare.gpu_bind);
  out.set_container(rare.container);
  out.set_oom_kill_step(rare.oom_kill_step);
  if (rare.terminal.columns > 0) {
    out.mutable_pty()->set_rows(rare.terminal.rows);
    out.mutable_pty()->set_columns(rare.terminal.columns);
  }
  if (!rare.step_options.empty() && !out.mutable_step_options()->ParseFromString(rare.step_options))
    out.clear_step_options();
  if (spec.resources) put_wishes(state, spec, *out.mutable_resources());
  if (spec.extras) show_extras(*spec.extras, *out.mutable_extras());
}

void describe_array(const State& state, const Job& job, wire::LaunchPlan& out) {
  const ArrayState* array = state.find_array(job.array);
  if (!array || !job.array_task) return;
  out.set_array_job_id(array->id.value);
  out.set_array_task(*job.array_task);
  const IndexSet& tasks = array->spec.tasks;
  out.set_array_task_count(static_cast<std::uint32_t>(tasks.size()));
  out.set_array_task_min(tasks.front());
  out.set_array_task_max(tasks.back());
  const auto& ranges = tasks.ranges();
  const bool strided = ranges.size() > 1 && ranges[0].first == ranges[0].last;
  out.set_array_task_step(strided ? ranges[1].first - ranges[0].first : 1);
}

wire::LaunchPlan plan_one(const State& state, const Job& job, NodeIndex here, const ClusterFacts& facts) {
  wire::LaunchPlan out;
  out.set_job_key(job.key.value);
  out.set_job_id(job.id.value);
  out.set_attempt(job.attempt.value);
  describe(state, job, facts, *out.mutable_job());
  const auto& shares = job.placement->shares;
  out.set_nodes(hostlist_of(state, shares));
  std::uint32_t tasks = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    out.add_cpus_per_node(cpu_count_seen(*state.node(shares[i].node).def, *job.spec, shares[i]));
    out.add_tasks_per_node(shares[i].tasks);
    out.add_memory_per_node_mib(static_cast<std::uint64_t>(shares[i].memory.value));
    tasks += shares[i].tasks;
    if (shares[i].node == here) out.set_node_position(static_cast<std::uint32_t>(i));
  }
  out.set_tasks(tasks);
  out.set_node_name(state.node(here).def->name);
  out.set_partition(state.partition(job.spec->partition).def.name);
  put_site(facts, out);
  describe_array(state, job, out);
  grant_resources(state, job, here, out);
  out.set_restarts(job.attempt.value);
  out.set_start_at_us(job.started_at.value);
  if (job.time_limit_minutes != unlimited) out.set_end_at_us((job.ran_from() + minutes(job.time_limit_minutes)).value);
  out.set_group_name(job.spec->owner->group_name);
  out.set_kill_wait_seconds(state.policy->kill_wait_seconds);
  out.set_sample_every_seconds(
      task_sampling_seconds(job.spec->extra_request().acctg_freq).value_or(facts.sample_every_seconds));
  out.set_steps_max(facts.steps_max);
  out.set_tasks_per_node_max(facts.tasks_per_node_max);
  return out;
}

}  // namespace

void put_site(const ClusterFacts& facts, wire::LaunchPlan& to) {
  to.set_cluster(facts.cluster_name);
  to.set_config_path(facts.config_path);
  to.set_task_prolog(facts.task_prolog);
  to.set_task_epilog(facts.task_epilog);
}

wire::LaunchPlan make_launch_plan(const State& state, const Job& job, NodeIndex here, const ClusterFacts& facts) {
  wire::LaunchPlan out = plan_one(state, job, here, facts);
  put_ranks(job, here, out);
  if (job.placement->shares.front().node == here) describe_allocation(state, job, out);
  if (!job.het) return out;
  out.set_het_job_id(state.job(job.het->leader).id.value);
  if (job.is_component()) {  // nothing runs there but what its steps are
    out.mutable_job()->set_allocation_only(true);
    out.mutable_job()->set_interactive(false);
    out.mutable_job()->clear_stdio();
  }
  // The script is told of each component, as it would be of its own job on that one's first node; not which tasks are
  // there: a million of each of a hundred components, told to each of them, fits no message.
  for (const JobKey key : whole_of(job)) {
    const Job& component = state.job(key);
    if (component.placement)
      *out.add_het_components() = plan_one(state, component, component.placement->shares.front().node, facts);
  }
  return out;
}

}  // namespace millrace
