// src/cli/render/data_partitions.cpp - partitions, reservations, steps and licences as --json prints them.
#include <algorithm>

#include "base/text.h"
#include "cli/render/data_records.h"
#include "cli/render/job_words.h"
#include "cli/render/node_words.h"

namespace millrace {
namespace {

using P = wire::PartitionView;

Data limit_or_infinite(std::uint32_t count) {
  return count == UINT32_MAX || count == 0 ? number_infinite() : number_or_not(count);
}
// Slurm tells memory for a node from memory for a processor by which of the two is set.
Data per_cpu(bool has, std::uint64_t mib) { return number_if(has, mib); }
Data per_node(bool has_cpu, bool has_node, std::uint64_t mib) { return number_if(!has_cpu, has_node ? mib : 0); }

template <auto getter>
Data value(const P& p) {
  return (p.*getter)();
}
Data empty(const P&) { return ""; }
Data none(const P&) { return number_not_set(); }
Data infinite(const P&) { return number_infinite(); }

Data preempt_modes(const P& p) {
  if (p.preempt_mode().empty() || p.preempt_mode() == "OFF") return DataList{Data{"CLUSTER_GLOBAL"}};
  return words_by_comma(p.preempt_mode());
}

// clang-format off
constexpr DataField<P> partition_fields[] = {
    {"nodes/allowed_allocation", "STRING", value<&P::submit_hosts>},
    {"nodes/configured", "STRING", value<&P::nodes>},
    {"nodes/total", "UINT32", value<&P::node_count>},
    {"accounts/allowed", "STRING", value<&P::allow_accounts>},
    {"accounts/deny", "STRING", value<&P::deny_accounts>},
    {"groups/allowed", "STRING", value<&P::allow_groups>},
    {"qos/allowed", "STRING", value<&P::allow_qos>},
    {"qos/deny", "STRING", value<&P::deny_qos>},
    {"qos/assigned", "STRING", value<&P::qos>},
    {"alternate", "STRING", empty},
    {"tres/billing_weights", "STRING", value<&P::billing_weights>},
    {"tres/configured", "STRING", [](const P& p) -> Data { return tres_text(p.cpu_count(), p.memory_mib(), p.node_count(), p.gres_tres()); }},
    {"cluster", "STRING", empty},
    {"select_type", "SELECT_TYPE_PARAM", [](const P&) -> Data { return DataList{Data{"NONE"}}; }},
    {"cpus/task_binding", "NODE_PARTITION_CPU_BINDING_FLAGS", [](const P&) -> Data { return DataList{}; }},
    {"cpus/total", "UINT32", value<&P::cpu_count>},
    {"defaults/partition_memory_per_cpu", "MEM_PER_CPUS", [](const P& p) { return per_cpu(p.has_default_memory_per_cpu_mib(), p.default_memory_per_cpu_mib()); }},
    {"defaults/partition_memory_per_node", "MEM_PER_NODE", [](const P& p) { return per_node(p.has_default_memory_per_cpu_mib(), p.has_default_memory_per_node_mib(), p.default_memory_per_node_mib()); }},
    {"defaults/time", "UINT32_NO_VAL", [](const P& p) { return p.default_time_minutes() == UINT32_MAX ? number_infinite() : number_if(p.default_time_minutes() != 0, p.default_time_minutes()); }},
    {"defaults/job", "STRING", value<&P::job_defaults>},
    {"flags", "PARTITION_FLAGS", [](const P& p) { return words_of({{p.is_default(), "DEFAULT"}, {p.hidden(), "HIDDEN"}, {p.disable_root_jobs(), "NO_ROOT"}, {p.root_only(), "ROOT_ONLY"}, {p.require_reservation(), "REQ_RESV"}, {p.exclusive_user(), "EXCLUSIVE_USER"}, {p.least_loaded(), "LEAST_LOADED"}}); }},
    {"partition/exclusive", "PARTITION_EXCLUSIVE", [](const P& p) -> Data { return p.exclusive_user() ? "USER" : "NO"; }},
    {"partition/oversubscribe", "PARTITION_OVERSUBSCRIBE", [](const P& p) -> Data { return p.exclusive() ? "EXCLUSIVE" : p.sharing().empty() ? "NO" : p.sharing(); }},
    {"partition/state", "PARTITION_STATES", [](const P& p) -> Data { return DataList{Data{partition_state(p)}}; }},
    {"grace_time", "UINT32", value<&P::grace_seconds>},
    {"maximums/cpus_per_node", "UINT32_NO_VAL", [](const P& p) { return p.has_max_cpus_per_node() ? number_or_not(p.max_cpus_per_node()) : number_infinite(); }},
    {"maximums/cpus_per_socket", "UINT32_NO_VAL", infinite},
    {"maximums/partition_memory_per_cpu", "MEM_PER_CPUS", [](const P& p) { return per_cpu(p.has_max_memory_per_cpu_mib(), p.max_memory_per_cpu_mib()); }},
    {"maximums/partition_memory_per_node", "MEM_PER_NODE", [](const P& p) { return per_node(p.has_max_memory_per_cpu_mib(), p.has_max_memory_per_node_mib(), p.max_memory_per_node_mib()); }},
    {"maximums/nodes", "UINT32_NO_VAL", [](const P& p) { return limit_or_infinite(p.max_nodes()); }},
    {"maximums/time", "UINT32_NO_VAL", [](const P& p) { return number_or_infinite(p.max_time_minutes()); }},
    {"maximums/over_time_limit", "UINT16_NO_VAL", [](const P& p) -> Data { return p.has_over_time_minutes() ? number_or_infinite(p.over_time_minutes()) : none(p); }},
    {"minimums/nodes", "UINT32", value<&P::min_nodes>},
    {"name", "STRING", value<&P::name>},
    {"node_sets", "STRING", empty},
    {"preempt_mode", "PARTITION_PREEMPT_MODES", preempt_modes},
    {"priority/job_factor", "UINT16", value<&P::priority_job_factor>},
    {"priority/tier", "UINT16", value<&P::priority_tier>},
    {"timeouts/resume", "UINT16_NO_VAL", none},
    {"timeouts/suspend", "UINT16_NO_VAL", none},
    {"topology", "STRING", empty},
    {"suspend_time", "UINT32_NO_VAL", none},
};

using V = wire::ReservationView;
constexpr DataField<V> reservation_fields[] = {
    {"accounts", "STRING", [](const V& v) -> Data { return v.accounts(); }},
    {"burst_buffer", "STRING", [](const V&) -> Data { return ""; }},
    {"core_count", "UINT32", [](const V& v) -> Data { return v.cores(); }},
    {"core_specializations", "RESERVATION_CORE_SPEC_LIST", [](const V&) -> Data { return DataList{}; }},
    {"end_time", "TIMESTAMP_NO_VAL", [](const V& v) { return time_of(v.end_us()); }},
    {"features", "STRING", [](const V& v) -> Data { return v.features(); }},
    {"flags", "RESERVATION_FLAGS", [](const V& v) { return words_by_comma(v.flags()); }},
    {"groups", "STRING", [](const V& v) -> Data { return v.groups(); }},
    {"licenses", "STRING", [](const V& v) -> Data { return v.licences(); }},
    {"max_start_delay", "UINT32", [](const V&) -> Data { return 0u; }},
    {"name", "STRING", [](const V& v) -> Data { return v.name(); }},
    {"node_count", "UINT32", [](const V& v) -> Data { return v.node_count(); }},
    {"node_list", "STRING", [](const V& v) -> Data { return v.nodes(); }},
    {"partition", "STRING", [](const V& v) -> Data { return v.partition(); }},
    {"purge_completed/time", "UINT32_NO_VAL", [](const V&) { return number_not_set(); }},
    {"start_time", "TIMESTAMP_NO_VAL", [](const V& v) { return time_of(v.start_us()); }},
    {"tres", "STRING", [](const V& v) -> Data { return v.cpus() == 0 ? "" : "cpu=" + std::to_string(v.cpus()); }},
    {"users", "STRING", [](const V& v) -> Data { return v.users(); }},
};

struct StepRecord {
  const wire::StepView& step;
  const DataContext& context;
};
using S = StepRecord;
Data no_text(const S&) { return ""; }

std::string step_word(std::uint32_t step) {
  switch (step) {
    case 0xfffffffbu: return "batch";
    case 0xfffffffcu: return "extern";
    case 0xfffffffau: return "interactive";
    default: return std::to_string(step);
  }
}

std::string step_tres(const wire::StepView& step) {
  return "cpu=" + std::to_string(step.cpus()) + (step.memory_mib() == 0 ? "" : ",mem=" + format_mib(step.memory_mib())) + ",node=" + std::to_string(step.node_count()) +
         (step.wishes().gres().empty() ? "" : "," + step.wishes().gres());
}

std::string_view state_name(wire::JobStateName state) {
  wire::JobView like;
  like.set_state(state);
  return state_word(like);
}

constexpr DataField<StepRecord> step_fields[] = {
    {"array/job_id", "UINT32", [](const S& s) -> Data { return s.step.array_job_id(); }},
    {"array/task_id", "UINT32", [](const S& s) -> Data { return s.step.array_task(); }},
    {"cluster", "STRING", no_text},
    {"container", "STRING", no_text},
    {"container_id", "STRING", no_text},
    {"cpu/frequency/min", "UINT32_NO_VAL", [](const S&) { return number_not_set(); }},
    {"cpu/frequency/max", "UINT32_NO_VAL", [](const S&) { return number_not_set(); }},
    {"cpu/frequency/governor", "UINT32_NO_VAL", [](const S&) { return number_not_set(); }},
    {"tres/per/cpu", "STRING", [](const S& s) -> Data { return s.step.wishes().cpus_per_tres(); }},
    {"tres/per/memory", "STRING", [](const S& s) -> Data { return s.step.wishes().mem_per_tres(); }},
    {"tres/allocation", "STRING", [](const S& s) -> Data { return step_tres(s.step); }},
    {"tres/binding", "STRING", no_text},
    {"tres/frequency", "STRING", no_text},
    {"tres/per/step", "STRING", [](const S& s) -> Data { return s.step.wishes().tres_per_step(); }},
    {"tres/per/node", "STRING", [](const S& s) -> Data { return s.step.wishes().tres_per_node(); }},
    {"tres/per/socket", "STRING", [](const S& s) -> Data { return s.step.wishes().tres_per_socket(); }},
    {"tres/per/task", "STRING", [](const S& s) -> Data { return s.step.wishes().tres_per_task(); }},
    {"name", "STRING", [](const S& s) -> Data { return s.step.name(); }},
    {"network", "STRING", no_text},
    {"nodes", "STRING", [](const S& s) -> Data { return s.step.nodes(); }},
    {"number_cpus", "UINT32", [](const S& s) -> Data { return s.step.cpus(); }},
    {"number_tasks", "UINT32", [](const S& s) -> Data { return s.step.tasks(); }},
    {"partition", "STRING", [](const S& s) -> Data { return s.step.partition(); }},
    {"reserved_ports", "STRING", [](const S& s) -> Data { return s.step.ports(); }},
    {"time/running", "TIMESTAMP_NO_VAL", [](const S& s) { return time_of(std::max<std::int64_t>(0, s.context.now_us - s.step.start_at_us())); }},
    {"time/start", "TIMESTAMP_NO_VAL", [](const S& s) { return time_of(s.step.start_at_us()); }},
    {"time/limit", "UINT32_NO_VAL", [](const S& s) { return s.step.time_limit_minutes() == 0 ? number_infinite() : number_or_infinite(s.step.time_limit_minutes()); }},
    {"runtime", "STRING", no_text},
    {"srun/host", "STRING", [](const S& s) -> Data { return s.step.srun_host(); }},
    {"srun/pid", "UINT32", [](const S& s) -> Data { return s.step.srun_pid(); }},
    {"state", "JOB_STATE", [](const S& s) -> Data { return DataList{Data{state_name(s.step.state())}}; }},
    {"id", "SLURM_STEP_ID_STRING", [](const S& s) -> Data { return std::to_string(s.step.job_id()) + '.' + step_word(s.step.step()); }},
    {"stderr", "STRING", no_text},
    {"stdin", "STRING", no_text},
    {"stdout", "STRING", no_text},
    {"submit_line", "STRING", no_text},
    {"task/distribution", "TASK_DISTRIBUTION", [](const S& s) -> Data { return s.step.distribution(); }},
    {"user", "USER_ID", [](const S& s) -> Data { return s.step.user_name().empty() ? s.context.names->user(s.step.uid()) : s.step.user_name(); }},
};
// clang-format on

}  // namespace

Data partition_data(const P& partition, const DataContext&) {
  return to_data(std::span<const DataField<P>>{partition_fields}, partition);
}
Data reservation_data(const V& reservation) {
  return to_data(std::span<const DataField<V>>{reservation_fields}, reservation);
}
Data step_data(const wire::StepView& step, const DataContext& context) {
  return to_data(std::span<const DataField<StepRecord>>{step_fields}, StepRecord{step, context});
}

Data licence_data(const wire::Licences::Licence& licence) {
  return DataMap{{"LicenseName", licence.name()},
                 {"Total", licence.total()},
                 {"Used", licence.used()},
                 {"Free", licence.total() - std::min(licence.total(), licence.used())},
                 {"Remote", false},
                 {"Reserved", 0u},
                 {"LastConsumed", 0u},
                 {"LastDeficit", 0u},
                 {"LastUpdate", 0u},
                 {"Nodes", ""}};
}

std::vector<DataFieldText> partition_data_fields() {
  return field_texts(std::span<const DataField<P>>{partition_fields});
}
std::vector<DataFieldText> reservation_data_fields() {
  return field_texts(std::span<const DataField<V>>{reservation_fields});
}
std::vector<DataFieldText> step_data_fields() {
  return field_texts(std::span<const DataField<StepRecord>>{step_fields});
}

}  // namespace millrace
