// src/cli/render/columns.cpp - see columns.h.
#include "cli/render/columns.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "cli/render/job_words.h"

namespace millrace {
namespace {

using Row = JobRow;
using Out = std::string;
using enum Cut;

void put(Out& out, std::uint64_t number) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  out.append(buffer, end);
}

bool shows_reason(const wire::JobView& job) {
  if (job.completing()) return false;
  return job.state() == wire::PENDING || job.state() == wire::FAILED || job.state() == wire::TIMEOUT ||
         job.state() == wire::OUT_OF_MEMORY || job.state() == wire::DEADLINE;
}

void put_time_left(Out& out, const Row& row) {
  const wire::JobView& job = *row.job;
  if (job.time_limit_minutes() == UINT32_MAX) {
    out += "UNLIMITED";
    return;
  }
  const std::int64_t left =
      static_cast<std::int64_t>(job.time_limit_minutes()) * 60 - run_seconds(job, row.context->now_us);
  out += left < 0 ? "INVALID" : format_short_duration(left);
}

void put_min_memory(Out& out, const Row& row) {
  if (row.job->has_memory_per_cpu_mib())
    out += format_mib(row.job->memory_per_cpu_mib());
  else
    out += format_mib(row.job->has_memory_per_node_mib() ? row.job->memory_per_node_mib() : 0);
}

void put_array_task(Out& out, const Row& row) {
  if (row.task)
    put(out, *row.task);
  else if (row.job->has_array_task())
    put(out, row.job->array_task());
  else if (row.job->array_job_id() != 0)
    out += array_tasks_text(*row.job);
  else
    out += "N/A";
}

void put_het_id(Out& out, const Row& row) {
  if (row.job->het_job_id() != 0)
    put(out, row.job->het_job_id());
  else
    out += "N/A";
}
void put_het_ids(Out& out, const Row& row) { out += row.job->het_job_id() != 0 ? het_job_ids_text(*row.job) : "N/A"; }
void put_het_offset(Out& out, const Row& row) {
  if (row.job->het_job_id() != 0)
    put(out, row.job->het_job_offset());
  else
    out += "N/A";
}

void put_user(Out& out, const Row& row) {
  if (!row.job->user_name().empty())
    out += row.job->user_name();
  else
    out += row.context->names->user(row.job->uid());
}

void put_group(Out& out, const Row& row) {
  if (!row.job->group_name().empty())
    out += row.job->group_name();
  else
    out += row.context->names->group(row.job->gid());
}

void put_start(Out& out, const Row& row) { out += format_time(row.job->start_at_us(), "N/A"); }
void put_end(Out& out, const Row& row) { out += format_time(row.job->end_at_us(), "N/A"); }

void put_exit(Out& out, const Row& row) {
  put(out, row.job->exit_code());
  out += ':';
  put(out, row.job->exit_signal());
}

void put_alloc_tres(Out& out, const Row& row) {
  if (is_pending(*row.job))
    out += "N/A";
  else
    out += tres_text(row.job->cpus(), row.job->allocated_memory_mib(), row.job->node_count(),
                     row.job->resources().allocated_gres_tres());
}

void put_pending_time(Out& out, const Row& row) {
  const std::int64_t until =
      row.job->start_at_us() != 0 && !is_pending(*row.job) ? row.job->start_at_us() : row.context->now_us;
  put(out, static_cast<std::uint64_t>(std::max<std::int64_t>(0, (until - row.job->submit_at_us()) / 1'000'000)));
}

void put_fraction(Out& out, const Row& row) {
  char buffer[64];
  out.append(buffer, static_cast<std::size_t>(
                         std::snprintf(buffer, sizeof buffer, "%16.14f", row.job->priority() / 4294967295.0)));
}

// Values no job has yet: always the word Slurm prints for "nothing".
void star(Out& out, const Row&) { out += '*'; }
void null(Out& out, const Row&) { out += "(null)"; }
void not_available(Out& out, const Row&) { out += "N/A"; }
void nothing(Out&, const Row&) {}
void zero(Out& out, const Row&) { out += '0'; }

template <auto getter>
void text_of(Out& out, const Row& row) {
  out += (row.job->*getter)();
}
template <auto getter>
void text_or_null(Out& out, const Row& row) {
  out += or_null((row.job->*getter)());
}
template <auto getter>
void number_of(Out& out, const Row& row) {
  put(out, (row.job->*getter)());
}
using V = wire::JobView;
// As asked for, or what became of it.
template <auto expanded, auto pattern>
void file_name(Out& out, const Row& row) {
  out += row.context->expand_patterns ? (row.job->*expanded)() : (row.job->*pattern)();
}

// What was asked for in ResourceView, or the word for nothing.
using Ask = wire::ResourceView;
constexpr char null_word[] = "(null)", none_word[] = "N/A", star_word[] = "*", zero_word[] = "0";
template <auto getter, auto& nothing_word>
void asked_or(Out& out, const Row& row) {
  const std::string& value = (row.job->resources().*getter)();
  if (value.empty())
    out += nothing_word;
  else
    out += value;
}
template <auto getter, auto& nothing_word>
void count_or(Out& out, const Row& row) {
  if (const std::uint32_t count = (row.job->resources().*getter)(); count != 0)
    put(out, count);
  else
    out += nothing_word;
}

// clang-format off
constexpr Column<JobRow> rows[] = {
    {"Account", 'a', "ACCOUNT", to_width, false, text_or_null<&V::account>},
    {"AccrueTime", 0, "ACCRUE_TIME", to_width, false, [](Out& out, const Row& row) {
       out += format_time(row.job->accrue_at_us() != 0 ? row.job->accrue_at_us() : row.job->eligible_at_us(), "N/A");
     }},
    {"admin_comment", 0, "ADMIN_COMMENT", to_width, false, [](Out& out, const Row& row) { out += or_null(row.job->extras().admin_comment()); }},
    {"AllocNodes", 0, "ALLOC_NODES", to_width, false, text_of<&V::submit_host>},
    {"AllocSID", 0, "ALLOC_SID", never, false, number_of<&V::submit_sid>},
    {"ArrayJobId", 'F', "ARRAY_JOB_ID", never, true, [](Out& out, const Row& row) {
       put(out, row.job->array_job_id() != 0 ? row.job->array_job_id() : row.job->job_id());
     }},
    {"ArrayTaskId", 'K', "ARRAY_TASK_ID", to_width, true, put_array_task},
    {"AssocId", 0, "ASSOC_ID", never, false, number_of<&V::association>},
    {"BatchFlag", 0, "BATCH_FLAG", never, false, [](Out& out, const Row& row) { out += row.job->batch() ? '1' : '0'; }},
    {"BatchHost", 'B', "EXEC_HOST", to_width, false, [](Out& out, const Row& row) { out += row.job->batch_host().empty() ? "n/a" : row.job->batch_host(); }},
    {"BoardsPerNode", 0, "BOARDS_PER_NODE", to_width, false, not_available},
    {"BurstBuffer", 0, "BURST_BUFFER", to_width, false, nothing},
    {"BurstBufferState", 0, "BURST_BUFFER_STATE", to_width, false, nothing},
    {"Cluster", 0, "CLUSTER", to_width, true, [](Out& out, const Row& row) { out += row.context->cluster; }},
    {"ClusterFeature", 0, "CLUSTER_FEATURES", to_width, false, null},
    {"Command", 'o', "COMMAND", to_width, false, text_or_null<&V::command>},
    {"Comment", 'k', "COMMENT", to_width, false, text_or_null<&V::comment>},
    {"Container", 0, "CONTAINER", to_width, false, text_or_null<&V::container>},
    {"ContainerId", 0, "CONTAINERID", to_width, false, null},
    {"Contiguous", 'O', "CONTIGUOUS", to_width, false, [](Out& out, const Row& row) { out += row.job->resources().contiguous() ? '1' : '0'; }},
    {"Cores", 'I', "CORES_PER_SOCKET", to_width, false, count_or<&Ask::cores_per_socket, star_word>},
    {"CoreSpec", 'X', "CORE_SPEC", to_width, false, [](Out& out, const Row& row) { out += row.job->extras().has_core_spec() ? std::to_string(row.job->extras().core_spec()) : "N/A"; }},
    {"CPUsPerTask", 0, "CPUS_PER_TASK", never, false, number_of<&V::cpus_per_task>},
    {"cpus-per-task", 0, "CPUS_PER_TASK", never, false, number_of<&V::cpus_per_task>},
    {"cpus-per-tres", 0, "CPUS_PER_TRES", to_width, false, [](Out& out, const Row& row) { out += row.job->resources().cpus_per_gpu() == 0 ? "N/A" : "gres/gpu:" + std::to_string(row.job->resources().cpus_per_gpu()); }},
    {"CronJob", 0, "CRON_JOB", to_width, false, [](Out& out, const Row& row) { out += row.job->extras().cron().empty() ? "No" : "Yes"; }},
    {"Deadline", 0, "DEADLINE", to_width, false, [](Out& out, const Row& row) { out += format_time(row.job->resources().deadline_us(), "N/A"); }},
    {"DelayBoot", 0, "DELAY_BOOT", to_width, false, [](Out& out, const Row&) { out += "0:00"; }},
    {"Dependency", 'E', "DEPENDENCY", to_width, false, text_or_null<&V::dependency>},
    {"DerivedEC", 0, "DERIVED_EC", to_width, false, put_exit},
    {"EligibleTime", 0, "ELIGIBLE_TIME", to_width, false, [](Out& out, const Row& row) { out += format_time(row.job->eligible_at_us(), "N/A"); }},
    {"EndTime", 'e', "END_TIME", to_width, true, put_end},
    {"ExcNodes", 'x', "EXC_NODES", to_width, false, text_of<&V::excluded_nodes>},
    {"Exclusive", 0, "EXCLUSIVE", to_width, false, [](Out& out, const Row& row) { out += row.job->exclusive() ? "NODE" : row.job->resources().exclusive_user() ? "USER" : "NO"; }},
    {"exit_code", 0, "EXIT_CODE", to_width, false, put_exit},
    {"Feature", 'f', "FEATURES", to_width, false, asked_or<&Ask::features, null_word>},
    {"Gres", 'b', "TRES_PER_NODE", to_width, false, asked_or<&Ask::tres_per_node, none_word>},
    {"GroupId", 'G', "GROUP", never, false, number_of<&V::gid>},
    {"GroupName", 'g', "GROUP", to_width, false, put_group},
    {"HetJobId", 0, "HET_JOB_ID", to_width, true, put_het_id},
    {"HetJobIdSet", 0, "HET_JOB_ID_SET", to_width, true, put_het_ids},
    {"HetJobOffset", 0, "HET_JOB_OFFSET", to_width, true, put_het_offset},
    {"JobArrayId", 'i', "JOBID", to_width, true, [](Out& out, const Row& row) { out += job_name_text(*row.job, row.task); }},
    {"JobId", 'A', "JOBID", never, true, number_of<&V::job_id>},
    {"LastSchedEval", 0, "LAST_SCHED_EVAL", to_width, false, [](Out& out, const Row& row) { out += format_time(row.job->last_evaluated_us(), "N/A"); }},
    {"Licenses", 'W', "LICENSES", to_width, false, asked_or<&Ask::licenses, null_word>},
    {"LicensesAlloc", 0, "LICENSES_ALLOC", to_width, false, asked_or<&Ask::licenses_allocated, null_word>},
    {"MaxCPUs", 0, "MAX_CPUS", never, false, zero},
    {"MaxNodes", 0, "MAX_NODES", never, false, number_of<&V::max_node_count>},
    {"mem-per-tres", 0, "MEM_PER_TRES", to_width, false, [](Out& out, const Row& row) { out += row.job->resources().memory_per_gpu_mib() == 0 ? "N/A" : "gres/gpu:" + std::to_string(row.job->resources().memory_per_gpu_mib()); }},
    {"MCSLabel", 0, "MCSLABEL", to_width, false, not_available},
    {"MinCPUs", 'c', "MIN_CPUS", never, false, number_of<&V::min_cpus_per_node>},
    {"MinMemory", 'm', "MIN_MEMORY", to_width, false, put_min_memory},
    {"MinTime", 0, "TIME_MIN", to_width, false, [](Out& out, const Row& row) { out += row.job->resources().time_min_minutes() == 0 ? "N/A" : format_limit(row.job->resources().time_min_minutes()); }},
    {"MinTmpDisk", 'd', "MIN_TMP_DISK", to_width, false, [](Out& out, const Row& row) { out += row.job->resources().tmp_disk_mib() == 0 ? "0" : format_mib(row.job->resources().tmp_disk_mib()); }},
    {"Name", 'j', "NAME", to_width, true, text_of<&V::name>},
    {"Network", 0, "NETWORK", to_width, false, [](Out& out, const Row& row) { out += or_null(row.job->extras().network()); }},
    {"Nice", 'y', "NICE", never, false, [](Out& out, const Row& row) { out += std::to_string(row.job->nice()); }},
    {"NodeList", 'N', "NODELIST", to_width, true, text_of<&V::nodes>},
    {"NTPerCore", 0, "NTASKS_PER_CORE", to_width, false, count_or<&Ask::tasks_per_core, none_word>},
    {"NTPerNode", 0, "NTASKS_PER_NODE", never, false, number_of<&V::tasks_per_node>},
    {"NTPerSocket", 0, "NTASKS_PER_SOCKET", to_width, false, count_or<&Ask::tasks_per_socket, none_word>},
    {"NTPerBoard", 0, "NTASKS_PER_BOARD", to_width, false, not_available},
    {"NumCPUs", 'C', "CPUS", never, false, number_of<&V::cpus>},
    {"NumNodes", 'D', "NODES", never, true, number_of<&V::node_count>},
    {"NumTasks", 0, "TASKS", never, false, number_of<&V::tasks>},
    {"Origin", 0, "ORIGIN", to_width, false, not_available},
    {"OriginRaw", 0, "ORIGIN_RAW", to_width, false, not_available},
    {"OverSubscribe", 'h', "OVER_SUBSCRIBE", to_width, false, [](Out& out, const Row& row) { out += row.job->oversubscribe() ? "YES" : "NO"; }},
    {"PackJobId", 0, "HET_JOB_ID", to_width, true, put_het_id},
    {"PackJobIdSet", 0, "HET_JOB_ID_SET", to_width, true, put_het_ids},
    {"PackJobOffset", 0, "HET_JOB_OFFSET", to_width, true, put_het_offset},
    {"Partition", 'P', "PARTITION", to_width, true, text_of<&V::partition>},
    {"PendingTime", 0, "PENDING_TIME", never, false, put_pending_time},
    {"PreemptTime", 0, "PREEMPT_TIME", to_width, false, not_available},
    {"Prefer", 0, "PREFER", to_width, false, asked_or<&Ask::prefer, null_word>},
    {"Priority", 'p', "PRIORITY", to_width, true, put_fraction},
    {"PriorityLong", 'Q', "PRIORITY", never, true, number_of<&V::priority>},
    {"Profile", 0, "PROFILE", to_width, false, [](Out& out, const Row& row) { out += row.job->extras().profile().empty() ? std::string{"N/A"} : row.job->extras().profile(); }},
    {"QOS", 'q', "QOS", to_width, false, text_or_null<&V::qos>},
    {"Reason", 'r', "REASON", to_width, true, text_of<&V::reason>},
    {"ReasonList", 'R', "NODELIST(REASON)", to_width, true, [](Out& out, const Row& row) {
       if (!shows_reason(*row.job)) { out += row.job->nodes(); return; }
       out += '(';
       out += row.job->reason();
       out += ')';
     }},
    {"Reboot", 0, "REBOOT", never, false, [](Out& out, const Row& row) { out += row.job->extras().reboot() ? "1" : "0"; }},
    {"ReqNodes", 'n', "REQ_NODES", to_width, false, text_of<&V::required_nodes>},
    {"ReqSwitch", 0, "REQ_SWITCH", to_width, false, count_or<&Ask::switches, zero_word>},
    {"Requeue", 0, "REQUEUE", never, false, [](Out& out, const Row& row) { out += row.job->requeue() ? '1' : '0'; }},
    {"Reservation", 'v', "RESERVATION", to_width, false, asked_or<&Ask::reservation, null_word>},
    {"ResizeTime", 0, "RESIZE_TIME", to_width, false, [](Out& out, const Row& row) { out += format_time(row.job->resized_at_us(), "N/A"); }},
    {"RestartCnt", 0, "RESTART_COUNT", never, false, number_of<&V::restarts>},
    {"Runtime", 0, "RUNTIME", to_width, false, null},
    {"SchedNodes", 'Y', "SCHEDNODES", to_width, true, text_or_null<&V::planned_nodes>},
    {"SCT", 'z', "S:C:T", to_width, false, [](Out& out, const Row& row) {
       count_or<&Ask::sockets_per_node, star_word>(out, row);
       out += ':';
       count_or<&Ask::cores_per_socket, star_word>(out, row);
       out += ':';
       count_or<&Ask::threads_per_core, star_word>(out, row);
     }},
    {"SegmentSize", 0, "SEGMENT_SIZE", never, false, count_or<&Ask::segment, zero_word>},
    {"SiblingsActive", 0, "ACTIVE_SIBLINGS", to_width, false, not_available},
    {"SiblingsActiveRaw", 0, "ACTIVE_SIBLINGS_RAW", to_width, false, not_available},
    {"SiblingsViable", 0, "VIABLE_SIBLINGS", to_width, false, not_available},
    {"SiblingsViableRaw", 0, "VIALBLE_SIBLINGS_RAW", to_width, false, not_available},
    {"Shared", 0, "OVER_SUBSCRIBE", to_width, false, [](Out& out, const Row& row) { out += row.job->oversubscribe() ? "YES" : "NO"; }},
    {"SLUID", 's', "SLUID", to_width, false, [](Out& out, const Row& row) { out += sluid_text(*row.job); }},
    {"Sockets", 'H', "SOCKETS_PER_NODE", to_width, false, count_or<&Ask::sockets_per_node, star_word>},
    {"SPerBoard", 0, "SOCKETS_PER_BOARD", to_width, false, star},
    {"StartTime", 'S', "START_TIME", to_width, true, put_start},
    {"State", 'T', "STATE", to_width, true, [](Out& out, const Row& row) { out += state_word(*row.job); }},
    {"StateCompact", 't', "ST", to_width, true, [](Out& out, const Row& row) { out += state_compact(*row.job); }},
    {"StdErr", 0, "STDERR", to_width, false, file_name<&V::std_err, &V::std_err_pattern>},
    {"StdIn", 0, "STDIN", to_width, false, file_name<&V::std_in, &V::std_in_pattern>},
    {"StdOut", 0, "STDOUT", to_width, false, file_name<&V::std_out, &V::std_out_pattern>},
    {"SubmitTime", 'V', "SUBMIT_TIME", to_width, false, [](Out& out, const Row& row) { out += format_time(row.job->submit_at_us(), "N/A"); }},
    {"system_comment", 0, "SYSTEM_COMMENT", to_width, false, [](Out& out, const Row& row) { out += or_null(row.job->extras().system_comment()); }},
    {"Threads", 'J', "THREADS_PER_CORE", to_width, false, count_or<&Ask::threads_per_core, star_word>},
    {"TimeLeft", 'L', "TIME_LEFT", never, true, put_time_left},
    {"TimeLimit", 'l', "TIME_LIMIT", never, true, [](Out& out, const Row& row) { out += format_short_limit(row.job->time_limit_minutes()); }},
    {"TimeUsed", 'M', "TIME", never, true, [](Out& out, const Row& row) { out += format_short_duration(run_seconds(*row.job, row.context->now_us)); }},
    {"Tres", 0, "TRES_ALLOC", to_width, false, put_alloc_tres},
    {"tres-alloc", 0, "TRES_ALLOC", to_width, false, put_alloc_tres},
    {"tres-bind", 0, "TRES_BIND", to_width, false, not_available},
    {"tres-freq", 0, "TRES_FREQ", to_width, false, not_available},
    {"tres-per-job", 0, "TRES_PER_JOB", to_width, false, asked_or<&Ask::tres_per_job, none_word>},
    {"tres-per-node", 0, "TRES_PER_NODE", to_width, false, asked_or<&Ask::tres_per_node, none_word>},
    {"tres-per-socket", 0, "TRES_PER_SOCKET", to_width, false, asked_or<&Ask::tres_per_socket, none_word>},
    {"tres-per-task", 0, "TRES_PER_TASK", to_width, false, [](Out& out, const Row& row) {
       const std::string value = tres_per_task_text(*row.job);
       out += value.empty() ? "N/A" : value;
     }},
    {"UserId", 'U', "UID", never, true, number_of<&V::uid>},
    {"UserName", 'u', "USER", to_width, true, put_user},
    {"Wait4Switch", 0, "WAIT4SWITCH", to_width, false, [](Out& out, const Row& row) { out += format_short_duration(row.job->resources().switches_wait_seconds()); }},
    {"WCKey", 'w', "WCKEY", to_width, false, [](Out& out, const Row& row) { out += or_null(row.job->extras().wckey()); }},
    {"WorkDir", 'Z', "WORK_DIR", to_width, false, text_or_null<&V::work_dir>},
};
// clang-format on

// How two jobs compare by a letter; -1, 0, 1.
struct SortRow {
  char letter;
  bool brief;
  int (*compare)(const JobRow& a, const JobRow& b);
};

template <class T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

template <auto key>
int by(const JobRow& a, const JobRow& b) {
  return three_way(key(a), key(b));
}

constexpr SortRow sort_rows[] = {
    {'A', true, by<[](const JobRow& row) { return row.job->job_id(); }>},
    {'i', true, by<[](const JobRow& row) {
       return (std::pair{row.job->array_job_id() != 0 ? row.job->array_job_id() : row.job->job_id(),
                         row.task                    ? *row.task
                         : row.job->has_array_task() ? row.job->array_task()
                                                     : 0u});
     }>},
    {'F', true, by<[](const JobRow& row) {
       return (row.job->array_job_id() != 0 ? row.job->array_job_id() : row.job->job_id());
     }>},
    {'P', true, by<[](const JobRow& row) { return std::string_view{row.job->partition()}; }>},
    {'R', true, by<[](const JobRow& row) { return std::string_view{row.job->partition()}; }>},
    {'t', true, by<[](const JobRow& row) { return state_compact(*row.job); }>},
    {'T', true, by<[](const JobRow& row) { return state_word(*row.job); }>},
    {'p', true, by<[](const JobRow& row) { return row.job->priority(); }>},
    {'Q', true, by<[](const JobRow& row) { return row.job->priority(); }>},
    {'S', true,
     by<[](const JobRow& row) { return (row.job->start_at_us() == 0 ? INT64_MAX : row.job->start_at_us()); }>},
    {'e', true, by<[](const JobRow& row) { return (row.job->end_at_us() == 0 ? INT64_MAX : row.job->end_at_us()); }>},
    {'l', true, by<[](const JobRow& row) { return row.job->time_limit_minutes(); }>},
    {'L', true, by<[](const JobRow& row) {
       return (row.job->time_limit_minutes() == UINT32_MAX
                   ? INT64_MAX
                   : row.job->time_limit_minutes() * std::int64_t{60} - run_seconds(*row.job, row.context->now_us));
     }>},
    {'M', true, by<[](const JobRow& row) { return run_seconds(*row.job, row.context->now_us); }>},
    {'D', true, by<[](const JobRow& row) { return row.job->node_count(); }>},
    {'N', true, by<[](const JobRow& row) { return std::string_view{row.job->nodes()}; }>},
    {'j', true, by<[](const JobRow& row) { return std::string_view{row.job->name()}; }>},
    {'u', true, by<[](const JobRow& row) { return std::string_view{row.context->names->user(row.job->uid())}; }>},
    {'U', true, by<[](const JobRow& row) { return row.job->uid(); }>},
    {'r', true, by<[](const JobRow& row) { return std::string_view{row.job->reason()}; }>},
    {'a', false, by<[](const JobRow& row) { return std::string_view{row.job->account()}; }>},
    {'q', false, by<[](const JobRow& row) { return std::string_view{row.job->qos()}; }>},
    {'C', false, by<[](const JobRow& row) { return row.job->cpus(); }>},
    {'V', false, by<[](const JobRow& row) { return row.job->submit_at_us(); }>},
    {'g', false, by<[](const JobRow& row) { return row.job->gid(); }>},
    {'G', false, by<[](const JobRow& row) { return row.job->gid(); }>},
    {'m', false, by<[](const JobRow& row) { return row.job->requested_memory_mib(); }>},
};

struct SortKey {
  const SortRow* row;  // nullptr: by what the column shows
  const Column<JobRow>* column;
  bool reverse;

  int compare(const JobRow& a, const JobRow& b) const {
    if (row != nullptr) return row->compare(a, b);
    std::string left, right;
    column->value(left, a);
    column->value(right, b);
    return three_way(left, right);
  }
};

std::vector<SortKey> sort_keys(std::string_view keys, std::string& unknown) {
  std::vector<SortKey> out;
  bool reverse = false;
  for (const char c : keys) {
    if (c == '-' || c == '+') reverse = c == '-';
    if (c == ',' || c == '-' || c == '+' || c == '#' || c == ' ' || c == '%') continue;
    const auto row = std::ranges::find(sort_rows, c, &SortRow::letter);
    const auto column = std::ranges::find(rows, c, &Column<JobRow>::letter);
    if (row != std::end(sort_rows))
      out.push_back({row, nullptr, reverse});
    else if (column != std::end(rows))
      out.push_back({nullptr, column, reverse});
    else
      unknown += c;
    reverse = false;
  }
  return out;
}

}  // namespace

const char* const squeue_default_format =
    "jobarrayid:.18 ,partition:.9 ,name:.8 ,username:.8 ,statecompact:.2 ,timeused:.10 ,numnodes:.6 ,reasonlist:0";
const char* const squeue_long_format =
    "jobarrayid:.18 ,partition:.9 ,name:.8 ,username:.8 ,state:.8 ,timeused:.10 ,timelimit:.9 ,numnodes:.6 "
    ",reasonlist:0";
const char* const squeue_start_format = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";
const char* const squeue_state_format = "%.18i %.2t";

std::span<const Column<JobRow>> job_columns() { return rows; }

bool needs_only_brief(const Format<JobRow>& format) {
  return std::ranges::all_of(format, [](const auto& field) { return field.column == nullptr || field.column->brief; });
}

bool sort_needs_only_brief(std::string_view keys) {
  std::string unknown;
  return std::ranges::all_of(sort_keys(keys, unknown), [](const SortKey& key) {
    return key.row != nullptr ? key.row->brief : key.column->brief;
  });
}

void sort_jobs(std::vector<JobRow>& jobs, std::string_view keys, std::string& unknown) {
  const auto order = sort_keys(keys, unknown);
  const auto before = [&](const JobRow& a, const JobRow& b) {
    for (const SortKey& key : order)
      if (const int result = key.compare(a, b); result != 0) return key.reverse ? result > 0 : result < 0;
    return false;
  };
  // A long queue comes in the order of submission, which mostly is the order wanted.
  if (!std::ranges::is_sorted(jobs, before)) std::ranges::stable_sort(jobs, before);
}

std::string render_jobs(const std::vector<JobRow>& jobs, const Format<JobRow>& format, bool header) {
  std::string out, scratch;
  out.reserve(jobs.size() * 100 + 200);
  if (header) append_header(out, format);
  for (const JobRow& row : jobs) append_row(out, format, row, scratch);
  return out;
}

}  // namespace millrace
