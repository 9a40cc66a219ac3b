// src/cli/render/acct_data.cpp - see acct_data.h.
#include "cli/render/acct_data.h"

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/render/job_words.h"
#include "cli/render/step_columns.h"
#include "core/model/step.h"

namespace millrace {
namespace {

using Row = AcctRow;

Data seconds_of(std::int64_t microseconds) {
  return DataMap{{"seconds", microseconds / 1'000'000}, {"microseconds", microseconds % 1'000'000}};
}
Data count_of(std::uint64_t value) { return Data{value}; }
Data no_text(const Row&) { return ""; }
Data no_number(const Row&) { return 0; }
template <auto get>
Data text_of(const Row& row) {
  return std::string_view{(row.job->*get)()};
}

Data one_tres(std::string_view type, std::string_view name, std::int64_t id, std::int64_t count) {
  return DataMap{{"type", type}, {"name", name}, {"id", id}, {"count", count}};
}

// gres/gpu=2,gres/gpu:a100=2
void add_gres(DataList& list, const std::string& text) {
  std::int64_t id = 1001;
  for (const std::string_view word : split(text, ',')) {
    const std::size_t slash = word.find('/'), equals = word.find('=');
    const auto count = equals == std::string_view::npos ? std::nullopt : parse_integer(word.substr(equals + 1));
    if (slash == std::string_view::npos || !count) continue;
    list.push_back(one_tres(word.substr(0, slash), word.substr(slash + 1, equals - slash - 1), id++, *count));
  }
}

Data tres(std::uint64_t cpus, std::uint64_t memory_mib, std::uint64_t nodes, std::uint64_t billing,
          const std::string& gres) {
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  DataList out{one_tres("cpu", "", 1, number(cpus))};
  if (memory_mib > 0) out.push_back(one_tres("mem", "", 2, number(memory_mib)));
  out.push_back(one_tres("node", "", 4, number(nodes)));
  if (billing > 0) out.push_back(one_tres("billing", "", 5, number(billing)));
  add_gres(out, gres);
  return out;
}

Data allocated(const Row& row) {
  const wire::JobView& job = *row.job;
  if (job.nodes().empty()) return DataList{};
  return tres(job.cpus(), job.allocated_memory_mib(), job.node_count(), job.cpus(),
              job.resources().allocated_gres_tres());
}
Data requested(const Row& row) {
  const wire::JobView& job = *row.job;
  return tres(job.requested_cpus(), job.requested_memory_mib(), job.requested_nodes(), job.requested_cpus(),
              job.resources().requested_gres_tres());
}

Data consumed(const Row& row) {
  DataList out;
  if (row.step->has_usage()) {
    const wire::StepUsage& usage = row.step->usage();
    out.push_back(one_tres("cpu", "", 1, (usage.user_us() + usage.system_us()) / 1000));
    out.push_back(one_tres("mem", "", 2, usage.max_rss_bytes()));
    out.push_back(one_tres("energy", "", 3, 0));
    out.push_back(one_tres("fs", "disk", 6, usage.read_bytes()));
    out.push_back(one_tres("vmem", "", 7, usage.max_vm_bytes()));
  }
  return out;
}
Data written(const Row& row) {
  DataList out;
  if (row.step->has_usage())
    out = {one_tres("energy", "", 3, 0), one_tres("fs", "disk", 6, row.step->usage().write_bytes())};
  return out;
}

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }
Data state_list(const Row& row) { return DataList{Data{first_word(acct_state(row))}}; }

Data killer(const Row& row) {
  const bool known = row.step != nullptr ? row.step->has_cancelled_by() : row.job->accounted().has_cancelled_by();
  if (!known) return "";
  return row.context->names->user(row.step != nullptr ? row.step->cancelled_by() : row.job->accounted().cancelled_by());
}

Data flags(const Row& row) {
  const bool started = row.job->accounted().started();
  return words_of({{started && row.job->planned_by_backfill(), "STARTED_ON_BACKFILL"},
                   {started && !row.job->planned_by_backfill(), "STARTED_ON_SCHEDULE"},
                   {started, "START_RECEIVED"}});
}

// 3:0
Data exit_data(const std::string& text) {
  const auto parts = split(text, ':');
  return exit_code_data(static_cast<std::uint32_t>(parse_integer(parts[0]).value_or(0)),
                        static_cast<std::uint32_t>(parts.size() > 1 ? parse_integer(parts[1]).value_or(0) : 0));
}
Data exit_code(const Row& row) { return exit_data(acct_exit(row)); }

using J = wire::JobView;

// clang-format off
constexpr DataField<Row> job_fields[] = {
    {"account", "STRING", text_of<&J::account>},
    {"comment/administrator", "STRING", [](const Row& r) -> Data { return r.job->extras().admin_comment(); }},
    {"comment/job", "STRING", text_of<&J::comment>},
    {"comment/system", "STRING", [](const Row& r) -> Data { return r.job->extras().system_comment(); }},
    {"allocation_nodes", "UINT32", [](const Row& r) -> Data { return r.job->nodes().empty() ? 0u : r.job->node_count(); }},
    {"array/job_id", "UINT32", [](const Row& r) -> Data { return r.job->array_job_id(); }},
    {"array/limits/max/running/tasks", "UINT32", [](const Row& r) -> Data { return r.job->array_throttle(); }},
    {"array/task_id", "UINT32_NO_VAL", [](const Row& r) { return number_if(r.job->has_array_task(), r.job->array_task()); }},
    {"array/task", "STRING", text_of<&J::array_tasks>},
    {"association/account", "STRING", text_of<&J::account>},
    {"association/cluster", "STRING", [](const Row& r) -> Data { return r.context->cluster; }},
    {"association/partition", "STRING", no_text},
    {"association/user", "STRING", text_of<&J::user_name>},
    {"association/id", "UINT32", [](const Row& r) -> Data { return r.job->accounted().association(); }},
    {"block", "STRING", no_text},
    {"cluster", "STRING", [](const Row& r) -> Data { return r.context->cluster; }},
    {"constraints", "STRING", [](const Row& r) -> Data { return r.job->resources().features(); }},
    {"container", "STRING", text_of<&J::container>},
    {"sluid", "STRING", [](const Row& r) -> Data { return sluid_text(*r.job); }},
    {"derived_exit_code", "PROCESS_EXIT_CODE", [](const Row& r) { return exit_data(acct_derived_exit(r)); }},
    {"time/elapsed", "UINT32", [](const Row& r) -> Data { return acct_elapsed(r); }},
    {"time/eligible", "TIMESTAMP", [](const Row& r) -> Data { return r.job->eligible_at_us() / 1'000'000; }},
    {"time/end", "TIMESTAMP", [](const Row& r) -> Data { return acct_end_us(r) / 1'000'000; }},
    {"time/planned", "UINT64_NO_VAL", [](const Row& r) { return number_if(acct_planned(r).has_value(), acct_planned(r).value_or(0)); }},
    {"time/start", "TIMESTAMP", [](const Row& r) -> Data { return acct_start_us(r) / 1'000'000; }},
    {"time/submission", "TIMESTAMP", [](const Row& r) -> Data { return r.job->submit_at_us() / 1'000'000; }},
    {"time/suspended", "UINT32", [](const Row& r) -> Data { return r.job->accounted().suspended_us() / 1'000'000; }},
    {"time/system", "SECONDS", [](const Row& r) { return seconds_of(acct_cpu_us(r, false, true)); }},
    {"time/limit", "UINT32_NO_VAL", [](const Row& r) { return number_or_infinite(r.job->time_limit_minutes()); }},
    {"time/total", "SECONDS", [](const Row& r) { return seconds_of(acct_cpu_us(r, true, true)); }},
    {"time/user", "SECONDS", [](const Row& r) { return seconds_of(acct_cpu_us(r, true, false)); }},
    {"exclusive", "STRING", [](const Row& r) -> Data { return r.job->exclusive() ? "NODE" : "NO"; }},
    {"exit_code", "PROCESS_EXIT_CODE", exit_code},
    {"extra", "STRING", [](const Row& r) -> Data { return r.job->extras().extra(); }},
    {"failed_node", "STRING", text_of<&J::failed_node>},
    {"flags", "FLAGS", flags},
    {"group", "STRING", [](const Row& r) -> Data { return r.job->group_name().empty() ? r.context->names->group(r.job->gid()) : r.job->group_name(); }},
    {"het/job_id", "UINT32", [](const Row& r) -> Data { return r.job->het_job_id(); }},
    {"het/job_offset", "UINT32_NO_VAL", [](const Row& r) { return number_if(r.job->het_job_id() != 0, r.job->het_job_offset()); }},
    {"job_id", "UINT32", [](const Row& r) -> Data { return r.job->job_id(); }},
    {"name", "STRING", text_of<&J::name>},
    {"licenses", "STRING", [](const Row& r) -> Data { return r.job->resources().licenses(); }},
    {"mcs/label", "STRING", no_text},
    {"nodes", "STRING", [](const Row& r) -> Data { return r.job->nodes().empty() ? std::string{"None assigned"} : r.job->nodes(); }},
    {"oversubscribe", "STRING", [](const Row& r) -> Data { return r.job->oversubscribe() ? "YES" : "NO"; }},
    {"partition", "STRING", text_of<&J::partition>},
    {"hold", "BOOL", [](const Row& r) -> Data { return is_pending(*r.job) && r.job->priority() == 0; }},
    {"priority", "UINT32_NO_VAL", [](const Row& r) { return number_or_not(r.job->priority()); }},
    {"qos", "STRING", text_of<&J::qos>},
    {"qosreq", "STRING", no_text},
    {"required/CPUs", "UINT32", [](const Row& r) -> Data { return count_of(std::max<std::uint64_t>(r.job->tasks(), 1) * r.job->cpus_per_task()); }},
    {"required/memory_per_cpu", "UINT64_NO_VAL", [](const Row& r) { return number_if(r.job->has_memory_per_cpu_mib(), r.job->memory_per_cpu_mib()); }},
    {"required/memory_per_node", "UINT64_NO_VAL", [](const Row& r) { return number_if(r.job->has_memory_per_node_mib(), r.job->memory_per_node_mib()); }},
    {"kill_request_user", "STRING", killer},
    {"restart_cnt", "UINT32", [](const Row& r) -> Data { return r.job->restarts(); }},
    {"reservation/id", "UINT32", no_number},
    {"reservation/name", "STRING", [](const Row& r) -> Data { return r.job->resources().reservation(); }},
    {"reservation/requested", "STRING", [](const Row& r) -> Data { return r.job->resources().reservation(); }},
    {"script", "STRING", no_text},
    {"segment_size", "UINT32", no_number},
    {"original_sluid", "STRING", [](const Row& r) -> Data { return sluid_text(*r.job); }},
    {"stdin_expanded", "STRING", text_of<&J::std_in>},
    {"stdout_expanded", "STRING", text_of<&J::std_out>},
    {"stderr_expanded", "STRING", text_of<&J::std_err>},
    {"stdout", "STRING", text_of<&J::std_out_pattern>},
    {"stderr", "STRING", text_of<&J::std_err_pattern>},
    {"stdin", "STRING", text_of<&J::std_in_pattern>},
    {"state/current", "JOB_STATE", state_list},
    {"state/reason", "STRING", [](const Row& r) -> Data { return r.job->reason().empty() ? std::string{"None"} : r.job->reason(); }},
    {"steps", "STEPS", [](const Row&) -> Data { return DataList{}; }},
    {"submit_line", "STRING", text_of<&J::submit_line>},
    {"tres/allocated", "TRES", allocated},
    {"tres/requested", "TRES", requested},
    {"used_gres", "STRING", no_text},
    {"user", "STRING", [](const Row& r) -> Data { return r.job->user_name().empty() ? r.context->names->user(r.job->uid()) : r.job->user_name(); }},
    {"wckey/wckey", "STRING", [](const Row& r) -> Data { return r.job->extras().wckey(); }},
    {"wckey/flags", "FLAGS", [](const Row&) -> Data { return DataList{}; }},
    {"working_directory", "STRING", text_of<&J::work_dir>},
};

constexpr DataField<Row> step_fields[] = {
    {"time/elapsed", "UINT32", [](const Row& r) -> Data { return acct_elapsed(r); }},
    {"time/end", "TIMESTAMP_NO_VAL", [](const Row& r) { return number_if(acct_end_us(r) != 0, static_cast<std::uint64_t>(acct_end_us(r) / 1'000'000)); }},
    {"time/start", "TIMESTAMP_NO_VAL", [](const Row& r) { return number_if(acct_start_us(r) != 0, static_cast<std::uint64_t>(acct_start_us(r) / 1'000'000)); }},
    {"time/suspended", "UINT32", no_number},
    {"time/system", "SECONDS", [](const Row& r) { return seconds_of(acct_cpu_us(r, false, true)); }},
    {"time/limit", "UINT32_NO_VAL", [](const Row& r) { return r.step->step().time_limit_minutes() == 0 ? number_infinite() : number_or_not(r.step->step().time_limit_minutes()); }},
    {"time/total", "SECONDS", [](const Row& r) { return seconds_of(acct_cpu_us(r, true, true)); }},
    {"time/user", "SECONDS", [](const Row& r) { return seconds_of(acct_cpu_us(r, true, false)); }},
    {"exit_code", "PROCESS_EXIT_CODE", exit_code},
    {"nodes/count", "UINT32", [](const Row& r) -> Data { return r.step->step().node_count(); }},
    {"nodes/range", "STRING", [](const Row& r) -> Data { return r.step->step().nodes(); }},
    {"nodes/list", "HOSTLIST", [](const Row& r) -> Data {
       const auto names = expand_hostlist(r.step->step().nodes());
       return names ? word_list(*names) : Data{DataList{}};
     }},
    {"tasks/count", "UINT32", [](const Row& r) -> Data { return r.step->step().tasks(); }},
    {"CPU/requested_frequency/min", "UINT32_NO_VAL", [](const Row&) { return number_or_not(0); }},
    {"CPU/requested_frequency/max", "UINT32_NO_VAL", [](const Row&) { return number_or_not(0); }},
    {"CPU/governor", "STRING", [](const Row&) -> Data { return "0"; }},
    {"kill_request_user", "STRING", killer},
    {"state", "JOB_STATE", state_list},
    {"statistics/CPU/actual_frequency", "UINT64", no_number},
    {"statistics/energy/consumed", "UINT64_NO_VAL", [](const Row&) { return number_or_not(0); }},
    {"step/id", "STRING", [](const Row& r) -> Data { return acct_job_id(r); }},
    {"step/name", "STRING", [](const Row& r) -> Data { return r.step->step().name(); }},
    {"step/stderr", "STRING", no_text},
    {"step/stdin", "STRING", no_text},
    {"step/stdout", "STRING", no_text},
    {"step/stderr_expanded", "STRING", no_text},
    {"step/stdin_expanded", "STRING", no_text},
    {"step/stdout_expanded", "STRING", no_text},
    {"submit_line", "STRING", no_text},
    {"task/distribution", "STRING", [](const Row& r) -> Data {
       const wire::StepView& step = r.step->step();
       return step.step() == batch_step ? std::string{"Unknown"} : step.distribution().empty() ? std::string{"Block"} : step.distribution();
     }},
    {"tres/requested/max", "TRES", consumed},
    {"tres/requested/min", "TRES", [](const Row&) -> Data { return DataList{}; }},
    {"tres/requested/average", "TRES", consumed},
    {"tres/requested/total", "TRES", consumed},
    {"tres/consumed/max", "TRES", written},
    {"tres/consumed/min", "TRES", [](const Row&) -> Data { return DataList{}; }},
    {"tres/consumed/average", "TRES", written},
    {"tres/consumed/total", "TRES", written},
    {"tres/allocated", "TRES", [](const Row& r) {
       const wire::StepView& step = r.step->step();
       return tres(step.cpus(), step.memory_mib(), step.node_count(), 0, step.wishes().gres());
     }},
};
// clang-format on

}  // namespace

std::span<const DataField<AcctRow>> acct_job_data() { return job_fields; }
std::span<const DataField<AcctRow>> acct_step_data() { return step_fields; }

DataList acct_data(const std::vector<AcctRow>& rows) {
  DataList out;
  for (std::size_t i = 0; i < rows.size();) {
    AcctRow whole = rows[i];
    whole.step = nullptr;
    Data job = to_data(acct_job_data(), whole);
    DataList steps;
    const wire::JobView* of = rows[i].job;
    for (; i < rows.size() && rows[i].job == of; ++i)
      if (rows[i].step != nullptr) steps.push_back(to_data(acct_step_data(), rows[i]));
    job.at_path("steps") = std::move(steps);
    out.push_back(std::move(job));
  }
  return out;
}

}  // namespace millrace
