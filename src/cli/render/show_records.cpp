// src/cli/render/show_records.cpp - see show_records.h.
#include "cli/render/show_records.h"

#include <cstdio>

#include "base/hostlist.h"
#include "base/shown_text.h"
#include "base/text.h"
#include "cli/render/job_words.h"
#include "cli/render/node_words.h"
#include "core/model/job_extras.h"

namespace millrace {
namespace {

// Puts lines together: three blanks before each but the first, or all of them on one line.
class Record {
 public:
  explicit Record(const ShowOptions& options) : one_line_(options.one_line) {}
  void line(std::string_view text) {
    if (!out_.empty()) out_ += one_line_ ? " " : "\n   ";
    append_shown(out_, text);
  }
  std::string finish() { return std::move(out_) + (one_line_ ? "\n" : "\n\n"); }

 private:
  bool one_line_;
  std::string out_;
};

std::string text(std::uint64_t number) { return std::to_string(number); }
std::string pair_text(std::uint32_t a, std::uint32_t b) { return std::to_string(a) + ':' + std::to_string(b); }
std::string null(const std::string& value) { return std::string{or_null(value)}; }

std::string user_name(const wire::JobView& job, Names& names) {
  return job.user_name().empty() ? names.user(job.uid()) : job.user_name();
}

std::string user_text(const wire::JobView& job, Names& names) {
  const std::string user = user_name(job, names);
  const std::string group = job.group_name().empty() ? names.group(job.gid()) : job.group_name();
  return "UserId=" + user + '(' + text(job.uid()) + ") GroupId=" + group + '(' + text(job.gid()) + ") MCS_label=N/A";
}

std::string first_line(const wire::JobView& job) {
  std::string out = "JobId=" + text(job.job_id());
  if (job.array_job_id() != 0) {
    out += " ArrayJobId=" + text(job.array_job_id()) +
           " ArrayTaskId=" + (job.has_array_task() ? text(job.array_task()) : array_tasks_text(job));
    if (job.array_throttle() != 0) out += " ArrayTaskThrottle=" + text(job.array_throttle());
  }
  if (job.het_job_id() != 0)
    out += " HetJobId=" + text(job.het_job_id()) + " HetJobOffset=" + text(job.het_job_offset());
  return out + " JobName=" + job.name();
}

void add_state_lines(Record& record, const wire::JobView& job, std::int64_t now_us, int detail) {
  std::string reason = job.reason().empty() ? "None" : job.reason();
  for (char& c : reason)
    if (c == ' ') c = '_';
  record.line("JobState=" + std::string{state_word(job)} + " Reason=" + reason +
              (job.failed_node().empty() ? "" : " FailedNode=" + job.failed_node()) +
              " Dependency=" + null(job.dependency()));
  record.line(std::string{"Requeue="} + (job.requeue() ? "1" : "0") + " Restarts=" + text(job.restarts()) +
              " BatchFlag=" + (job.batch() ? "1" : "0") + " Reboot=" + (job.extras().reboot() ? "1" : "0") +
              " ExitCode=" + pair_text(job.exit_code(), job.exit_signal()));
  if (detail > 0)
    record.line("DerivedExitCode=" + (job.extras().derived_exit().empty() ? "0:0" : job.extras().derived_exit()));
  record.line("RunTime=" + format_duration(run_seconds(job, now_us)) +
              " TimeLimit=" + format_limit(job.time_limit_minutes()) + " TimeMin=" +
              (job.resources().time_min_minutes() == 0 ? std::string{"N/A"}
                                                       : format_limit(job.resources().time_min_minutes())));
  record.line("SubmitTime=" + format_time(job.submit_at_us(), "Unknown") +
              " EligibleTime=" + format_time(job.eligible_at_us(), "Unknown"));
  record.line("AccrueTime=" +
              format_time(job.accrue_at_us() != 0 ? job.accrue_at_us() : job.eligible_at_us(), "Unknown"));
  if (job.resized_at_us() != 0) record.line("ResizeTime=" + format_time(job.resized_at_us(), "Unknown"));
  record.line("StartTime=" + format_time(job.start_at_us(), "Unknown") +
              " EndTime=" + format_time(is_pending(job) && job.start_at_us() == 0 ? 0 : job.end_at_us(), "Unknown") +
              " Deadline=" + format_time(job.resources().deadline_us(), "N/A"));
  if (!job.extras().cron().empty()) record.line("CronJob=Yes CrontabSpec=\"" + job.extras().cron() + "\"");
  record.line("SuspendTime=" + format_time(job.suspend_at_us(), "None") +
              " SecsPreSuspend=" + std::to_string(job.ran_before_us() / 1'000'000) +
              " LastSchedEval=" + format_time(job.last_evaluated_us(), "Unknown") +
              " Scheduler=" + (job.planned_by_backfill() ? "Backfill" : "Main"));
}

// Allocated nodes that look the same stand on one line.
void add_node_details(Record& record, const wire::JobView& job, bool one_line) {
  record.line("JOB_GRES=" + null(job.resources().job_gres()));
  const auto names = expand_hostlist(job.nodes());
  if (!names || job.cpu_ids_per_allocated_node_size() != static_cast<int>(names->size()) || names->empty()) return;
  const std::uint64_t memory = job.allocated_memory_mib() / names->size();
  const auto gres = [&](int i) {
    return i < job.resources().gres_per_allocated_node_size() ? job.resources().gres_per_allocated_node(i)
                                                              : std::string{};
  };
  std::vector<std::string> group;
  const auto flush = [&](int last) {
    record.line((one_line ? "Nodes=" : "  Nodes=") + compress_hostlist(group) +
                " CPU_IDs=" + job.cpu_ids_per_allocated_node(last) + " Mem=" + text(memory) + " GRES=" + gres(last));
    group.clear();
  };
  for (int i = 0; i < job.cpu_ids_per_allocated_node_size(); ++i) {
    if (i > 0 && (job.cpu_ids_per_allocated_node(i) != job.cpu_ids_per_allocated_node(i - 1) || gres(i) != gres(i - 1)))
      flush(i - 1);
    group.push_back((*names)[static_cast<std::size_t>(i)]);
  }
  flush(job.cpu_ids_per_allocated_node_size() - 1);
}

std::string star(std::uint32_t count) { return count == 0 ? "*" : text(count); }

std::string shape_text(const wire::ResourceView& ask) {
  if (ask.sockets_per_node() == 0 && ask.cores_per_socket() == 0 && ask.threads_per_core() == 0) return "0:0:*:*";
  return "0:" + (ask.sockets_per_node() == 0 ? "0" : text(ask.sockets_per_node())) + ":" +
         star(ask.cores_per_socket()) + ":" + star(ask.threads_per_core());
}

void add_resource_lines(Record& record, const wire::JobView& job, const ShowOptions& options) {
  const bool placed = !is_pending(job) && !job.nodes().empty();
  const wire::ResourceView& ask = job.resources();
  const std::string range =
      text(job.node_count()) + (is_pending(job) && job.max_node_count() != 0 ? '-' + text(job.max_node_count()) : "");
  const std::string count = is_pending(job) && !ask.node_counts().empty() ? ask.node_counts() : range;
  record.line("NumNodes=" + count + " NumCPUs=" + text(job.cpus()) + " NumTasks=" + text(job.tasks()) + " CPUs/Task=" +
              text(job.cpus_per_task() == 0 ? 1 : job.cpus_per_task()) + " ReqB:S:C:T=" + shape_text(ask));
  record.line("ReqTRES=" + tres_text(job.requested_cpus(), job.requested_memory_mib(), job.requested_nodes(),
                                     ask.requested_gres_tres()));
  record.line("AllocTRES=" +
              (placed ? tres_text(job.cpus(), job.allocated_memory_mib(), job.node_count(), ask.allocated_gres_tres())
                      : std::string{"(null)"}));
  record.line("Socks/Node=" + star(ask.sockets_per_node()) + " NtasksPerN:B:S:C=" + text(job.tasks_per_node()) +
              ":0:" + star(ask.tasks_per_socket()) + ":" + star(ask.tasks_per_core()) +
              (job.extras().threads_spec() ? " ThreadSpec=" : " CoreSpec=") +
              (job.extras().has_core_spec() ? std::to_string(job.extras().core_spec()) : "*"));
  if (options.detail > 0 && placed) add_node_details(record, job, options.one_line);
  const std::string memory = ask.memory_per_gpu_mib() != 0  ? "MinMemoryTRES=gres/gpu:" + text(ask.memory_per_gpu_mib())
                             : job.has_memory_per_cpu_mib() ? "MinMemoryCPU=" + format_mib(job.memory_per_cpu_mib())
                                                            : "MinMemoryNode=" + format_mib(job.memory_per_node_mib());
  record.line("MinCPUsNode=" + text(job.min_cpus_per_node()) + ' ' + memory +
              " MinTmpDiskNode=" + (ask.tmp_disk_mib() == 0 ? "0" : format_mib(ask.tmp_disk_mib())));
  record.line("Features=" + null(ask.features()) + " DelayBoot=" + format_duration(job.extras().delay_boot_seconds()));
  if (!ask.prefer().empty()) record.line("Prefer=" + ask.prefer());
  if (!ask.reservation().empty()) record.line("Reservation=" + ask.reservation());
  record.line(std::string{"OverSubscribe="} + (job.oversubscribe() ? "YES" : "NO") + " Exclusive=" +
              (job.exclusive()        ? "NODE"
               : ask.exclusive_user() ? "USER"
                                      : "NO") +
              " Contiguous=" + (ask.contiguous() ? "1" : "0") + " Licenses=" + null(ask.licenses()) +
              " LicensesAlloc=" + null(ask.licenses_allocated()) + " Network=" + null(job.extras().network()));
}

void add_request_lines(Record& record, const wire::JobView& job) {
  const wire::ResourceView& ask = job.resources();
  if (ask.segment() != 0) record.line("SegmentSize=" + text(ask.segment()));
  if (ask.switches() != 0) {
    const std::int64_t wait = ask.switches_wait_seconds();
    record.line("Switches=" + text(ask.switches()) + "@" + format_duration(wait));
  }
  if (ask.enforce_binding()) record.line("GresEnforceBind=Yes");
  if (ask.spread_job()) record.line("SpreadJob=Yes");
  if (ask.cpus_per_gpu() != 0) record.line("CpusPerTres=gres/gpu:" + text(ask.cpus_per_gpu()));
  if (ask.memory_per_gpu_mib() != 0) record.line("MemPerTres=gres/gpu:" + text(ask.memory_per_gpu_mib()));
  if (!ask.tres_per_job().empty()) record.line("TresPerJob=" + ask.tres_per_job());
  if (!ask.tres_per_node().empty()) record.line("TresPerNode=" + ask.tres_per_node());
  if (!ask.tres_per_socket().empty()) record.line("TresPerSocket=" + ask.tres_per_socket());
  if (const std::string per_task = tres_per_task_text(job); !per_task.empty()) record.line("TresPerTask=" + per_task);
  if (ask.tasks_per_gpu() != 0) record.line("NtasksPerTRES=" + text(ask.tasks_per_gpu()));
}

std::string memory_limits(const wire::PartitionView& p) {
  const auto one = [](std::string_view word, bool has_cpu, std::uint64_t cpu, bool has_node, std::uint64_t node) {
    if (has_cpu) return std::string{word} + "MemPerCPU=" + text(cpu);
    return std::string{word} + "MemPerNode=" + (has_node ? text(node) : "UNLIMITED");
  };
  return one("Def", p.has_default_memory_per_cpu_mib(), p.default_memory_per_cpu_mib(),
             p.has_default_memory_per_node_mib(), p.default_memory_per_node_mib()) +
         ' ' +
         one("Max", p.has_max_memory_per_cpu_mib(), p.max_memory_per_cpu_mib(), p.has_max_memory_per_node_mib(),
             p.max_memory_per_node_mib());
}

const char* yes_no(bool value) { return value ? "YES" : "NO"; }
std::string all(const std::string& value) { return value.empty() ? "ALL" : value; }

}  // namespace

std::string show_job(const wire::JobView& job, std::int64_t now_us, Names& names, const ShowOptions& options) {
  Record record(options);
  record.line(first_line(job));
  if (options.detail > 0) record.line("SLUID=" + sluid_text(job));
  if (job.het_job_id() != 0) record.line("HetJobIdSet=" + het_job_ids_text(job));
  record.line(user_text(job, names));
  record.line("Priority=" + text(job.priority()) + " Nice=" + std::to_string(job.nice()) +
              (job.extras().site_factor() == 0 ? "" : " SiteFactor=" + std::to_string(job.extras().site_factor())) +
              " Account=" + null(job.account()) + " QOS=" + null(job.qos()) +
              (job.extras().wckey().empty() ? "" : " WCKey=" + job.extras().wckey()));
  add_state_lines(record, job, now_us, options.detail);
  record.line("Partition=" + job.partition() + " AllocNode:Sid=" + job.submit_host() + ':' + text(job.submit_sid()));
  record.line("ReqNodeList=" + null(job.required_nodes()) + " ExcNodeList=" + null(job.excluded_nodes()));
  record.line("NodeList=" + job.nodes() + (job.planned_nodes().empty() ? "" : " SchedNodeList=" + job.planned_nodes()));
  if (!job.extras().batch_features().empty()) record.line("BatchFeatures=" + job.extras().batch_features());
  if (!job.batch_host().empty()) record.line("BatchHost=" + job.batch_host());
  add_resource_lines(record, job, options);
  record.line("Command=" + null(job.command()));
  if (!job.submit_line().empty()) record.line("SubmitLine=" + job.submit_line());
  record.line("WorkDir=" + job.work_dir());
  if (!job.extras().admin_comment().empty()) record.line("AdminComment=" + job.extras().admin_comment());
  if (!job.extras().system_comment().empty()) record.line("SystemComment=" + job.extras().system_comment());
  if (!job.comment().empty()) record.line("Comment=" + job.comment());
  if (!job.extras().extra().empty()) record.line("Extra=" + job.extras().extra());
  if (job.batch()) {
    record.line("StdErr=" + job.std_err());
    record.line("StdIn=" + job.std_in());
    record.line("StdOut=" + job.std_out());
  }
  add_request_lines(record, job);
  if (job.extras().mail_types() != 0)
    record.line("MailUser=" + (job.extras().mail_user().empty() ? user_name(job, names) : job.extras().mail_user()) +
                " MailType=" + mail_types_text(job.extras().mail_types()));
  if (!job.container().empty()) record.line("Container=" + job.container());
  return record.finish();
}

std::string show_node(const wire::NodeView& node, Names& names, const ShowOptions& options) {
  Record record(options);
  char load[32] = "N/A";
  if (node.has_telemetry())
    std::snprintf(load, sizeof load, "%u.%02u", node.telemetry().load_hundredths() / 100,
                  node.telemetry().load_hundredths() % 100);
  std::string partitions;
  for (const std::string& name : node.partitions()) partitions += (partitions.empty() ? "" : ",") + name;
  // The blanks before some line ends are Slurm's.
  record.line("NodeName=" + node.name() + (node.arch().empty() ? "" : " Arch=" + node.arch()) +
              " CoresPerSocket=" + text(node.cores_per_socket()) + ' ');
  record.line("CPUAlloc=" + text(node.allocated_cpus()) + " CPUEfctv=" + text(usable_cpus(node)) +
              " CPUTot=" + text(node.cpus()) + " CPULoad=" + load);
  record.line("AvailableFeatures=" + null(node.features()));
  record.line("ActiveFeatures=" + null(node.active_features()));
  record.line("Gres=" + null(node.gres()));
  if (options.detail > 0) {
    record.line("GresDrain=" + (node.gres_drain().empty() ? "N/A" : node.gres_drain()));
    record.line("GresUsed=" + null(node.gres_used()));
    for (const auto& device : node.telemetry().devices())
      record.line("GresLoad=" + device.name() + (device.type().empty() ? "" : ":" + device.type()) + ' ' +
                  text(device.device()) + ": " + text(device.busy_percent()) + "% busy, " + text(device.used_mib()) +
                  "M of " + text(device.memory_mib()) + "M, " + text(device.celsius()) + "C, " + text(device.watts()) +
                  'W');
    for (const std::string& trouble : node.device_troubles()) record.line("GresDrainReason=" + trouble);
  }
  record.line("NodeAddr=" + node.address() + " NodeHostName=" + node.host_name() + " Port=" + text(node.port()) +
              (node.version().empty() ? "" : " Version=" + node.version()));
  if (!node.os().empty()) record.line("OS=" + node.os() + ' ');
  record.line("RealMemory=" + text(node.memory_mib()) + " AllocMem=" + text(node.allocated_memory_mib()) +
              " FreeMem=" + (node.has_telemetry() ? text(node.telemetry().free_memory_mib()) : "N/A") +
              " Sockets=" + text(node.sockets()) + " Boards=" + text(node.boards()));
  if (node.withheld_cores() != 0 || node.withheld_memory_mib() != 0) {
    const std::string cores = node.withheld_cores() == 0 ? std::string{}
                                                         : "CoreSpecCount=" + text(node.withheld_cores()) +
                                                               " CPUSpecList=" + node.withheld_cpu_list();
    const std::string memory =
        node.withheld_memory_mib() == 0 ? std::string{} : "MemSpecLimit=" + text(node.withheld_memory_mib());
    record.line(cores + (cores.empty() || memory.empty() ? "" : " ") + memory);
  }
  record.line("State=" + node_state_full(node) + " ThreadsPerCore=" + text(node.threads_per_core()) +
              " TmpDisk=" + text(node.tmp_disk_mib()) + " Weight=" + text(node.weight()) + " Owner=N/A MCS_label=N/A");
  if (!partitions.empty()) record.line("Partitions=" + partitions + ' ');
  record.line("BootTime=" + format_time(node.boot_at_us(), "None") +
              " SlurmdStartTime=" + format_time(node.agent_started_at_us(), "None"));
  record.line("LastBusyTime=" + format_time(node.last_busy_us(), "Unknown") +
              " ResumeAfterTime=" + format_time(node.resume_at_us(), "None") + " SuspendTime=" +
              (node.idle_until_us() != 0 ? format_time(node.idle_until_us(), "INFINITE") : "INFINITE"));
  record.line("CfgTRES=cpu=" + text(usable_cpus(node)) + ",mem=" + format_mib(usable_memory(node)) +
              ",billing=" + text(usable_cpus(node)) + (node.gres_tres().empty() ? "" : "," + node.gres_tres()));
  std::string allocated;
  if (node.allocated_cpus() != 0) allocated = "cpu=" + text(node.allocated_cpus());
  if (node.allocated_memory_mib() != 0)
    allocated += (allocated.empty() ? "mem=" : ",mem=") + format_mib(node.allocated_memory_mib());
  if (!node.allocated_gres_tres().empty()) allocated += (allocated.empty() ? "" : ",") + node.allocated_gres_tres();
  record.line("AllocTRES=" + allocated);
  record.line("CurrentWatts=0 AveWatts=0");
  if (!node.reason().empty())
    record.line("Reason=" + node.reason() + " [" + names.user(node.reason_uid()) + '@' +
                format_time(node.reason_at_us(), "Unknown") + ']');
  if (!node.comment().empty()) record.line("Comment=" + node.comment());
  if (!node.extra().empty()) record.line("Extra=" + node.extra());
  if (!node.instance_id().empty() || !node.instance_type().empty())
    record.line("InstanceId=" + null(node.instance_id()) + " InstanceType=" + null(node.instance_type()));
  if (!node.reservation().empty()) record.line("ReservationName=" + node.reservation());
  return record.finish();
}

std::string show_partition(const wire::PartitionView& p, const ShowOptions& options) {
  Record record(options);
  const auto limit = [](std::uint32_t count) { return count == UINT32_MAX ? std::string{"UNLIMITED"} : text(count); };
  record.line("PartitionName=" + p.name());
  record.line(
      "AllowGroups=" + all(p.allow_groups()) +
      (p.deny_accounts().empty() ? " AllowAccounts=" + all(p.allow_accounts()) : " DenyAccounts=" + p.deny_accounts()) +
      (p.deny_qos().empty() ? " AllowQos=" + all(p.allow_qos()) : " DenyQos=" + p.deny_qos()));
  record.line("AllocNodes=" + (p.submit_hosts().empty() ? std::string{"ALL"} : p.submit_hosts()) +
              " Default=" + yes_no(p.is_default()) + " QoS=" + (p.qos().empty() ? "N/A" : p.qos()));
  record.line(
      "DefaultTime=" + (p.default_time_minutes() == 0 ? std::string{"NONE"} : format_limit(p.default_time_minutes())) +
      " DisableRootJobs=" + yes_no(p.disable_root_jobs()) + " Exclusive=" + (p.exclusive_user() ? "USER" : "NO") +
      " GraceTime=" + text(p.grace_seconds()) + " Hidden=" + yes_no(p.hidden()));
  record.line("MaxNodes=" + limit(p.max_nodes()) + " MaxTime=" + format_limit(p.max_time_minutes()) +
              " MinNodes=" + text(p.min_nodes()) + " LLN=" + yes_no(p.least_loaded()) + " MaxCPUsPerNode=" +
              (p.has_max_cpus_per_node() ? text(p.max_cpus_per_node()) : "UNLIMITED") + " MaxCPUsPerSocket=UNLIMITED");
  record.line("Nodes=" + null(p.nodes()));
  record.line("PriorityJobFactor=" + text(p.priority_job_factor()) + " PriorityTier=" + text(p.priority_tier()) +
              " RootOnly=" + yes_no(p.root_only()) + " ReqResv=" + yes_no(p.require_reservation()) + " OverSubscribe=" +
              (p.exclusive()         ? "EXCLUSIVE"
               : p.sharing().empty() ? "NO"
                                     : p.sharing()));
  const std::string over = !p.has_over_time_minutes()            ? "NONE"
                           : p.over_time_minutes() == 0xffffffff ? "UNLIMITED"
                                                                 : text(p.over_time_minutes());
  record.line("OverTimeLimit=" + over + " PreemptMode=" + (p.preempt_mode().empty() ? "OFF" : p.preempt_mode()));
  record.line("State=" + std::string{partition_state(p)} + " TotalCPUs=" + text(p.cpu_count()) +
              " TotalNodes=" + text(p.node_count()) + " SelectTypeParameters=NONE");
  record.line("JobDefaults=" + (p.job_defaults().empty() ? std::string{"(null)"} : p.job_defaults()));
  record.line(memory_limits(p));
  record.line("TRES=" + tres_text(p.cpu_count(), p.memory_mib(), p.node_count(), p.gres_tres()));
  if (!p.billing_weights().empty()) record.line("TRESBillingWeights=" + p.billing_weights());
  return record.finish();
}

std::string show_configuration(const wire::Config& config) {
  std::string out = "Configuration data as of " + format_time(config.now_us(), "Unknown") + '\n';
  for (const auto& entry : config.entries()) {
    out += entry.key();
    if (entry.key().size() < 23) out.append(23 - entry.key().size(), ' ');
    out += " = " + entry.value() + '\n';
  }
  return out + '\n';
}

}  // namespace millrace
