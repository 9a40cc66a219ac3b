// src/cli/fronts/pbs_lists.cpp - see pbs_lists.h.
#include "cli/fronts/pbs_lists.h"

#include <cstdarg>
#include <cstdio>
#include <map>

#include "cli/render/job_words.h"
#include "cli/render/text_forms.h"

namespace millrace {
namespace {

[[gnu::format(printf, 1, 2)]] std::string printed(const char* format, ...) {
  char buffer[1024];
  va_list values;
  va_start(values, format);
  std::vsnprintf(buffer, sizeof buffer, format, values);
  va_end(values);
  return buffer;
}

std::string clock_text(std::int64_t seconds) {
  return printed("%02lld:%02lld:%02lld", static_cast<long long>(seconds / 3600), static_cast<long long>(seconds / 60 % 60), static_cast<long long>(seconds % 60));
}

std::string cut(const std::string& text, std::size_t width) { return text.size() <= width ? text : text.substr(0, width - 3) + "..."; }

void key(std::string& out, const char* name, const std::string& value) {
  if (!value.empty()) out += "    " + std::string{name} + " = " + value + '\n';
}

}  // namespace

char pbs_state(const wire::JobView& job) {
  if (job.completing()) return 'E';
  if (is_ended(job)) return 'C';
  if (job.state() == wire::SUSPENDED) return 'S';
  if (!is_pending(job)) return 'R';
  if (job.reason().find("Held") != std::string::npos || job.requeue_held()) return 'H';
  return job.reason() == "BeginTime" || job.reason() == "Dependency" ? 'W' : 'Q';
}

std::string pbs_node_state(const wire::NodeView& node) {
  if (node.base() == wire::NodeView::DOWN || node.not_responding()) return node.drain() ? "down,offline" : "down";
  if (node.drain() || node.fail()) return "offline";
  if (node.base() == wire::NodeView::ALLOCATED) return "job-exclusive";
  return "free";
}

std::string qstat_header() {
  return "Job id              Name             Username        Time Use S Queue          \n------------------- ---------------- --------------- -------- - ---------------\n";
}

std::string qstat_row(const wire::JobView& job, std::int64_t now_us, const std::string& user) {
  return printed("%-19s %-16s %-15s %8s %c %-15s\n", job_name_text(job, std::nullopt).c_str(), cut(job.name(), 16).c_str(), cut(user, 15).c_str(),
                 is_pending(job) ? "0" : clock_text(run_seconds(job, now_us)).c_str(), pbs_state(job), cut(job.partition(), 15).c_str());
}

std::string qstat_full(const wire::JobView& job, std::int64_t now_us, const std::string& user) {
  std::string out = "Job Id: " + job_name_text(job, std::nullopt) + '\n';
  key(out, "Job_Name", job.name());
  key(out, "Job_Owner", user + "@" + job.submit_host());
  if (!is_pending(job)) key(out, "resources_used.walltime", clock_text(run_seconds(job, now_us)));
  key(out, "job_state", std::string(1, pbs_state(job)));
  key(out, "queue", job.partition());
  key(out, "Account_Name", job.account());
  key(out, "comment", job.comment());
  key(out, "qtime", format_date_line(job.submit_at_us()));
  if (!is_pending(job)) key(out, "start_time", format_date_line(job.start_at_us()));
  if (is_ended(job)) key(out, "comp_time", format_date_line(job.end_at_us())), key(out, "exit_status", std::to_string(job.exit_signal() != 0 ? 256 + job.exit_signal() : job.exit_code()));
  key(out, "exec_host", job.nodes());
  key(out, "Priority", std::to_string(job.priority()));
  key(out, "Rerunable", job.requeue() ? "True" : "False");
  key(out, "Resource_List.nodes", std::to_string(job.node_count()));
  key(out, "Resource_List.ncpus", std::to_string(job.cpus()));
  if (job.time_limit_minutes() != UINT32_MAX) key(out, "Resource_List.walltime", clock_text(std::int64_t{job.time_limit_minutes()} * 60));
  key(out, "Output_Path", job.std_out());
  key(out, "Error_Path", job.std_err());
  key(out, "init_work_dir", job.work_dir());
  key(out, "depend", job.dependency());
  if (is_pending(job)) key(out, "comment", job.reason());
  return out + '\n';
}

std::string qstat_queues(const wire::Partitions& partitions, const wire::Jobs& jobs) {
  struct Count {
    int total = 0, waiting = 0, running = 0;
  };
  std::map<std::string, Count> counts;
  for (const wire::JobView& job : jobs.jobs()) {
    if (is_ended(job)) continue;
    Count& count = counts[job.partition()];
    ++count.total;
    ++(is_pending(job) ? count.waiting : count.running);
  }
  std::string out = "Queue              Max    Tot   Ena   Str   Que   Run\n----------------   ---    ---   ---   ---   ---   ---\n";
  for (const wire::PartitionView& each : partitions.partitions()) {
    const Count& count = counts[each.name()];
    const bool up = each.availability() == wire::PartitionView::UP;
    out += printed("%-16s %5s %6d %5s %5s %5d %5d\n", cut(each.name(), 16).c_str(), "--", count.total, each.availability() == wire::PartitionView::INACTIVE ? "no" : "yes", up ? "yes" : "no", count.waiting,
                   count.running);
  }
  return out;
}

std::string pbsnodes_record(const wire::NodeView& node) {
  std::string out = node.name() + '\n';
  key(out, "state", pbs_node_state(node));
  key(out, "np", std::to_string(node.cpus()));
  key(out, "properties", node.features());
  key(out, "ntype", "cluster");
  key(out, "resources_available.mem", std::to_string(node.memory_mib()) + "mb");
  key(out, "resources_assigned.ncpus", std::to_string(node.allocated_cpus()));
  key(out, "resources_assigned.mem", std::to_string(node.allocated_memory_mib()) + "mb");
  key(out, "gres", node.gres());
  key(out, "note", node.reason());
  return out + '\n';
}

}  // namespace millrace
