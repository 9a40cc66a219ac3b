// src/cli/render/data_jobs.cpp - a job as squeue --json and scontrol show job --json print it.
#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/render/data_records.h"
#include "cli/render/job_words.h"
#include "core/model/job_extras.h"

namespace millrace {
namespace {

struct JobRecord {
  const wire::JobView& job;
  const wire::ResourceView& ask;
  const DataContext& context;
};
using R = JobRecord;

// The processors of one node in their sockets; without the node's shape there is nothing to say.
Data sockets_of(const wire::NodeView* node, std::string_view cpu_ids) {
  DataList sockets;
  if (node == nullptr || node->cores_per_socket() == 0) return sockets;
  std::vector<bool> used;
  for (const std::string_view part : split(cpu_ids, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_integer(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_integer(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last > 65535) continue;
    if (used.size() <= static_cast<std::size_t>(*last)) used.resize(static_cast<std::size_t>(*last) + 1);
    for (std::int64_t cpu = *first; cpu <= *last; ++cpu) used[static_cast<std::size_t>(cpu)] = true;
  }
  const std::size_t threads = std::max(node->threads_per_core(), 1u);
  for (std::uint32_t socket = 0; socket < node->sockets(); ++socket) {
    DataList cores;
    for (std::uint32_t core = 0; core < node->cores_per_socket(); ++core) {
      bool any = false;
      for (std::size_t thread = 0; thread < threads; ++thread) {
        const std::size_t cpu = (std::size_t{socket} * node->cores_per_socket() + core) * threads + thread;
        any = any || (cpu < used.size() && used[cpu]);
      }
      cores.push_back(DataMap{{"index", core}, {"status", DataList{Data{any ? "ALLOCATED" : "UNALLOCATED"}}}});
    }
    sockets.push_back(DataMap{{"index", socket}, {"cores", std::move(cores)}});
  }
  return sockets;
}

Data resources_of(const R& r) {
  if (is_pending(r.job) || r.job.nodes().empty()) return {};
  const auto names = expand_hostlist(r.job.nodes());
  if (!names || names->empty()) return {};
  DataList allocation;
  const std::uint64_t memory = r.job.allocated_memory_mib() / names->size();
  for (std::size_t i = 0; i < names->size(); ++i) {
    const int at = static_cast<int>(i);
    const auto node = r.context.nodes.find((*names)[i]);
    const std::string ids = at < r.job.cpu_ids_per_allocated_node_size() ? r.job.cpu_ids_per_allocated_node(at) : "0";
    allocation.push_back(DataMap{
        {"index", static_cast<std::uint32_t>(i)},
        {"name", (*names)[i]},
        {"cpus", DataMap{{"count", at < r.job.cpus_per_allocated_node_size() ? r.job.cpus_per_allocated_node(at) : 0u},
                         {"used", 0u}}},
        {"memory", DataMap{{"used", 0u}, {"allocated", memory}}},
        {"sockets", sockets_of(node == r.context.nodes.end() ? nullptr : node->second, ids)}});
  }
  return DataMap{{"select_type", DataList{Data{"CR_CPU_MEMORY"}}},
                 {"nodes", DataMap{{"count", static_cast<std::uint32_t>(names->size())},
                                   {"select_type", DataList{Data{"ONE_ROW"}}},
                                   {"list", r.job.nodes()},
                                   {"whole", r.job.exclusive()},
                                   {"allocation", std::move(allocation)}}},
                 {"cpus", r.job.cpus()},
                 {"threads_per_core", number_not_set()}};
}

// The state itself first, then everything that is also so.
Data states_of(const wire::JobView& job) {
  wire::JobView base = job;
  base.clear_completing();
  base.clear_requeue_held();
  base.clear_configuring();
  base.clear_special_exit();
  return words_of({{true, state_word(base)},
                   {job.completing(), "COMPLETING"},
                   {job.configuring(), "CONFIGURING"},
                   {job.requeue_held(), "REQUEUE_HOLD"},
                   {job.special_exit(), "SPECIAL_EXIT"}});
}

Data flags_of(const R& r) {
  return words_of({{r.job.cpus_per_task_asked(), "EXACT_CPU_COUNT_REQUESTED"},
                   {!is_pending(r.job) && r.job.start_at_us() != 0, "JOB_WAS_RUNNING"},
                   {r.job.has_memory_per_node_mib() || r.job.has_memory_per_cpu_mib(), "EXACT_MEMORY_REQUESTED"},
                   {is_pending(r.job) && !r.job.dependency().empty(), "DEPENDENT"},
                   {r.ask.enforce_binding(), "GRES_BINDING_ENFORCED"},
                   {r.ask.spread_job(), "SPREAD_JOB"},
                   {!r.job.extras().cron().empty(), "CRON_JOB"},
                   {true, "PARTITION_ASSIGNED"}});
}

Data shared_of(const R& r) {
  return words_of(
      {{r.job.exclusive(), "none"}, {r.job.oversubscribe(), "oversubscribe"}, {r.ask.exclusive_user(), "user"}});
}

Data step_id_of(const R& r) {
  return DataMap{{"sluid", sluid_text(r.job)},
                 {"job_id", number_or_not(r.job.job_id())},
                 {"step_het_component", number_not_set()},
                 {"step_id", "entire"}};
}

bool placed(const R& r) { return !is_pending(r.job) && !r.job.nodes().empty(); }
Data count_asked(std::uint32_t count) { return number_if(count != 0, count); }
Data count_or_infinite(std::uint32_t count) { return count == 0 ? number_infinite() : number_or_not(count); }
template <auto getter>
Data text(const R& r) {
  return (r.job.*getter)();
}
template <auto getter>
Data asked(const R& r) {
  return (r.ask.*getter)();
}
template <auto getter>
Data time(const R& r) {
  return time_of((r.job.*getter)());
}
using E = wire::JobExtras;
template <auto getter>
Data extra(const R& r) {
  return (r.job.extras().*getter)();
}
Data empty(const R&) { return ""; }
Data none(const R&) { return number_not_set(); }
Data set_zero(const R&) { return number_or_not(0); }
Data zero(const R&) { return 0u; }
Data nothing(const R&) { return DataList{}; }
using V = wire::JobView;
using A = wire::ResourceView;

// clang-format off
constexpr DataField<JobRecord> fields[] = {
    {"account", "STRING", text<&V::account>},
    {"accrue_time", "TIMESTAMP_NO_VAL", [](const R& r) { return time_of(r.job.accrue_at_us() != 0 ? r.job.accrue_at_us() : r.job.eligible_at_us()); }},
    {"admin_comment", "STRING", extra<&E::admin_comment>},
    {"allocating_node", "STRING", text<&V::submit_host>},
    {"array_job_id", "UINT32_NO_VAL", [](const R& r) { return number_or_not(r.job.array_job_id()); }},
    {"array_task_id", "UINT32_NO_VAL", [](const R& r) { return number_if(r.job.has_array_task(), r.job.array_task()); }},
    {"array_max_tasks", "UINT32_NO_VAL", [](const R& r) { return number_or_not(r.job.array_throttle()); }},
    {"array_task_string", "STRING", text<&V::array_tasks>},
    {"association_id", "UINT32", text<&V::association>},
    {"batch_features", "STRING", [](const R& r) -> Data { return r.job.extras().batch_features(); }},
    {"batch_flag", "BOOL16", text<&V::batch>},
    {"batch_host", "STRING", text<&V::batch_host>},
    {"flags", "JOB_FLAGS", flags_of},
    {"burst_buffer", "STRING", empty},
    {"burst_buffer_state", "STRING", empty},
    {"cluster", "STRING", [](const R& r) -> Data { return r.context.cluster; }},
    {"cluster_features", "STRING", empty},
    {"command", "STRING", text<&V::command>},
    {"comment", "STRING", text<&V::comment>},
    {"container", "STRING", text<&V::container>},
    {"container_id", "STRING", empty},
    {"contiguous", "BOOL16_NO_VAL", asked<&A::contiguous>},
    {"core_spec", "CORE_SPEC", [](const R& r) -> Data { return r.job.extras().threads_spec() ? 0u : r.job.extras().core_spec(); }},
    {"thread_spec", "THREAD_SPEC", [](const R& r) -> Data { return r.job.extras().threads_spec() ? r.job.extras().core_spec() : 32766u; }},
    {"cores_per_socket", "UINT16_NO_VAL", [](const R& r) { return count_asked(r.ask.cores_per_socket()); }},
    {"billable_tres", "FLOAT64_NO_VAL", [](const R& r) { return real_if(placed(r), r.job.cpus()); }},
    {"cpus_per_task", "UINT16_NO_VAL", [](const R& r) { return number_or_not(std::max(r.job.cpus_per_task(), 1u)); }},
    {"cpu_frequency_minimum", "UINT32_NO_VAL", none},
    {"cpu_frequency_maximum", "UINT32_NO_VAL", none},
    {"cpu_frequency_governor", "UINT32_NO_VAL", none},
    {"cpus_per_tres", "STRING", [](const R& r) -> Data { return r.ask.cpus_per_gpu() == 0 ? "" : "gres/gpu:" + std::to_string(r.ask.cpus_per_gpu()); }},
    {"cron", "STRING", [](const R& r) -> Data { return r.job.extras().cron(); }},
    {"deadline", "TIMESTAMP_NO_VAL", [](const R& r) { return time_of(r.ask.deadline_us()); }},
    {"delay_boot", "UINT32_NO_VAL", [](const R& r) { return number_or_not(r.job.extras().delay_boot_seconds()); }},
    {"dependency", "STRING", text<&V::dependency>},
    {"derived_exit_code", "PROCESS_EXIT_CODE", [](const R& r) {
       const std::string& text = r.job.extras().derived_exit();  // 1:0
       const std::size_t colon = text.find(':');
       return exit_code_data(static_cast<std::uint32_t>(parse_integer(text.substr(0, colon)).value_or(0)), static_cast<std::uint32_t>(colon == std::string::npos ? 0 : parse_integer(text.substr(colon + 1)).value_or(0)));
     }},
    {"eligible_time", "TIMESTAMP_NO_VAL", time<&V::eligible_at_us>},
    {"end_time", "TIMESTAMP_NO_VAL", [](const R& r) { return time_of(is_pending(r.job) && r.job.start_at_us() == 0 ? 0 : r.job.end_at_us()); }},
    {"excluded_nodes", "STRING", text<&V::excluded_nodes>},
    {"exit_code", "PROCESS_EXIT_CODE", [](const R& r) { return exit_code_data(r.job.exit_code(), r.job.exit_signal()); }},
    {"extra", "STRING", extra<&E::extra>},
    {"failed_node", "STRING", text<&V::failed_node>},
    {"features", "STRING", asked<&A::features>},
    {"federation_origin", "STRING", empty},
    {"federation_siblings_active", "STRING", empty},
    {"federation_siblings_viable", "STRING", empty},
    {"gres_detail", "STRING_LIST", [](const R& r) -> Data {
       DataList out;
       for (const std::string& one : r.ask.gres_per_allocated_node()) if (!one.empty()) out.emplace_back(one);
       return out;
     }},
    {"group_id", "UINT32", text<&V::gid>},
    {"group_name", "GROUP_ID", [](const R& r) -> Data { return r.job.group_name().empty() ? r.context.names->group(r.job.gid()) : r.job.group_name(); }},
    {"het_job_id", "UINT32_NO_VAL", [](const R& r) { return number_or_not(r.job.het_job_id()); }},
    {"het_job_id_set", "STRING", [](const R& r) -> Data { return r.job.het_job_id() == 0 ? "" : het_job_ids_text(r.job); }},
    {"het_job_offset", "UINT32_NO_VAL", [](const R& r) { return number_or_not(r.job.het_job_offset()); }},
    {"job_id", "UINT32", text<&V::job_id>},
    {"job_resources", "JOB_RES_PTR", resources_of},
    {"job_size_str", "CSV_STRING", nothing},
    {"job_state", "JOB_STATE", [](const R& r) { return states_of(r.job); }},
    {"last_sched_evaluation", "TIMESTAMP_NO_VAL", time<&V::last_evaluated_us>},
    {"licenses", "STRING", asked<&A::licenses>},
    {"licenses_allocated", "STRING", asked<&A::licenses_allocated>},
    {"mail_type", "JOB_MAIL_FLAGS", [](const R& r) -> Data { return r.job.extras().mail_types() == 0 ? Data{DataList{}} : words_by_comma(mail_types_text(r.job.extras().mail_types())); }},
    {"mail_user", "STRING", [](const R& r) -> Data { return !r.job.extras().mail_user().empty() ? r.job.extras().mail_user() : r.job.user_name().empty() ? r.context.names->user(r.job.uid()) : r.job.user_name(); }},
    {"max_cpus", "UINT32_NO_VAL", set_zero},
    {"max_nodes", "UINT32_NO_VAL", [](const R& r) { return number_or_not(r.job.max_node_count()); }},
    {"mcs_label", "STRING", empty},
    {"memory_per_tres", "STRING", [](const R& r) -> Data { return r.ask.memory_per_gpu_mib() == 0 ? "" : "gres/gpu:" + std::to_string(r.ask.memory_per_gpu_mib()); }},
    {"memory_update_delay", "UINT16", zero},
    {"memory_update_margin", "UINT16", zero},
    {"name", "STRING", text<&V::name>},
    {"network", "STRING", extra<&E::network>},
    {"nodes", "STRING", text<&V::nodes>},
    {"nice", "NICE", text<&V::nice>},
    {"tasks_per_core", "UINT16_NO_VAL", [](const R& r) { return count_or_infinite(r.ask.tasks_per_core()); }},
    {"tasks_per_tres", "UINT16_NO_VAL", [](const R& r) { return number_or_not(r.ask.tasks_per_gpu()); }},
    {"tasks_per_node", "UINT16_NO_VAL", [](const R& r) { return number_or_not(r.job.tasks_per_node()); }},
    {"tasks_per_socket", "UINT16_NO_VAL", [](const R& r) { return count_or_infinite(r.ask.tasks_per_socket()); }},
    {"tasks_per_board", "UINT16_NO_VAL", set_zero},
    {"cpus", "UINT32_NO_VAL", [](const R& r) { return number_or_not(r.job.cpus()); }},
    {"node_count", "UINT32_NO_VAL", [](const R& r) { return number_or_not(r.job.node_count()); }},
    {"tasks", "UINT32_NO_VAL", [](const R& r) { return number_or_not(r.job.tasks()); }},
    {"partition", "STRING", text<&V::partition>},
    {"prefer", "STRING", asked<&A::prefer>},
    {"memory_per_cpu", "MEM_PER_CPUS", [](const R& r) { return number_if(r.job.has_memory_per_cpu_mib(), r.job.memory_per_cpu_mib()); }},
    {"memory_per_node", "MEM_PER_NODE", [](const R& r) { return number_if(!r.job.has_memory_per_cpu_mib(), r.job.memory_per_node_mib()); }},
    {"minimum_cpus_per_node", "UINT16_NO_VAL", [](const R& r) { return number_or_not(r.job.min_cpus_per_node()); }},
    {"minimum_tmp_disk_per_node", "UINT32_NO_VAL", [](const R& r) { return number_or_not(r.ask.tmp_disk_mib()); }},
    {"preempt_time", "TIMESTAMP_NO_VAL", set_zero},
    {"preemptable_time", "TIMESTAMP_NO_VAL", set_zero},
    {"pre_sus_time", "TIMESTAMP_NO_VAL", time<&V::ran_before_us>},
    {"hold", "HOLD", [](const R& r) -> Data { return is_pending(r.job) && r.job.priority() == 0; }},
    {"priority", "UINT32_NO_VAL", [](const R& r) { return number_or_not(r.job.priority()); }},
    {"priority_by_partition", "PRIORITY_BY_PARTITION_LIST", nothing},
    {"profile", "ACCT_GATHER_PROFILE", [](const R& r) { return r.job.extras().profile().empty() ? Data{DataList{Data{"NOT_SET"}}} : words_by_comma(upper_case(r.job.extras().profile())); }},
    {"qos", "STRING", text<&V::qos>},
    {"reboot", "BOOL", [](const R& r) -> Data { return r.job.extras().reboot(); }},
    {"required_nodes", "STRING", text<&V::required_nodes>},
    {"required_switches", "UINT32", asked<&A::switches>},
    {"requeue", "BOOL16", text<&V::requeue>},
    {"resize_time", "TIMESTAMP_NO_VAL", time<&V::resized_at_us>},
    {"restart_cnt", "UINT16", text<&V::restarts>},
    {"resv_name", "STRING", asked<&A::reservation>},
    {"runtime", "STRING", empty},
    {"scheduled_nodes", "STRING", text<&V::planned_nodes>},
    {"segment_size", "UINT16", asked<&A::segment>},
    {"selinux_context", "STRING", empty},
    {"shared", "JOB_SHARED", shared_of},
    {"step_id", "SLURM_STEP_ID", step_id_of},
    {"sockets_per_board", "UINT16", zero},
    {"sockets_per_node", "UINT16_NO_VAL", [](const R& r) { return count_asked(r.ask.sockets_per_node()); }},
    {"start_time", "TIMESTAMP_NO_VAL", time<&V::start_at_us>},
    {"state_description", "STRING", [](const R& r) -> Data {
       if (r.job.reason().find(',') != std::string::npos) return r.job.reason();
       return r.job.wait_words_size() == 0 ? "" : r.job.wait_words(0);
     }},
    {"state_reason", "JOB_REASON", [](const R& r) -> Data { return r.job.reason().substr(0, r.job.reason().find(',')); }},
    {"standard_input", "STRING", text<&V::std_in_pattern>},
    {"standard_output", "STRING", text<&V::std_out_pattern>},
    {"standard_error", "STRING", text<&V::std_err_pattern>},
    {"stdin_expanded", "STRING", text<&V::std_in>},
    {"stdout_expanded", "STRING", text<&V::std_out>},
    {"stderr_expanded", "STRING", text<&V::std_err>},
    {"submit_time", "TIMESTAMP_NO_VAL", time<&V::submit_at_us>},
    {"submit_line", "STRING", text<&V::submit_line>},
    {"suspend_time", "TIMESTAMP_NO_VAL", time<&V::suspend_at_us>},
    {"system_comment", "STRING", extra<&E::system_comment>},
    {"time_limit", "UINT32_NO_VAL", [](const R& r) { return number_or_infinite(r.job.time_limit_minutes()); }},
    {"time_minimum", "UINT32_NO_VAL", [](const R& r) { return number_or_not(r.ask.time_min_minutes()); }},
    {"threads_per_core", "UINT16_NO_VAL", [](const R& r) { return count_asked(r.ask.threads_per_core()); }},
    {"tres_bind", "STRING", empty},
    {"tres_freq", "STRING", [](const R& r) -> Data { return r.job.extras().gpu_freq().empty() ? "" : "gpu:" + r.job.extras().gpu_freq(); }},
    {"tres_per_job", "STRING", asked<&A::tres_per_job>},
    {"tres_per_node", "STRING", asked<&A::tres_per_node>},
    {"tres_per_socket", "STRING", asked<&A::tres_per_socket>},
    {"tres_per_task", "STRING", [](const R& r) -> Data { return tres_per_task_text(r.job); }},
    {"tres_req_str", "STRING", [](const R& r) -> Data { return tres_text(r.job.requested_cpus(), r.job.requested_memory_mib(), r.job.requested_nodes(), r.ask.requested_gres_tres()); }},
    {"tres_alloc_str", "STRING", [](const R& r) -> Data { return placed(r) ? tres_text(r.job.cpus(), r.job.allocated_memory_mib(), r.job.node_count(), r.ask.allocated_gres_tres()) : ""; }},
    {"user_id", "UINT32", text<&V::uid>},
    {"user_name", "USER_ID", [](const R& r) -> Data { return r.job.user_name().empty() ? r.context.names->user(r.job.uid()) : r.job.user_name(); }},
    {"maximum_switch_wait_time", "UINT32", asked<&A::switches_wait_seconds>},
    {"wckey", "STRING", extra<&E::wckey>},
    {"current_working_directory", "STRING", text<&V::work_dir>},
};
// clang-format on

}  // namespace

Data job_data(const wire::JobView& job, const DataContext& context) {
  return to_data(std::span<const DataField<JobRecord>>{fields}, JobRecord{job, job.resources(), context});
}

std::vector<DataFieldText> job_data_fields() { return field_texts(std::span<const DataField<JobRecord>>{fields}); }

}  // namespace millrace
