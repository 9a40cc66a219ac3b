// src/cli/render/acct_fields.cpp - see acct_fields.h.
#include "cli/render/acct_fields.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/quantity.h"
#include "base/text.h"
#include "cli/render/job_words.h"
#include "cli/render/step_columns.h"
#include "core/model/step.h"

namespace millrace {
namespace {

using Row = AcctRow;

bool is_step(const Row& row) { return row.step != nullptr; }
const wire::StepUsage* usage_of(const Row& row) {
  return is_step(row) && row.step->has_usage() ? &row.step->usage() : nullptr;
}

// Also a run after which its job was requeued.
bool is_over(const wire::JobView& job) { return is_ended(job) || job.completing() || job.accounted().requeued(); }

std::int64_t within(const Row& row, std::int64_t time) {
  if (time == 0 || row.context->until_us == 0) return time;
  return std::clamp(time, row.context->from_us, std::max(row.context->from_us, row.context->until_us));
}
std::int64_t start_us(const Row& row) {
  if (is_step(row)) return within(row, row.step->step().start_at_us());
  return row.job->accounted().started() ? within(row, row.job->start_at_us()) : 0;
}
std::int64_t end_us(const Row& row) {
  const std::int64_t end = is_step(row) ? row.step->end_at_us() : is_over(*row.job) ? row.job->end_at_us() : 0;
  return end == 0 && start_us(row) != 0 && row.context->until_us != 0
             ? row.context->until_us
             : within(row, end);  // --truncate: what goes on ends with the window
}

std::int64_t elapsed(const Row& row) {
  const std::int64_t start = start_us(row), end = end_us(row);
  if (start == 0) return 0;
  const std::int64_t seconds = (end != 0 ? end : row.context->now_us) / 1'000'000 - start / 1'000'000;
  return std::max<std::int64_t>(seconds - (is_step(row) ? 0 : row.job->accounted().suspended_us() / 1'000'000), 0);
}

std::uint64_t cpus(const Row& row) {
  if (is_step(row)) return row.step->step().cpus();
  return row.job->nodes().empty() ? 0 : row.job->cpus();
}

// [D-]HH:MM:SS
std::string duration(std::int64_t seconds) {
  char buffer[48];
  const auto days = static_cast<long>(seconds / 86'400);
  if (days > 0)
    std::snprintf(buffer, sizeof buffer, "%ld-%02d:%02d:%02d", days, static_cast<int>(seconds / 3600 % 24),
                  static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
  else
    std::snprintf(buffer, sizeof buffer, "%02d:%02d:%02d", static_cast<int>(seconds / 3600),
                  static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
  return buffer;
}

// MM:SS.mmm below an hour, as Slurm shows processor time.
std::string cpu_time(std::int64_t microseconds) {
  const std::int64_t seconds = microseconds / 1'000'000;
  if (seconds >= 3600 || microseconds == 0) return duration(seconds);
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%02d:%02d.%03d", static_cast<int>(seconds / 60), static_cast<int>(seconds % 60),
                static_cast<int>(microseconds / 1000 % 1000));
  return buffer;
}

std::string size(std::int64_t bytes, const Row& row) {
  if (row.context->exact_numbers || bytes == 0) return std::to_string(bytes);
  constexpr char units[] = "KMGTP";
  if (row.context->unit != 0) {
    double value = static_cast<double>(bytes);
    for (const char unit : units) {
      value /= 1024;
      if (unit != row.context->unit) continue;
      char buffer[64];
      std::snprintf(buffer, sizeof buffer,
                    value == static_cast<double>(static_cast<std::int64_t>(value)) ? "%.0f%c" : "%.2f%c", value, unit);
      return buffer;
    }
  }
  return std::to_string((bytes + 512) / 1024) + "K";
}

// 50M, 2G; --noconvert: always M.
std::string mib_text(std::uint64_t mib, const Row& row) {
  if (row.context->exact_numbers) return std::to_string(mib) + "M";
  return row.context->unit != 0 ? size(static_cast<std::int64_t>(mib << 20), row) : format_mib(mib);
}

std::string number(std::uint64_t value) { return std::to_string(value); }
std::string nothing(const Row&) { return ""; }
std::string zero_of_step(const Row& row) { return usage_of(row) != nullptr ? "0" : ""; }
std::string unknown_or_zero(const Row& row) { return is_step(row) ? "0" : "Unknown"; }

template <auto get>
std::string of_job(const Row& row) {
  return is_step(row) ? std::string{} : std::string{(row.job->*get)()};
}
template <auto get>
std::string extra_of(const Row& row) {
  return is_step(row) ? std::string{} : std::string{(row.job->extras().*get)()};
}
template <auto get>
std::string of_both(const Row& row) {
  return std::string{(row.job->*get)()};
}
template <auto get>
std::string bytes_of(const Row& row) {
  const wire::StepUsage* usage = usage_of(row);
  return usage == nullptr ? "" : size((usage->*get)(), row);
}
std::string first_node(const Row& row) {
  if (usage_of(row) == nullptr) return "";
  const std::string& nodes = row.step->step().nodes();
  return nodes.find_first_of("[,") == std::string::npos ? nodes : "";  // of several it is not known which
}
std::string first_task(const Row& row) { return usage_of(row) == nullptr || row.step->step().tasks() != 1 ? "" : "0"; }

// The number of tasks is all there is to divide by: what each used alone is not kept.
template <auto get>
std::string average_of(const Row& row) {
  const wire::StepUsage* usage = usage_of(row);
  return usage == nullptr ? "" : size((usage->*get)(), row);
}

std::int64_t cpu_us(const Row& row, bool user, bool system) {
  std::int64_t sum = 0;
  const auto add = [&](const wire::StepUsage& usage) {
    if (user) sum = saturating_add(sum, usage.user_us());
    if (system) sum = saturating_add(sum, usage.system_us());
  };
  if (is_step(row))
    add(row.step->usage());
  else
    for (const wire::AccountedStep& step : row.job->accounted().steps()) add(step.usage());
  return sum;
}

std::string exit_text(const Row& row) {
  if (is_step(row)) return number(row.step->exit_code()) + ':' + number(row.step->exit_signal());
  // What a job that was ended from outside exited with is its steps' affair.
  const auto state = row.job->state();
  if (state == wire::CANCELLED || state == wire::TIMEOUT || state == wire::PREEMPTED || state == wire::DEADLINE)
    return "0:0";
  return number(row.job->exit_code()) + ':' + number(row.job->exit_signal());
}

// The highest of all its steps but the script.
std::string derived_exit(const Row& row) {
  if (is_step(row)) return "";
  if (!row.job->extras().derived_exit().empty()) return row.job->extras().derived_exit();
  std::uint32_t code = 0, signal = 0;
  for (const wire::AccountedStep& step : row.job->accounted().steps()) {
    if (step.step().step() == batch_step) continue;
    if (step.exit_code() > code) code = step.exit_code(), signal = step.exit_signal();
    if (code == 0 && step.exit_signal() > signal) signal = step.exit_signal();
  }
  return number(code) + ':' + number(signal);
}

// In the order of their names, as sacct has them and nobody else: billing=1,cpu=1,gres/gpu=2,mem=50M,node=1.
std::string tres_list(const Row& row, std::uint64_t billing, std::uint64_t cpus, const std::string& gres,
                      std::uint64_t memory_mib, std::uint64_t nodes) {
  std::string out = billing > 0 ? "billing=" + number(billing) + "," : "";
  out += "cpu=" + number(cpus);
  if (!gres.empty()) out += "," + gres;
  if (memory_mib > 0) out += ",mem=" + mib_text(memory_mib, row);
  return out + ",node=" + number(nodes);
}

std::string requested_tres(const Row& row) {
  if (is_step(row)) return "";
  const wire::JobView& job = *row.job;
  return tres_list(row, job.requested_cpus(), job.requested_cpus(), job.resources().requested_gres_tres(),
                   job.requested_memory_mib(), job.requested_nodes());
}

std::string allocated_tres(const Row& row) {
  if (is_step(row))
    return tres_list(row, 0, cpus(row), row.step->step().wishes().gres(), row.step->step().memory_mib(),
                     row.step->step().node_count());
  if (row.job->nodes().empty()) return "";
  return tres_list(row, row.job->cpus(), row.job->cpus(), row.job->resources().allocated_gres_tres(),
                   row.job->allocated_memory_mib(), row.job->node_count());
}

// gres/gpu=2,gres/gpu:a100=2 as the fields of old wrote it: gpu:2
std::string old_gres(const Row& row, const std::string& tres) {
  if (is_step(row)) return "";
  std::string out;
  for (const std::string_view word : split(tres, ',')) {
    if (!word.starts_with("gres/") || word.find(':') != std::string_view::npos) continue;
    std::string kind{word.substr(5)};
    std::ranges::replace(kind, '=', ':');
    out += (out.empty() ? "" : ",") + kind;
  }
  return out;
}

std::string usage_list(const Row& row) {
  const wire::StepUsage* usage = usage_of(row);
  if (usage == nullptr) return "";
  std::string out = "cpu=" + duration((usage->user_us() + usage->system_us()) / 1'000'000) +
                    ",energy=0,fs/disk=" + std::to_string(usage->read_bytes());
  if (usage->gpu_looks() > 0)
    out += ",gres/gpumem=" + size(usage->gpu_memory_max_bytes(), row) +
           ",gres/gpuutil=" + std::to_string(usage->gpu_busy_max());
  return out + ",mem=" + size(usage->max_rss_bytes(), row) + ",vmem=" + size(usage->max_vm_bytes(), row);
}
std::string usage_out(const Row& row) {
  const wire::StepUsage* usage = usage_of(row);
  return usage == nullptr ? "" : "energy=0,fs/disk=" + std::to_string(usage->write_bytes());
}

std::string requested_memory(const Row& row) {
  if (is_step(row)) return "";
  const wire::JobView& job = *row.job;
  if (job.has_memory_per_node_mib()) return mib_text(job.memory_per_node_mib() * std::max(job.node_count(), 1u), row);
  return mib_text(job.requested_memory_mib(), row);
}

std::string raw_id(const Row& row) {
  const std::string job = std::to_string(
      row.job->array_job_id() != 0 && !row.job->has_array_task() ? row.job->array_job_id() : row.job->job_id());
  return is_step(row) ? job + "." + shown_step_number(row.step->step().step()) : job;
}

std::optional<std::uint64_t> planned_seconds(const Row& row, bool times_cpus) {
  if (is_step(row) || row.job->eligible_at_us() == 0) return std::nullopt;
  const std::int64_t until = start_us(row) != 0 ? start_us(row) : end_us(row) != 0 ? end_us(row) : row.context->now_us;
  const auto seconds =
      static_cast<std::uint64_t>(std::max<std::int64_t>((until - row.job->eligible_at_us()) / 1'000'000, 0));
  return seconds * (times_cpus ? std::max<std::uint64_t>(row.job->cpus(), 1) : 1);
}
std::string planned_text(const Row& row, bool times_cpus) {
  const auto seconds = planned_seconds(row, times_cpus);
  return seconds ? duration(static_cast<std::int64_t>(*seconds)) : std::string{};
}

std::string limit_text(const Row& row) {
  if (is_step(row)) return "";
  return row.job->time_limit_minutes() == 0xffffffff ? "UNLIMITED" : format_limit(row.job->time_limit_minutes());
}

std::string user_name(const Row& row) {
  return is_step(row)                   ? ""
         : row.job->user_name().empty() ? row.context->names->user(row.job->uid())
                                        : row.job->user_name();
}
std::string group_name(const Row& row) {
  return is_step(row)                    ? ""
         : row.job->group_name().empty() ? row.context->names->group(row.job->gid())
                                         : row.job->group_name();
}

using J = wire::JobView;
using U = wire::StepUsage;

// clang-format off
constexpr Field<Row> fields[] = {
    {"Account", "Account", 10, of_both<&J::account>},
    {"AdminComment", "AdminComment", 15, extra_of<&wire::JobExtras::admin_comment>},
    {"AllocCPUS", "AllocCPUS", 10, [](const Row& row) { return number(cpus(row)); }},
    {"AllocNodes", "AllocNodes", 10, [](const Row& row) { return number(is_step(row) ? row.step->step().node_count() : row.job->nodes().empty() ? 0 : row.job->node_count()); }},
    {"AllocTRES", "AllocTRES", 10, allocated_tres},
    {"AllocGRES", "AllocGRES", 12, [](const Row& row) { return old_gres(row, row.job->resources().allocated_gres_tres()); }},
    {"AssocID", "AssocID", 7, [](const Row& row) { return is_step(row) || row.job->accounted().association() == 0 ? std::string{} : number(row.job->accounted().association()); }},
    {"AveCPU", "AveCPU", 10, [](const Row& row) { return usage_of(row) == nullptr ? "" : duration(cpu_us(row, true, true) / 1'000'000 / std::max<std::int64_t>(row.step->step().tasks(), 1)); }},
    {"AveCPUFreq", "AveCPUFreq", 10, zero_of_step},
    {"AveDiskRead", "AveDiskRead", 14, average_of<&U::read_bytes>},
    {"AveDiskWrite", "AveDiskWrite", 14, average_of<&U::write_bytes>},
    {"AvePages", "AvePages", 10, zero_of_step},
    {"AveRSS", "AveRSS", 10, average_of<&U::max_rss_bytes>},
    {"AveVMSize", "AveVMSize", 10, average_of<&U::max_vm_bytes>},
    {"BlockID", "BlockID", 16, nothing},
    {"Cluster", "Cluster", 10, [](const Row& row) { return row.context->cluster; }},
    {"Comment", "Comment", 14, of_job<&J::comment>},
    {"Constraints", "Constraints", 19, [](const Row& row) { return is_step(row) ? std::string{} : row.job->resources().features(); }},
    {"ConsumedEnergy", "ConsumedEnergy", 14, zero_of_step},
    {"ConsumedEnergyRaw", "ConsumedEnergyRaw", 17, zero_of_step},
    {"Container", "Container", 19, of_job<&J::container>},
    {"CPUTime", "CPUTime", 10, [](const Row& row) { return duration(elapsed(row) * static_cast<std::int64_t>(cpus(row))); }},
    {"CPUTimeRAW", "CPUTimeRAW", 10, [](const Row& row) { return std::to_string(elapsed(row) * static_cast<std::int64_t>(cpus(row))); }},
    {"DBIndex", "DBIndex", -21, [](const Row& row) { return number(row.job->accounted().key()); }},
    {"DerivedExitCode", "DerivedExitCode", 15, derived_exit},
    {"Elapsed", "Elapsed", 10, [](const Row& row) { return duration(elapsed(row)); }},
    {"ElapsedRaw", "ElapsedRaw", 10, [](const Row& row) { return std::to_string(elapsed(row)); }},
    {"Eligible", "Eligible", 19, [](const Row& row) { return is_step(row) ? format_time(start_us(row), "Unknown") : format_time(row.job->eligible_at_us(), "Unknown"); }},
    {"End", "End", 19, [](const Row& row) { return format_time(end_us(row), "Unknown"); }},
    {"Exclusive", "Exclusive", 14, [](const Row& row) { return std::string{is_step(row) ? "" : row.job->exclusive() ? "NODE" : "NO"}; }},
    {"ExitCode", "ExitCode", 8, exit_text},
    {"Extra", "Extra", 14, extra_of<&wire::JobExtras::extra>},
    {"FailedNode", "FailedNode", 8, of_job<&J::failed_node>},
    {"Flags", "Flags", 19, [](const Row& row) { return std::string{is_step(row) || start_us(row) == 0 ? "" : row.job->planned_by_backfill() ? "SchedBackfill" : "SchedMain"}; }},
    {"GID", "GID", 6, [](const Row& row) { return is_step(row) ? std::string{} : number(row.job->gid()); }},
    {"Group", "Group", 9, group_name},
    {"JobID", "JobID", -12, acct_job_id},
    {"JobIDRaw", "JobIDRaw", -12, raw_id},
    {"JobName", "JobName", 10, [](const Row& row) { return std::string{is_step(row) ? row.step->step().name() : row.job->name()}; }},
    {"Layout", "Layout", 9, [](const Row& row) { return std::string{!is_step(row) ? "" : row.step->step().step() == batch_step ? "Unknown" : row.step->step().distribution().empty() ? "Block" : row.step->step().distribution()}; }},
    {"Licenses", "Licenses", 10, [](const Row& row) { return is_step(row) ? std::string{} : row.job->resources().licenses(); }},
    {"MaxDiskRead", "MaxDiskRead", 12, bytes_of<&U::read_bytes>},
    {"MaxDiskReadNode", "MaxDiskReadNode", 15, first_node},
    {"MaxDiskReadTask", "MaxDiskReadTask", 15, first_task},
    {"MaxDiskWrite", "MaxDiskWrite", 12, bytes_of<&U::write_bytes>},
    {"MaxDiskWriteNode", "MaxDiskWriteNode", 16, first_node},
    {"MaxDiskWriteTask", "MaxDiskWriteTask", 16, first_task},
    {"MaxPages", "MaxPages", 8, zero_of_step},
    {"MaxPagesNode", "MaxPagesNode", 12, first_node},
    {"MaxPagesTask", "MaxPagesTask", 14, first_task},
    {"MaxRSS", "MaxRSS", 10, bytes_of<&U::max_rss_bytes>},
    {"MaxRSSNode", "MaxRSSNode", 10, first_node},
    {"MaxRSSTask", "MaxRSSTask", 10, first_task},
    {"MaxVMSize", "MaxVMSize", 10, bytes_of<&U::max_vm_bytes>},
    {"MaxVMSizeNode", "MaxVMSizeNode", 14, first_node},
    {"MaxVMSizeTask", "MaxVMSizeTask", 14, first_task},
    {"McsLabel", "McsLabel", 12, nothing},
    {"MinCPU", "MinCPU", 10, [](const Row& row) { return usage_of(row) == nullptr ? "" : duration(cpu_us(row, true, true) / 1'000'000 / std::max<std::int64_t>(row.step->step().tasks(), 1)); }},
    {"MinCPUNode", "MinCPUNode", 10, first_node},
    {"MinCPUTask", "MinCPUTask", 10, first_task},
    {"NCPUS", "NCPUS", 10, [](const Row& row) { return number(cpus(row)); }},
    {"NNodes", "NNodes", 8, [](const Row& row) { return number(is_step(row) ? row.step->step().node_count() : row.job->node_count()); }},
    {"NodeList", "NodeList", 15, [](const Row& row) { return std::string{is_step(row) ? row.step->step().nodes() : row.job->nodes().empty() ? "None assigned" : row.job->nodes()}; }},
    {"NTasks", "NTasks", 8, [](const Row& row) { return is_step(row) ? number(row.step->step().tasks()) : std::string{}; }},
    {"OriginalSLUID", "OriginalSLUID", 14, [](const Row& row) { return sluid_text(*row.job); }},
    {"OverSubscribe", "OverSubscribe", 14, [](const Row& row) { return std::string{is_step(row) ? "" : row.job->oversubscribe() ? "YES" : row.job->exclusive() ? "NO" : "OK"}; }},
    {"Partition", "Partition", 10, of_job<&J::partition>},
    {"Planned", "Planned", 10, [](const Row& row) { return planned_text(row, false); }},
    {"PlannedCPU", "PlannedCPU", 10, [](const Row& row) { return planned_text(row, true); }},
    {"PlannedCPURAW", "PlannedCPURAW", 13, [](const Row& row) { return planned_seconds(row, true) ? number(*planned_seconds(row, true)) : std::string{}; }},
    {"Priority", "Priority", 10, [](const Row& row) { return is_step(row) ? std::string{} : number(row.job->priority()); }},
    {"QOS", "QOS", 10, of_job<&J::qos>},
    {"QOSRAW", "QOSRAW", 6, [](const Row& row) { return is_step(row) || row.job->accounted().qos_id() == 0 ? std::string{} : number(row.job->accounted().qos_id()); }},
    {"QOSREQ", "QOSREQ", 10, of_job<&J::qos>},
    {"Reason", "Reason", 22, [](const Row& row) { return std::string{is_step(row) ? "" : row.job->reason().empty() ? "None" : row.job->reason()}; }},
    {"ReqCPUFreq", "ReqCPUFreq", 10, unknown_or_zero},
    {"ReqCPUFreqGov", "ReqCPUFreqGov", 13, unknown_or_zero},
    {"ReqCPUFreqMax", "ReqCPUFreqMax", 13, unknown_or_zero},
    {"ReqCPUFreqMin", "ReqCPUFreqMin", 13, unknown_or_zero},
    {"ReqCPUS", "ReqCPUS", 8, [](const Row& row) { return number(is_step(row) ? cpus(row) : std::max<std::uint64_t>(row.job->tasks(), 1) * row.job->cpus_per_task()); }},
    {"ReqGRES", "ReqGRES", 12, [](const Row& row) { return old_gres(row, row.job->resources().requested_gres_tres()); }},
    {"ReqMem", "ReqMem", 10, requested_memory},
    {"ReqNodes", "ReqNodes", 8, [](const Row& row) { return number(is_step(row) ? row.step->step().node_count() : std::max(row.job->node_count(), 1u)); }},
    {"ReqTRES", "ReqTRES", 10, requested_tres},
    {"Reservation", "Reservation", 20, [](const Row& row) { return is_step(row) ? std::string{} : row.job->resources().reservation(); }},
    {"ReservationId", "ReservationId", 8, nothing},
    {"ReqReservation", "ReqReservation", 20, [](const Row& row) { return is_step(row) ? std::string{} : row.job->resources().reservation(); }},
    {"Restarts", "Restarts", 8, [](const Row& row) { return is_step(row) ? std::string{} : number(row.job->restarts()); }},
    {"SegmentSize", "SegmentSize", 11, nothing},
    {"SLUID", "SLUID", 14, [](const Row& row) { return sluid_text(*row.job); }},
    {"Start", "Start", 19, [](const Row& row) { return format_time(start_us(row), is_over(*row.job) ? "None" : "Unknown"); }},
    {"State", "State", 10, acct_state},
    {"StdErr", "StdErr", 20, [](const Row& row) { return std::string{is_step(row) ? "" : row.job->std_err().empty() ? row.job->std_out() : row.job->std_err()}; }},
    {"StdIn", "StdIn", 20, of_job<&J::std_in>},
    {"StdOut", "StdOut", 20, of_job<&J::std_out>},
    {"Submit", "Submit", 19, [](const Row& row) { return format_time(is_step(row) ? start_us(row) : row.job->submit_at_us(), "Unknown"); }},
    {"SubmitLine", "SubmitLine", 20, of_job<&J::submit_line>},
    {"Suspended", "Suspended", 10, [](const Row& row) { return duration(row.job->accounted().suspended_us() / 1'000'000); }},
    {"SystemComment", "SystemComment", 15, extra_of<&wire::JobExtras::system_comment>},
    {"SystemCPU", "SystemCPU", 10, [](const Row& row) { return cpu_time(cpu_us(row, false, true)); }},
    {"Timelimit", "Timelimit", 10, limit_text},
    {"TimelimitRaw", "TimelimitRaw", 10, [](const Row& row) { return std::string{is_step(row) ? "" : row.job->time_limit_minutes() == 0xffffffff ? "UNLIMITED" : number(row.job->time_limit_minutes())}; }},
    {"TotalCPU", "TotalCPU", 10, [](const Row& row) { return cpu_time(cpu_us(row, true, true)); }},
    {"TRESUsageInAve", "TRESUsageInAve", 14, usage_list},
    {"TRESUsageInMax", "TRESUsageInMax", 14, usage_list},
    {"TRESUsageInMaxNode", "TRESUsageInMaxNode", 18, nothing},
    {"TRESUsageInMaxTask", "TRESUsageInMaxTask", 18, nothing},
    {"TRESUsageInMin", "TRESUsageInMin", 14, nothing},
    {"TRESUsageInMinNode", "TRESUsageInMinNode", 18, nothing},
    {"TRESUsageInMinTask", "TRESUsageInMinTask", 18, nothing},
    {"TRESUsageInTot", "TRESUsageInTot", 14, usage_list},
    {"TRESUsageOutAve", "TRESUsageOutAve", 15, usage_out},
    {"TRESUsageOutMax", "TRESUsageOutMax", 15, usage_out},
    {"TRESUsageOutMaxNode", "TRESUsageOutMaxNode", 19, nothing},
    {"TRESUsageOutMaxTask", "TRESUsageOutMaxTask", 19, nothing},
    {"TRESUsageOutMin", "TRESUsageOutMin", 15, nothing},
    {"TRESUsageOutMinNode", "TRESUsageOutMinNode", 19, nothing},
    {"TRESUsageOutMinTask", "TRESUsageOutMinTask", 19, nothing},
    {"TRESUsageOutTot", "TRESUsageOutTot", 15, usage_out},
    {"UID", "UID", 6, [](const Row& row) { return is_step(row) ? std::string{} : number(row.job->uid()); }},
    {"User", "User", 9, user_name},
    {"UserCPU", "UserCPU", 10, [](const Row& row) { return cpu_time(cpu_us(row, true, false)); }},
    {"WCKey", "WCKey", 10, extra_of<&wire::JobExtras::wckey>},
    {"WCKeyID", "WCKeyID", 10, nothing},
    {"WorkDir", "WorkDir", 20, of_job<&J::work_dir>},
};
// clang-format on

}  // namespace

std::string acct_job_id(const AcctRow& row) {
  return is_step(row) ? shown_step(row.step->step()) : job_name_text(*row.job, std::nullopt);
}

std::string acct_exit(const AcctRow& row) { return exit_text(row); }
std::string acct_derived_exit(const AcctRow& row) { return derived_exit(row); }
std::int64_t acct_start_us(const AcctRow& row) { return start_us(row); }
std::int64_t acct_end_us(const AcctRow& row) { return end_us(row); }
std::int64_t acct_elapsed(const AcctRow& row) { return elapsed(row); }
std::int64_t acct_cpu_us(const AcctRow& row, bool user, bool system) { return cpu_us(row, user, system); }
std::optional<std::uint64_t> acct_planned(const AcctRow& row) { return planned_seconds(row, false); }

std::string acct_state(const AcctRow& row) {
  if (is_step(row)) {
    wire::JobView as_job;
    as_job.set_state(row.step->step().state());
    return std::string{state_word(as_job)};
  }
  if (row.job->accounted().requeued()) return "REQUEUED";
  wire::JobView plain;  // sacct knows no completing and configuring
  plain.set_state(row.job->state());
  std::string out{state_word(plain)};
  if (row.job->state() == wire::CANCELLED && row.job->accounted().has_cancelled_by())
    out += " by " + std::to_string(row.job->accounted().cancelled_by());
  return out;
}

const char* const sacct_default_fields = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode";
const char* const sacct_brief_fields = "JobID,State,ExitCode";
const char* const sacct_long_fields =
    "JobID,JobIDRaw,JobName,Partition,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,MaxRSSNode,MaxRSSTask,"
    "AveRSS,MaxPages,MaxPagesNode,MaxPagesTask,AvePages,MinCPU,MinCPUNode,MinCPUTask,"
    "AveCPU,NTasks,AllocCPUS,Elapsed,State,ExitCode,AveCPUFreq,ReqCPUFreqMin,ReqCPUFreqMax,ReqCPUFreqGov,ReqMem,"
    "ConsumedEnergy,MaxDiskRead,MaxDiskReadNode,MaxDiskReadTask,AveDiskRead,MaxDiskWrite,"
    "MaxDiskWriteNode,MaxDiskWriteTask,AveDiskWrite,ReqTRES,AllocTRES,TRESUsageInAve,TRESUsageInMax,TRESUsageInMaxNode,"
    "TRESUsageInMaxTask,TRESUsageInMin,TRESUsageInMinNode,TRESUsageInMinTask,"
    "TRESUsageInTot,TRESUsageOutMax,TRESUsageOutMaxNode,TRESUsageOutMaxTask,TRESUsageOutAve,TRESUsageOutTot";

std::span<const Field<AcctRow>> acct_fields() { return fields; }

}  // namespace millrace
