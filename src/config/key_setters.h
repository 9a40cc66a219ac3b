// src/config/key_setters.h - how the value of a key reaches its field of Configuration; used by the rows of keys.cpp.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text.h"
#include "config/conf_lines.h"
#include "config/configuration.h"

namespace millrace::setter {

template <auto field>
Result<void> text(Configuration& c, std::string_view value) {
  c.*field = std::string{value};
  return {};
}

template <auto field>
Result<void> number(Configuration& c, std::string_view value) {
  c.*field = static_cast<std::uint32_t>(*parse_integer(value));  // check_kind() has seen it
  return {};
}

template <auto field>
Result<void> in_seconds(Configuration& c, std::string_view value) {
  const auto count = parse_integer(value);
  const auto duration = parse_duration(value);
  if (count)
    c.*field = seconds(*count);
  else if (duration && !duration->unlimited)
    c.*field = seconds(duration->seconds);
  else
    c.*field = seconds(INT32_MAX);  // NONE, INFINITE
  return {};
}

Result<std::uint32_t> over_time_minutes(std::string_view value);  // or unlimited_count
Result<void> over_time_limit(Configuration& c, std::string_view value);
struct PortRange {
  std::uint16_t first = 0, last = 0;  // 0: any
};
Result<PortRange> parse_port_range(std::string_view value);
Result<void> srun_port_range(Configuration& c, std::string_view value);  // read by srun; here it is only checked
Result<void> scron_parameters(Configuration& c, std::string_view value);
Result<void> mpi_default(Configuration& c, std::string_view value);
Result<void> mpi_params(Configuration& c, std::string_view value);
Result<void> bcast_parameters(Configuration& c,
                              std::string_view value);  // read by sbcast and srun; here it is only checked
Result<void> unkillable_program(Configuration& c,
                                std::string_view value);  // read by agents as it was given; here it is only checked
Result<void> max_step_count(Configuration& c, std::string_view value);
Result<void> max_tasks_per_node(Configuration& c, std::string_view value);
// Logs (log_setters.cpp)
Result<void> controller_debug(Configuration& c, std::string_view value);
Result<void> agent_debug(Configuration& c, std::string_view value);
Result<void> controller_syslog(Configuration& c, std::string_view value);
Result<void> agent_syslog(Configuration& c, std::string_view value);
Result<void> debug_flag_list(Configuration& c, std::string_view value);
Result<void> log_time_format(Configuration& c, std::string_view value);
Result<void> schedule_log_file(Configuration& c, std::string_view value);
Result<void> schedule_log_level(Configuration& c, std::string_view value);
// Programs around jobs and nodes (program_setters.cpp)
Result<void> prolog(Configuration& c, std::string_view value);
Result<void> epilog(Configuration& c, std::string_view value);
Result<void> controller_prolog(Configuration& c, std::string_view value);
Result<void> controller_epilog(Configuration& c, std::string_view value);
Result<void> prolog_limit(Configuration& c, std::string_view value);
Result<void> epilog_limit(Configuration& c, std::string_view value);
Result<void> prolog_epilog_limit(Configuration& c, std::string_view value);
Result<void> prolog_flags(Configuration& c, std::string_view value);
Result<void> health_check_program(Configuration& c, std::string_view value);
Result<void> health_check_interval(Configuration& c, std::string_view value);
Result<void> health_check_limit(Configuration& c, std::string_view value);
Result<void> health_check_state(Configuration& c, std::string_view value);
Result<void> reboot_program(Configuration& c, std::string_view value);
Result<void> mail_program(Configuration& c, std::string_view value);
Result<void> mail_domain(Configuration& c, std::string_view value);
Result<void> reservation_prolog(Configuration& c, std::string_view value);
Result<void> reservation_epilog(Configuration& c, std::string_view value);
Result<void> completion_type(Configuration& c, std::string_view value);
Result<void> completion_location(Configuration& c, std::string_view value);
Result<void> store_flags(Configuration& c, std::string_view value);
Result<void> store_comment(Configuration& c, std::string_view value);
Result<void> resume_timeout(Configuration& c, std::string_view value);
Result<void> agent_parameters(Configuration& c, std::string_view value);

// Power saving (power_setters.cpp)
Result<std::uint32_t> suspend_seconds(std::string_view value);  // or unlimited_count
Result<void> suspend_program(Configuration& c, std::string_view value);
Result<void> resume_program(Configuration& c, std::string_view value);
Result<void> resume_fail_program(Configuration& c, std::string_view value);
Result<void> suspend_time(Configuration& c, std::string_view value);
Result<void> suspend_timeout(Configuration& c, std::string_view value);
Result<void> suspend_rate(Configuration& c, std::string_view value);
Result<void> resume_rate(Configuration& c, std::string_view value);
Result<void> suspend_except_nodes(Configuration& c, std::string_view value);
Result<void> other_authentication(Configuration& c, std::string_view value);
Result<void> token_parameters(Configuration& c, std::string_view value);
Result<void> reconfig_flags(Configuration& c, std::string_view value);
Result<void> suspend_except_partitions(Configuration& c, std::string_view value);
Result<void> suspend_except_states(Configuration& c, std::string_view value);
Result<void> max_node_count(Configuration& c, std::string_view value);
Result<void> private_data(Configuration& c, std::string_view value);
Result<void> controller_parameters(Configuration& c, std::string_view value);

Result<void> preempt_type(Configuration& c, std::string_view value);
Result<void> preempt_mode(Configuration& c, std::string_view value);
// OFF, CANCEL, REQUEUE or SUSPEND, each also with GANG, or GANG alone; WITHIN and PRIORITY are named as not built.
struct PreemptWords {
  PreemptMode mode = PreemptMode::off;
  bool gang = false;
  bool within = false, priority = false;  // WITHIN and PRIORITY, which are not built
};
Result<PreemptWords> read_preempt_mode(std::string_view value);
bool has_later_mode(const ConfPair& pair);  // PreemptMode of a partition with one of these
bool is_yes(std::string_view value);        // yes, true, 1

template <auto field>
Result<void> flag(Configuration& c, std::string_view value) {
  c.*field = is_yes(value);
  return {};
}

template <auto field>
Result<void> memory(Configuration& c, std::string_view value) {
  const auto size = parse_memory(value);
  if (size && size->value > 0)
    c.*field = *size;
  else
    (c.*field).reset();  // 0 and UNLIMITED: no limit
  return {};
}

template <auto field>
Result<void> weight(Configuration& c, std::string_view value) {
  c.priority.*field = static_cast<std::uint32_t>(*parse_integer(value));  // check_kind() has seen it
  return {};
}

// Minutes, or days, hours and so on; NONE and 0 are 0.
template <auto field>
Result<void> priority_time(Configuration& c, std::string_view value) {
  const auto time = parse_duration(value);
  if (time && time->unlimited)
    return fail(Errc::invalid, "'" + std::string{value} + "' is not a time, as in 30 or 7-0");
  c.priority.*field = time ? static_cast<std::uint32_t>(time->seconds) : 0;
  return {};
}

Result<void> priority_favor_small(Configuration& c, std::string_view value);
Result<void> priority_flags(Configuration& c, std::string_view value);
Result<void> priority_reset(Configuration& c, std::string_view value);
Result<void> priority_tres(Configuration& c, std::string_view value);
Result<void> enforce(Configuration& c, std::string_view value);
Result<void> tracked_tres(Configuration& c, std::string_view value);
Result<void> port_controller(Configuration& c, std::string_view value);
Result<void> port_agent(Configuration& c, std::string_view value);
Result<void> controller_host(Configuration& c, std::string_view value);
Result<void> controller_address(Configuration& c, std::string_view value);
Result<void> cluster_name(Configuration& c, std::string_view value);
bool is_munge_socket(std::string_view path);  // Slurm's key for it is the one that names our own socket
// DefCpuPerGPU=n,DefMemPerGPU=n
Result<void> job_defaults(std::string_view value, std::uint32_t& cpus_per_gpu, Mebibytes& memory_per_gpu);
Result<void> job_defaults_of_all(Configuration& c, std::string_view value);
Result<void> default_memory_per_gpu(Configuration& c, std::string_view value);
Result<void> dependency_parameters(Configuration& c, std::string_view value);
Result<void> requeue_exit(Configuration& c, std::string_view value);
Result<void> requeue_exit_hold(Configuration& c, std::string_view value);
Result<void> enforce_part_limits(Configuration& c, std::string_view value);
Result<void> auth_type(Configuration& c, std::string_view value);
Result<void> auth_info(Configuration& c, std::string_view value);
Result<void> scheduler_type(Configuration& c, std::string_view value);
Result<void> scheduler_parameters(Configuration& c, std::string_view value);
Result<void> priority_type(Configuration& c, std::string_view value);
Result<void> select_type(Configuration& c, std::string_view value);
Result<void> select_type_parameters(Configuration& c, std::string_view value);
Result<void> gres_types(Configuration& c, std::string_view value);
Result<void> job_submit_plugins(Configuration& c, std::string_view value);
Result<void> licences(Configuration& c, std::string_view value);
Result<void> topology_plugin(Configuration& c, std::string_view value);
Result<void> return_to_service(Configuration& c, std::string_view value);
Result<void> proctrack_type(Configuration& c, std::string_view value);
Result<void> measure_type(Configuration& c, std::string_view value);
Result<void> measure_frequency(Configuration& c, std::string_view value);
Result<void> task_plugin(Configuration& c, std::string_view value);
Result<void> task_plugin_param(Configuration& c, std::string_view value);
Result<void> namespace_type(Configuration& c, std::string_view value);

}  // namespace millrace::setter
