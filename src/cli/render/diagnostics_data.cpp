// src/cli/render/diagnostics_data.cpp - what sdiag --json and --yaml print.
#include "cli/render/diagnostics_data.h"

#include "cli/render/diagnostics_text.h"

namespace millrace {
namespace {

using D = wire::Diagnostics;

Data mean(std::uint64_t total, std::uint64_t count) { return Data{count == 0 ? std::uint64_t{0} : total / count}; }
std::uint64_t positive(std::int64_t value) { return value < 0 ? 0 : static_cast<std::uint64_t>(value); }
template <auto get>
Data of_main(const D& d) {
  return Data{(d.main().*get)()};
}
template <auto get>
Data of_backfill(const D& d) {
  return Data{(d.backfill().*get)()};
}
Data none(const D&) { return 0; }
Data empty(const D&) { return DataList{}; }

using P = D::Passes;

// clang-format off
constexpr DataField<D> fields[] = {
    {"req_time", "TIMESTAMP_NO_VAL", [](const D& d) { return time_of(d.now_us()); }},
    {"req_time_start", "TIMESTAMP_NO_VAL", [](const D& d) { return time_of(d.since_us()); }},
    {"server_thread_count", "UINT32", [](const D& d) -> Data { return d.threads(); }},
    {"agent_queue_size", "UINT32", none},
    {"agent_count", "UINT32", [](const D& d) -> Data { return d.nodes_connected(); }},
    {"agent_thread_count", "UINT32", none},
    {"dbd_agent_queue_size", "UINT32", none},
    {"gettimeofday_latency", "UINT32", [](const D& d) -> Data { return d.clock_us(); }},
    {"schedule_cycle_max", "UINT32", of_main<&P::max_us>},
    {"schedule_cycle_last", "UINT32", of_main<&P::last_us>},
    {"schedule_cycle_sum", "UINT64", of_main<&P::total_us>},
    {"schedule_cycle_total", "UINT32", of_main<&P::count>},
    {"schedule_cycle_mean", "INT64", [](const D& d) { return mean(positive(d.main().total_us()), d.main().count()); }},
    {"schedule_cycle_mean_depth", "INT64", [](const D& d) { return mean(d.main().total_depth(), d.main().count()); }},
    {"schedule_cycle_per_minute", "INT64", [](const D& d) -> Data {
       const std::uint64_t minutes = positive((d.now_us() - d.since_us()) / 60'000'000);
       return minutes == 0 ? d.main().count() : d.main().count() / minutes;
     }},
    {"schedule_cycle_depth", "UINT32", of_main<&P::total_depth>},
    {"schedule_exit/end_job_queue", "UINT32", of_main<&P::to_the_end>},
    {"schedule_exit/default_queue_depth", "UINT32", none},
    {"schedule_exit/max_job_start", "UINT32", none},
    {"schedule_exit/max_rpc_cnt", "UINT32", none},
    {"schedule_exit/max_sched_time", "UINT32", none},
    {"schedule_exit/licenses", "UINT32", none},
    {"schedule_queue_length", "UINT32", of_main<&P::last_queue>},
    {"jobs_submitted", "UINT32", [](const D& d) -> Data { return d.submitted(); }},
    {"jobs_started", "UINT32", [](const D& d) -> Data { return d.started(); }},
    {"jobs_completed", "UINT32", [](const D& d) -> Data { return d.completed(); }},
    {"jobs_canceled", "UINT32", [](const D& d) -> Data { return d.cancelled(); }},
    {"jobs_failed", "UINT32", [](const D& d) -> Data { return d.failed(); }},
    {"jobs_pending", "UINT32", [](const D& d) -> Data { return d.pending(); }},
    {"jobs_running", "UINT32", [](const D& d) -> Data { return d.running(); }},
    {"job_states_ts", "TIMESTAMP_NO_VAL", [](const D& d) { return time_of(d.now_us()); }},
    {"bf_backfilled_jobs", "UINT32", [](const D& d) -> Data { return d.backfilled_since_start(); }},
    {"bf_last_backfilled_jobs", "UINT32", [](const D& d) -> Data { return d.backfilled(); }},
    {"bf_backfilled_het_jobs", "UINT32", [](const D& d) -> Data { return d.backfilled_components(); }},
    {"bf_cycle_counter", "UINT32", of_backfill<&P::count>},
    {"bf_cycle_mean", "INT64", [](const D& d) { return mean(positive(d.backfill().total_us()), d.backfill().count()); }},
    {"bf_depth_mean", "INT64", [](const D& d) { return mean(d.backfill().total_depth(), d.backfill().count()); }},
    {"bf_depth_mean_try", "INT64", [](const D& d) { return mean(d.backfill().total_depth(), d.backfill().count()); }},
    {"bf_cycle_sum", "UINT64", of_backfill<&P::total_us>},
    {"bf_cycle_last", "UINT32", of_backfill<&P::last_us>},
    {"bf_cycle_max", "UINT32", of_backfill<&P::max_us>},
    {"bf_exit/end_job_queue", "UINT32", of_backfill<&P::to_the_end>},
    {"bf_exit/bf_max_job_start", "UINT32", none},
    {"bf_exit/bf_max_job_test", "UINT32", none},
    {"bf_exit/bf_max_time", "UINT32", none},
    {"bf_exit/bf_node_space_size", "UINT32", none},
    {"bf_exit/state_changed", "UINT32", of_backfill<&P::cut_short>},
    {"bf_last_depth", "UINT32", of_backfill<&P::last_depth>},
    {"bf_last_depth_try", "UINT32", of_backfill<&P::last_depth>},
    {"bf_depth_sum", "UINT32", of_backfill<&P::total_depth>},
    {"bf_depth_try_sum", "UINT32", of_backfill<&P::total_depth>},
    {"bf_queue_len", "UINT32", of_backfill<&P::last_queue>},
    {"bf_queue_len_mean", "INT64", [](const D& d) { return mean(d.backfill().total_queue(), d.backfill().count()); }},
    {"bf_queue_len_sum", "UINT32", of_backfill<&P::total_queue>},
    {"bf_table_size", "UINT32", of_backfill<&P::last_table>},
    {"bf_table_size_sum", "UINT32", of_backfill<&P::total_table>},
    {"bf_table_size_mean", "INT64", [](const D& d) { return mean(d.backfill().total_table(), d.backfill().count()); }},
    {"bf_when_last_cycle", "TIMESTAMP_NO_VAL", [](const D& d) { return time_of(d.backfill().last_at_us()); }},
    {"bf_active", "BOOL", [](const D&) -> Data { return false; }},
    {"rpcs_by_message_type", "LIST", empty},
    {"rpcs_by_user", "LIST", empty},
    {"pending_rpcs", "LIST", empty},
    {"pending_rpcs_by_hostlist", "LIST", empty},
};
// clang-format on

}  // namespace

Data diagnostics_data(const wire::Diagnostics& from, Names& names) {
  Data out = to_data(std::span<const DataField<D>>{fields}, from);
  const auto average = [](const D::Calls& calls) {
    return number_or_not(calls.count() == 0 ? 0 : positive(calls.total_us()) / calls.count());
  };
  DataList types, users;
  for (const D::Calls& calls : from.by_type())
    types.push_back(DataMap{{"type_id", calls.number()},
                            {"message_type", calls.name()},
                            {"count", calls.count()},
                            {"queued", 0},
                            {"dropped", 0},
                            {"cycle_last", 0},
                            {"cycle_max", 0},
                            {"total_time", calls.total_us()},
                            {"average_time", average(calls)}});
  for (const D::Calls& calls : from.by_user())
    users.push_back(DataMap{{"user_id", calls.number()},
                            {"user", user_of(calls, names)},
                            {"count", calls.count()},
                            {"total_time", calls.total_us()},
                            {"average_time", average(calls)}});
  out.at_path("rpcs_by_message_type") = std::move(types);
  out.at_path("rpcs_by_user") = std::move(users);
  return out;
}

}  // namespace millrace
