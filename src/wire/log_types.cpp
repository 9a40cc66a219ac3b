// src/wire/log_types.cpp - see log_types.h.
#include "wire/log_types.h"

#include <algorithm>

namespace millrace {
namespace {

enum SpecFlag : std::uint32_t {  // written to the log: never reorder
  flag_tasks_asked = 1,
  flag_nodes_asked = 2,
  flag_cpus_per_task_asked = 4,
  flag_exclusive = 8,
  flag_oversubscribe = 16,
  flag_requeue = 32,
  flag_interactive = 64,
  flag_label_output = 128,
  flag_kill_on_invalid_dependency = 256,
  flag_allocation_only = 512,
};

template <class Bytes>
std::string bytes_of(const Bytes& digest) {
  if (digest == Bytes{}) return {};
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

template <class Bytes>
Bytes bytes_to(const std::string& text) {
  Bytes out{};
  if (text.size() == out.size())
    std::copy_n(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), out.begin());
  return out;
}

void put(const RareRequest& from, log::RareRequest& to) {
  to.set_comment(from.comment);
  to.set_qos(from.qos);
  to.set_std_in(from.std_in);
  to.set_std_err(from.std_err);
  to.set_export_env(from.export_env);
  for (const auto& argument : from.arguments) to.add_arguments(argument);
  if (from.stdio) {
    to.mutable_stdio()->set_host(from.stdio->host);
    to.mutable_stdio()->set_port(from.stdio->port);
    to.mutable_stdio()->set_secret(from.stdio->secret);
  }
  for (const auto index : from.required_nodes) to.add_required_nodes(index);
  for (const auto index : from.excluded_nodes) to.add_excluded_nodes(index);
  to.set_cpu_bind(from.cpu_bind);
  to.set_mem_bind(from.mem_bind);
  to.set_oom_kill_step(from.oom_kill_step), to.set_client_waits(from.client_waits);
  to.set_gpu_bind(from.gpu_bind);
  to.set_container(from.container);
  to.set_terminal_rows(from.terminal.rows);
  to.set_terminal_columns(from.terminal.columns);
  to.set_step_options(from.step_options);
}

RareRequest get(const log::RareRequest& from) {
  RareRequest to;
  to.comment = from.comment();
  to.qos = from.qos();
  to.std_in = from.std_in();
  to.std_err = from.std_err();
  to.export_env = from.export_env();
  to.arguments.assign(from.arguments().begin(), from.arguments().end());
  if (from.has_stdio()) to.stdio = StdioEndpoint{from.stdio().host(), from.stdio().port(), from.stdio().secret()};
  to.required_nodes.assign(from.required_nodes().begin(), from.required_nodes().end());
  to.excluded_nodes.assign(from.excluded_nodes().begin(), from.excluded_nodes().end());
  to.cpu_bind = from.cpu_bind();
  to.mem_bind = from.mem_bind();
  to.oom_kill_step = from.oom_kill_step(), to.client_waits = from.client_waits();
  to.gpu_bind = from.gpu_bind();
  to.container = from.container();
  to.terminal = {from.terminal_rows(), from.terminal_columns()};
  to.step_options = from.step_options();
  return to;
}

}  // namespace

void put(const NodeDef& from, log::NodeDef& to) {
  to.set_name(from.name);
  to.set_address(from.address);
  to.set_host_name(from.host_name);
  to.set_features(from.features);
  to.set_gres(from.gres);
  to.set_port(from.port);
  to.set_cpus(from.cpus.value);
  to.set_boards(from.boards);
  to.set_sockets(from.sockets);
  to.set_cores_per_socket(from.cores_per_socket);
  to.set_threads_per_core(from.threads_per_core);
  to.set_memory_mib(from.memory.value);
  to.set_tmp_disk_mib(from.tmp_disk.value);
  to.set_weight(from.weight);
  for (const NodeGres& kind : from.kinds) put(kind, *to.add_kinds());
  to.set_kind(static_cast<std::uint32_t>(from.kind));
  if (from.suspend_seconds) to.set_suspend_seconds(*from.suspend_seconds);
  to.set_keep_up(from.keep_up);
  for (const std::uint64_t word : from.withheld_cpus) to.add_withheld_cpus(word);
  to.set_withheld_memory_mib(from.withheld_memory.value);
  if (from.active_features) to.set_active_features(*from.active_features);
}

NodeDef get(const log::NodeDef& from) {
  NodeDef to{from.name(),
             from.address(),
             from.host_name(),
             from.features(),
             from.gres(),
             from.port(),
             Cpus{from.cpus()},
             from.boards(),
             from.sockets(),
             from.cores_per_socket(),
             from.threads_per_core(),
             Mebibytes{from.memory_mib()},
             Mebibytes{from.tmp_disk_mib()},
             from.weight(),
             {}};
  for (const auto& kind : from.kinds()) to.kinds.push_back(get(kind));
  to.kind = static_cast<NodeKind>(from.kind());
  if (from.has_suspend_seconds()) to.suspend_seconds = from.suspend_seconds();
  to.keep_up = from.keep_up();
  to.withheld_cpus.assign(from.withheld_cpus().begin(), from.withheld_cpus().end());
  to.withheld_memory = Mebibytes{from.withheld_memory_mib()};
  if (from.has_active_features()) to.active_features = from.active_features();
  return to;
}

void put(const PartitionDef& from, log::PartitionDef& to) {
  to.set_name(from.name);
  for (const auto& name : from.nodes) to.add_nodes(name);
  for (const auto& name : from.allow_groups) to.add_allow_groups(name);
  for (const auto& name : from.allow_accounts) to.add_allow_accounts(name);
  for (const auto& name : from.deny_accounts) to.add_deny_accounts(name);
  for (const auto gid : from.allow_gids) to.add_allow_gids(gid);
  to.set_is_default(from.is_default);
  to.set_root_only(from.root_only);
  to.set_hidden(from.hidden);
  to.set_exclusive(from.exclusive);
  to.set_disable_root_jobs(from.disable_root_jobs);
  to.set_availability(static_cast<std::uint32_t>(from.availability));
  to.set_max_time_minutes(from.max_time_minutes);
  to.set_default_time_minutes(from.default_time_minutes);
  to.set_max_nodes(from.max_nodes);
  to.set_min_nodes(from.min_nodes);
  to.set_priority_tier(from.priority_tier);
  to.set_preempt_mode(static_cast<std::uint32_t>(from.preempt_mode));
  to.set_grace_seconds(from.grace_seconds);
  to.set_sharing(static_cast<std::uint32_t>(from.sharing));
  if (from.share_max > 1) to.set_share_max(from.share_max);
  to.set_priority_job_factor(from.priority_job_factor);
  if (from.default_memory_per_cpu) to.set_default_memory_per_cpu(from.default_memory_per_cpu->value);
  if (from.default_memory_per_node) to.set_default_memory_per_node(from.default_memory_per_node->value);
  if (from.max_memory_per_cpu) to.set_max_memory_per_cpu(from.max_memory_per_cpu->value);
  if (from.max_memory_per_node) to.set_max_memory_per_node(from.max_memory_per_node->value);
  to.set_qos(from.qos);
  for (const auto& name : from.allow_qos) to.add_allow_qos(name);
  for (const auto& name : from.deny_qos) to.add_deny_qos(name);
  put_weights(from.billing_weights, to.mutable_billing_weights());
  to.set_all_nodes(from.all_nodes);
  for (const auto& name : from.node_features) to.add_node_features(name);
  if (from.suspend_seconds) to.set_suspend_seconds(*from.suspend_seconds);
  if (from.suspend_timeout_seconds) to.set_suspend_timeout_seconds(*from.suspend_timeout_seconds);
  if (from.resume_timeout_seconds) to.set_resume_timeout_seconds(*from.resume_timeout_seconds);
  to.set_power_down_on_idle(from.power_down_on_idle);
  to.set_never_suspend(from.never_suspend);
  to.set_exclusive_user(from.exclusive_user);
  to.set_require_reservation(from.require_reservation);
  for (const auto& host : from.submit_hosts) to.add_submit_hosts(host);
  to.set_default_memory_per_gpu(from.default_memory_per_gpu);
  to.set_default_cpus_per_gpu(from.default_cpus_per_gpu);
  if (from.over_time_minutes) to.set_over_time_minutes(*from.over_time_minutes);
  if (from.max_cpus_per_node != unlimited) to.set_max_cpus_per_node(from.max_cpus_per_node);
  to.set_least_loaded(from.least_loaded);
}

PartitionDef get(const log::PartitionDef& from) {
  PartitionDef to;
  to.name = from.name();
  to.nodes.assign(from.nodes().begin(), from.nodes().end());
  to.allow_groups.assign(from.allow_groups().begin(), from.allow_groups().end());
  to.allow_accounts.assign(from.allow_accounts().begin(), from.allow_accounts().end());
  to.deny_accounts.assign(from.deny_accounts().begin(), from.deny_accounts().end());
  to.allow_gids.assign(from.allow_gids().begin(), from.allow_gids().end());
  to.is_default = from.is_default();
  to.root_only = from.root_only();
  to.hidden = from.hidden();
  to.exclusive = from.exclusive();
  to.disable_root_jobs = from.disable_root_jobs();
  to.availability = static_cast<Availability>(from.availability());
  to.max_time_minutes = from.max_time_minutes();
  to.default_time_minutes = from.default_time_minutes();
  to.max_nodes = from.max_nodes();
  to.min_nodes = from.min_nodes();
  to.priority_tier = from.priority_tier();
  to.preempt_mode = static_cast<PreemptMode>(from.preempt_mode());
  to.grace_seconds = from.grace_seconds();
  to.sharing = static_cast<CpuSharing>(from.sharing());
  if (from.share_max() > 1) to.share_max = from.share_max();
  to.priority_job_factor = from.priority_job_factor();
  if (from.has_default_memory_per_cpu()) to.default_memory_per_cpu = Mebibytes{from.default_memory_per_cpu()};
  if (from.has_default_memory_per_node()) to.default_memory_per_node = Mebibytes{from.default_memory_per_node()};
  if (from.has_max_memory_per_cpu()) to.max_memory_per_cpu = Mebibytes{from.max_memory_per_cpu()};
  if (from.has_max_memory_per_node()) to.max_memory_per_node = Mebibytes{from.max_memory_per_node()};
  to.qos = from.qos();
  to.allow_qos.assign(from.allow_qos().begin(), from.allow_qos().end());
  to.deny_qos.assign(from.deny_qos().begin(), from.deny_qos().end());
  to.billing_weights = get_weights(from.billing_weights());
  to.all_nodes = from.all_nodes();
  to.node_features.assign(from.node_features().begin(), from.node_features().end());
  if (from.has_suspend_seconds()) to.suspend_seconds = from.suspend_seconds();
  if (from.has_suspend_timeout_seconds()) to.suspend_timeout_seconds = from.suspend_timeout_seconds();
  if (from.has_resume_timeout_seconds()) to.resume_timeout_seconds = from.resume_timeout_seconds();
  to.power_down_on_idle = from.power_down_on_idle();
  to.never_suspend = from.never_suspend();
  to.exclusive_user = from.exclusive_user();
  to.require_reservation = from.require_reservation();
  to.submit_hosts.assign(from.submit_hosts().begin(), from.submit_hosts().end());
  to.default_memory_per_gpu = from.default_memory_per_gpu();
  to.default_cpus_per_gpu = from.default_cpus_per_gpu();
  if (from.has_over_time_minutes()) to.over_time_minutes = from.over_time_minutes();
  if (from.has_max_cpus_per_node()) to.max_cpus_per_node = from.max_cpus_per_node();
  to.least_loaded = from.least_loaded();
  return to;
}

// Where nothing of it is set, nothing is written.
static void put_power(const Policy& from, log::Policy& to) {
  to.set_max_nodes(from.max_nodes);
  if (!from.power_saving && !from.show_cloud && from.suspend_seconds == unlimited) return;
  log::PowerPolicy& power = *to.mutable_power();
  power.set_saving(from.power_saving);
  power.set_suspend_seconds(from.suspend_seconds);
  power.set_suspend_timeout_seconds(from.suspend_timeout_seconds);
  power.set_suspend_rate(from.suspend_rate);
  power.set_resume_rate(from.resume_rate);
  power.set_suspend_except(from.suspend_except);
  for (const std::uint32_t count : from.keep_up) power.add_keep_up(count);
  power.set_show_cloud(from.show_cloud);
}

static void get_power(const log::Policy& from, Policy& to) {
  to.max_nodes = from.max_nodes();
  if (!from.has_power()) return;
  const log::PowerPolicy& power = from.power();
  to.power_saving = power.saving();
  to.suspend_seconds = power.suspend_seconds();
  to.suspend_timeout_seconds = power.suspend_timeout_seconds();
  to.suspend_rate = power.suspend_rate();
  to.resume_rate = power.resume_rate();
  to.suspend_except = power.suspend_except();
  to.keep_up.assign(power.keep_up().begin(), power.keep_up().end());
  to.show_cloud = power.show_cloud();
}

void put(const Policy& from, log::Policy& to) {
  to.set_first_job_id(from.first_job_id);
  to.set_max_job_id(from.max_job_id);
  to.set_max_job_count(from.max_job_count);
  to.set_max_array_size(from.max_array_size);
  to.set_kill_wait_seconds(from.kill_wait_seconds);
  to.set_min_job_age_seconds(from.min_job_age_seconds);
  to.set_requeue_delay_seconds(from.requeue_delay_seconds);
  to.set_max_script_bytes(from.max_script_bytes);
  to.set_return_to_service(from.return_to_service);
  to.set_job_requeue(from.job_requeue);
  to.set_memory_is_consumable(from.memory_is_consumable);
  to.set_backfill(from.backfill);
  to.set_basic_priority(from.basic_priority);
  to.set_preempt_type(static_cast<std::uint32_t>(from.preempt_type));
  to.set_preempt_mode(static_cast<std::uint32_t>(from.preempt_mode));
  to.set_preempt_exempt_seconds(from.preempt_exempt_seconds);
  to.set_gang(from.gang);
  to.set_time_slice_seconds(from.time_slice_seconds);
  to.set_node_programs(from.node_programs);
  to.set_job_prolog(from.job_prolog);
  to.set_job_epilog(from.job_epilog);
  to.set_requeue_on_prolog_failure(from.requeue_on_prolog_failure);
  to.set_no_hold_on_prolog_failure(!from.hold_on_prolog_failure);
  to.set_config_overrides(from.config_overrides);
  if (from.resume_timeout_seconds != 60) to.set_resume_timeout_seconds(from.resume_timeout_seconds);
  put_power(from, to);
  to.set_keep_ended_seconds(from.keep_ended_seconds);
  to.set_keep_ended_rows(from.keep_ended_rows);
  to.set_enforce_partition_limits(from.enforce_partition_limits);
  to.set_enforce_every_partition(from.enforce_every_partition);
  to.set_kill_invalid_dependency(from.kill_invalid_dependency);
  for (const std::uint32_t code : from.requeue_exit) to.add_requeue_exit(code);
  for (const std::uint32_t code : from.requeue_exit_hold) to.add_requeue_exit_hold(code);
  to.set_default_memory_per_gpu(from.default_memory_per_gpu);
  to.set_default_cpus_per_gpu(from.default_cpus_per_gpu);
  if (from.default_memory_per_cpu) to.set_default_memory_per_cpu(from.default_memory_per_cpu->value);
  if (from.default_memory_per_node) to.set_default_memory_per_node(from.default_memory_per_node->value);
  if (from.max_memory_per_cpu) to.set_max_memory_per_cpu(from.max_memory_per_cpu->value);
  if (from.max_memory_per_node) to.set_max_memory_per_node(from.max_memory_per_node->value);
  to.set_cpu_unit(static_cast<std::uint32_t>(from.cpu_unit));
  put_licences(from.licences, to.mutable_licences());
  if (!(from.priority == PriorityPolicy{})) put(from.priority, *to.mutable_priority());
  to.set_enforce(from.enforce);
  for (const auto& name : from.tres) to.add_tres(name);
  to.set_schedule(static_cast<std::uint32_t>(from.schedule));
  to.set_predict_run_times(from.predict_run_times);
  to.set_over_time_minutes(from.over_time_minutes);
  to.set_least_loaded(from.least_loaded);
  to.set_one_task_per_core(from.one_task_per_core);
  to.set_enforce_gres_binding(from.enforce_gres_binding);
  to.set_require_time_limit(from.require_time_limit);
  to.set_all_partitions(from.all_partitions);
  if (from.max_requeues != unlimited) to.set_requeues_and_one(from.max_requeues + 1);
  to.set_private_data(from.private_data);
  to.set_track_wckeys(from.track_wckeys);
  to.set_store_flags(from.store_flags);
}

Policy get(const log::Policy& from) {
  Policy to;
  to.first_job_id = from.first_job_id();
  to.max_job_id = from.max_job_id();
  to.max_job_count = from.max_job_count();
  to.max_array_size = from.max_array_size();
  to.kill_wait_seconds = from.kill_wait_seconds();
  to.min_job_age_seconds = from.min_job_age_seconds();
  to.requeue_delay_seconds = from.requeue_delay_seconds();
  to.max_script_bytes = from.max_script_bytes();
  to.return_to_service = from.return_to_service();
  to.job_requeue = from.job_requeue();
  to.memory_is_consumable = from.memory_is_consumable();
  to.backfill = from.backfill();
  to.basic_priority = from.basic_priority();
  to.preempt_type = static_cast<PreemptType>(from.preempt_type());
  to.preempt_mode = static_cast<PreemptMode>(from.preempt_mode());
  to.preempt_exempt_seconds = from.preempt_exempt_seconds();
  to.gang = from.gang();
  if (from.time_slice_seconds() > 0) to.time_slice_seconds = from.time_slice_seconds();
  to.node_programs = from.node_programs();
  to.job_prolog = from.job_prolog();
  to.job_epilog = from.job_epilog();
  to.requeue_on_prolog_failure = from.requeue_on_prolog_failure();
  to.hold_on_prolog_failure = !from.no_hold_on_prolog_failure();
  to.config_overrides = from.config_overrides();
  if (from.resume_timeout_seconds() > 0) to.resume_timeout_seconds = from.resume_timeout_seconds();
  get_power(from, to);
  to.keep_ended_seconds = from.keep_ended_seconds();
  to.keep_ended_rows = from.keep_ended_rows();
  to.enforce_partition_limits = from.enforce_partition_limits();
  to.enforce_every_partition = from.enforce_every_partition();
  to.kill_invalid_dependency = from.kill_invalid_dependency();
  to.requeue_exit.assign(from.requeue_exit().begin(), from.requeue_exit().end());
  to.requeue_exit_hold.assign(from.requeue_exit_hold().begin(), from.requeue_exit_hold().end());
  to.default_memory_per_gpu = from.default_memory_per_gpu();
  to.default_cpus_per_gpu = from.default_cpus_per_gpu();
  if (from.has_default_memory_per_cpu()) to.default_memory_per_cpu = Mebibytes{from.default_memory_per_cpu()};
  if (from.has_default_memory_per_node()) to.default_memory_per_node = Mebibytes{from.default_memory_per_node()};
  if (from.has_max_memory_per_cpu()) to.max_memory_per_cpu = Mebibytes{from.max_memory_per_cpu()};
  if (from.has_max_memory_per_node()) to.max_memory_per_node = Mebibytes{from.max_memory_per_node()};
  to.cpu_unit = static_cast<CpuUnit>(from.cpu_unit());
  to.licences = get_licences(from.licences());
  if (from.has_priority()) to.priority = get(from.priority());
  to.enforce = from.enforce();
  to.tres.assign(from.tres().begin(), from.tres().end());
  to.over_time_minutes = from.over_time_minutes();
  to.least_loaded = from.least_loaded();
  to.one_task_per_core = from.one_task_per_core();
  to.enforce_gres_binding = from.enforce_gres_binding();
  to.require_time_limit = from.require_time_limit();
  to.all_partitions = from.all_partitions();
  if (from.requeues_and_one() > 0) to.max_requeues = from.requeues_and_one() - 1;
  to.private_data = from.private_data();
  to.track_wckeys = from.track_wckeys();
  to.store_flags = from.store_flags();
  to.schedule = static_cast<Schedule>(from.schedule());
  to.predict_run_times = from.predict_run_times();
  return to;
}

void put(const Owner& from, log::Owner& to) {
  to.set_uid(from.uid.value);
  to.set_gid(from.gid.value);
  to.set_user_name(from.user_name);
  to.set_group_name(from.group_name);
  for (const auto gid : from.groups) to.add_groups(gid);
  to.set_submit_host(from.submit_host);
  for (const auto& limit : from.limits) {
    auto* added = to.add_limits();
    added->set_name(limit.name);
    added->set_soft(limit.soft);
  }
}

Owner get(const log::Owner& from) {
  Owner to{UserId{from.uid()},
           GroupId{from.gid()},
           from.user_name(),
           from.group_name(),
           {from.groups().begin(), from.groups().end()},
           from.submit_host(),
           {}};
  for (const auto& limit : from.limits()) to.limits.push_back({limit.name(), limit.soft()});
  return to;
}

void put(const JobExtras& from, log::JobExtras& to) {
  to.set_mail_types(from.mail_types);
  to.set_mail_user(from.mail_user);
  to.set_wckey(from.wckey);
  to.set_extra(from.extra);
  to.set_admin_comment(from.admin_comment);
  to.set_system_comment(from.system_comment);
  to.set_network(from.network);
  to.set_acctg_freq(from.acctg_freq);
  to.set_profile(from.profile);
  to.set_cpu_freq(from.cpu_freq);
  to.set_gpu_freq(from.gpu_freq);
  to.set_core_spec(from.core_spec.value_or(0));
  to.set_core_spec_said(from.core_spec.has_value());
  to.set_threads_spec(from.threads_spec);
  to.set_delay_boot_seconds(from.delay_boot_seconds);
  to.set_overcommit(from.overcommit);
  to.set_user_env(from.user_env);
  to.set_cron(from.cron);
  to.set_derived_exit(from.derived_exit);
  to.set_no_kill(from.no_kill);
  to.set_reboot(from.reboot);
  to.set_resv_ports(from.resv_ports);
  to.set_no_allocate(from.no_allocate);
  to.set_batch_features(from.batch_features);
  to.set_site_factor(from.site_factor);
  to.set_accrue_from(from.accrue_from.value);
}

JobExtras get(const log::JobExtras& from) {
  JobExtras to;
  to.mail_types = from.mail_types();
  to.mail_user = from.mail_user();
  to.wckey = from.wckey();
  to.extra = from.extra();
  to.admin_comment = from.admin_comment();
  to.system_comment = from.system_comment();
  to.network = from.network();
  to.acctg_freq = from.acctg_freq();
  to.profile = from.profile();
  to.cpu_freq = from.cpu_freq();
  to.gpu_freq = from.gpu_freq();
  if (from.core_spec_said() || from.core_spec() != 0)
    to.core_spec = from.core_spec();  // the first is not in logs of old
  to.threads_spec = from.threads_spec();
  to.delay_boot_seconds = from.delay_boot_seconds();
  to.overcommit = from.overcommit();
  to.user_env = from.user_env();
  to.cron = from.cron();
  to.derived_exit = from.derived_exit();
  to.no_kill = from.no_kill();
  to.reboot = from.reboot();
  to.resv_ports = from.resv_ports();
  to.no_allocate = from.no_allocate();
  to.batch_features = from.batch_features();
  to.site_factor = from.site_factor();
  to.accrue_from = Time{from.accrue_from()};
  return to;
}

void put(const JobSpec& from, log::JobSpec& to) {
  if (from.rare) put(*from.rare, *to.mutable_rare());
  if (from.resources) put(*from.resources, *to.mutable_resources());
  if (from.extras) put(*from.extras, *to.mutable_extras());
  to.set_name(from.name);
  to.set_account(from.account);
  to.set_work_dir(from.work_dir);
  to.set_std_out(from.std_out);
  to.set_command(from.command);
  to.set_submit_line(from.submit_line);
  to.set_partition(from.partition.value);
  to.set_submit_sid(from.submit_sid);
  to.set_min_nodes(from.min_nodes);
  to.set_max_nodes(from.max_nodes);
  to.set_tasks(from.tasks);
  to.set_tasks_per_node(from.tasks_per_node);
  to.set_cpus_per_task(from.cpus_per_task);
  to.set_min_cpus_per_node(from.min_cpus_per_node);
  if (from.memory_per_node) to.set_memory_per_node(from.memory_per_node->value);
  if (from.memory_per_cpu) to.set_memory_per_cpu(from.memory_per_cpu->value);
  to.set_nice(from.nice);
  to.set_umask(from.umask);
  to.set_open_mode(from.open_mode);
  const auto bit = [](bool on, std::uint32_t flag) { return on ? flag : 0u; };
  to.set_flags(bit(from.tasks_asked, flag_tasks_asked) | bit(from.nodes_asked, flag_nodes_asked) |
               bit(from.cpus_per_task_asked, flag_cpus_per_task_asked) | bit(from.exclusive, flag_exclusive) |
               bit(from.oversubscribe, flag_oversubscribe) | bit(from.requeue, flag_requeue) |
               bit(from.interactive, flag_interactive) | bit(from.label_output, flag_label_output) |
               bit(from.kill_on_invalid_dependency, flag_kill_on_invalid_dependency) |
               bit(from.allocation_only, flag_allocation_only));
  to.set_script(bytes_of(from.script));
  to.set_environment(bytes_of(from.environment));
  to.set_submission(bytes_of(from.submission));
}

JobSpec get(const log::JobSpec& from) {
  JobSpec to;
  if (from.has_rare()) to.rare = SharedValue(get(from.rare()));
  if (from.has_resources()) to.resources = SharedValue(get(from.resources()));
  if (from.has_extras()) to.extras = SharedValue(get(from.extras()));
  to.name = from.name();
  to.account = from.account();
  to.work_dir = from.work_dir();
  to.std_out = from.std_out();
  to.command = from.command();
  to.submit_line = from.submit_line();
  to.partition = PartitionIndex{from.partition()};
  to.submit_sid = from.submit_sid();
  to.min_nodes = from.min_nodes();
  to.max_nodes = from.max_nodes();
  to.tasks = from.tasks();
  to.tasks_per_node = from.tasks_per_node();
  to.cpus_per_task = std::max(from.cpus_per_task(), 1u);
  to.min_cpus_per_node = from.min_cpus_per_node();
  if (from.has_memory_per_node()) to.memory_per_node = Mebibytes{from.memory_per_node()};
  if (from.has_memory_per_cpu()) to.memory_per_cpu = Mebibytes{from.memory_per_cpu()};
  to.nice = from.nice();
  to.umask = from.umask();
  to.open_mode = static_cast<std::uint8_t>(from.open_mode());
  const auto has = [&](std::uint32_t flag) { return (from.flags() & flag) != 0; };
  to.tasks_asked = has(flag_tasks_asked);
  to.nodes_asked = has(flag_nodes_asked);
  to.cpus_per_task_asked = has(flag_cpus_per_task_asked);
  to.exclusive = has(flag_exclusive);
  to.oversubscribe = has(flag_oversubscribe);
  to.requeue = has(flag_requeue);
  to.interactive = has(flag_interactive);
  to.label_output = has(flag_label_output);
  to.kill_on_invalid_dependency = has(flag_kill_on_invalid_dependency);
  to.allocation_only = has(flag_allocation_only);
  to.script = bytes_to<Digest>(from.script());
  to.environment = bytes_to<Digest>(from.environment());
  to.submission = bytes_to<SubmissionKey>(from.submission());
  return to;
}

void put(const Dependencies& from, log::Dependencies& to) {
  to.set_any(from.any);
  for (const Dependency& dependency : from.list) {
    auto* added = to.add_list();
    added->set_kind(static_cast<std::uint32_t>(dependency.kind));
    added->set_target(dependency.target.value);
    added->set_shown(dependency.shown.value);
    if (dependency.task) added->set_task(*dependency.task);
    added->set_delay_minutes(dependency.delay_minutes);
    added->set_due_at(dependency.due_at.value);
    added->set_state(static_cast<std::uint32_t>(dependency.state));
  }
}

Dependencies get(const log::Dependencies& from) {
  Dependencies to;
  to.any = from.any();
  for (const auto& each : from.list()) {
    Dependency dependency;
    dependency.kind = static_cast<DependencyKind>(each.kind());
    dependency.target = JobKey{each.target()};
    dependency.shown = JobId{each.shown()};
    if (each.has_task()) dependency.task = each.task();
    dependency.delay_minutes = each.delay_minutes();
    dependency.due_at = Time{each.due_at()};
    dependency.state = static_cast<DependencyState>(each.state());
    to.list.push_back(dependency);
  }
  return to;
}

void put(const ArraySpec& from, log::ArraySpec& to) {
  put_ranges(from.tasks, to.mutable_tasks());
  to.set_throttle(from.throttle);
}

ArraySpec get(const log::ArraySpec& from) { return {get_ranges(from.tasks()), from.throttle()}; }

void put(const Inventory& from, log::Inventory& to) {
  to.set_cpus(from.cpus.value);
  to.set_memory_mib(from.memory.value);
  to.set_tmp_disk_mib(from.tmp_disk.value);
  to.set_arch(from.arch);
  to.set_os(from.os);
  to.set_version(from.version);
  to.set_host_name(from.host_name);
  to.set_boot_at(from.boot_at.value);
  to.set_agent_started_at(from.agent_started_at.value);
  for (const NodeGres& kind : from.devices) put(kind, *to.add_devices());
  to.set_instance_id(from.instance_id);
  to.set_instance_type(from.instance_type);
  to.set_extra(from.extra);
}

Inventory get(const log::Inventory& from) {
  Inventory to{Cpus{from.cpus()},
               Mebibytes{from.memory_mib()},
               Mebibytes{from.tmp_disk_mib()},
               from.arch(),
               from.os(),
               from.version(),
               from.host_name(),
               Time{from.boot_at()},
               Time{from.agent_started_at()}};
  for (const auto& kind : from.devices()) to.devices.push_back(get(kind));
  to.instance_id = from.instance_id();
  to.instance_type = from.instance_type();
  to.extra = from.extra();
  return to;
}

void put(const DeviceTrouble& from, log::DeviceTrouble& to) {
  to.set_name(from.name);
  to.set_type(from.type);
  to.set_device(from.device);
  to.set_text(from.text);
}

DeviceTrouble get(const log::DeviceTrouble& from) { return {from.name(), from.type(), from.device(), from.text()}; }

}  // namespace millrace
