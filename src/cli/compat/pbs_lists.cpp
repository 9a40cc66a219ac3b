// src/cli/compat/pbs_lists.cpp - see pbs_lists.h.
#include "cli/compat/pbs_lists.h"

#include <cstdarg>
#include <cstdio>
#include <map>

#include "base/hostlist.h"
#include "base/index_set.h"
#include "base/shown_text.h"
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
  return printed("%02lld:%02lld:%02lld", static_cast<long long>(seconds / 3600),
                 static_cast<long long>(seconds / 60 % 60), static_cast<long long>(seconds % 60));
}

std::string cut(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

void key(std::string& out, std::string_view name, const std::string& value) {
  if (!value.empty()) out += "    " + std::string{name} + " = " + value + '\n';
}

std::string short_clock(std::int64_t seconds) {
  return printed("%02lld:%02lld", static_cast<long long>(seconds / 3600), static_cast<long long>(seconds / 60 % 60));
}

std::string memory_text(std::uint64_t mib) {
  if (mib == 0) return "--";
  return mib % 1024 == 0 ? std::to_string(mib / 1024) + "gb" : std::to_string(mib) + "mb";
}

// n1/0*4+n2/0*4
std::string exec_host(const wire::JobView& job) {
  const auto hosts = expand_hostlist(job.nodes());
  std::string out;
  for (std::size_t i = 0; hosts && !job.nodes().empty() && i < hosts->size(); ++i) {
    const int place = static_cast<int>(i);
    const std::uint32_t cpus = place < job.cpus_per_allocated_node_size() ? job.cpus_per_allocated_node(place) : 1;
    out += (out.empty() ? "" : "+") + (*hosts)[i] + "/0" + (cpus > 1 ? '*' + std::to_string(cpus) : "");
  }
  return out;
}

std::string comment_text(const wire::JobView& job) {
  if (!job.comment().empty()) return job.comment();
  if (is_pending(job)) return "Not Running: " + job.reason();
  return "Job run at " + format_date_line(job.start_at_us());
}

struct Count {
  int total = 0, waiting = 0, running = 0, held = 0, later = 0, exiting = 0;
};
// Jobs that have ended are not in the queue any more.
std::map<std::string, Count> counts_of(const wire::Jobs& jobs, Count& all) {
  std::map<std::string, Count> out;
  for (const wire::JobView& job : jobs.jobs()) {
    if (is_ended(job) && !job.completing()) continue;
    for (Count* count : {&out[job.partition()], &all}) {
      ++count->total;
      const char state = pbs_state(job);
      ++(state == 'Q'   ? count->waiting
         : state == 'H' ? count->held
         : state == 'W' ? count->later
         : state == 'E' ? count->exiting
                        : count->running);
    }
  }
  return out;
}

bool takes_jobs(const wire::PartitionView& queue) {
  return queue.availability() != wire::PartitionView::INACTIVE && queue.availability() != wire::PartitionView::DRAIN;
}
bool starts_jobs(const wire::PartitionView& queue) {
  return queue.availability() == wire::PartitionView::UP || queue.availability() == wire::PartitionView::DRAIN;
}

std::string state_counts(const Count& count) {
  return printed("Transit:0 Queued:%d Held:%d Waiting:%d Running:%d Exiting:%d Begun:0", count.waiting, count.held,
                 count.later, count.running, count.exiting);
}

}  // namespace

std::vector<PbsRow> pbs_rows(const std::vector<PbsRow>& jobs, bool tasks) {
  std::vector<PbsRow> out;
  std::map<std::uint32_t, std::size_t> arrays;  // where the row of each stands
  for (PbsRow row : jobs) {
    const wire::JobView& job = *row.job;
    if (job.array_job_id() == 0) {
      out.push_back(row);
    } else if (!tasks) {
      const auto [place, first] = arrays.emplace(job.array_job_id(), out.size());
      row.array = true;
      if (first) out.push_back(row);
      out[place->second].begun |= !is_pending(job);
    } else if (job.has_array_task()) {
      row.task = job.array_task();
      out.push_back(row);
    } else if (const auto set = parse_index_set(
                   std::string_view{job.array_tasks()}.substr(0, job.array_tasks().find('%')), UINT32_MAX)) {
      set->for_each([&](std::uint32_t task) {
        row.task = task;
        out.push_back(row);
      });
    }
  }
  return out;
}

std::string pbs_number(const PbsRow& row) {
  const std::uint32_t id = row.job->array_job_id() != 0 ? row.job->array_job_id() : row.job->job_id();
  return std::to_string(id) + (row.array ? "[]" : row.task ? '[' + std::to_string(*row.task) + ']' : "");
}

// An array some of whose tasks have begun has a state of its own.
static char state_of(const PbsRow& row) { return row.array && row.begun ? 'B' : pbs_state(*row.job); }

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
  return "Job id              Name             Username        Time Use S Queue          \n------------------- "
         "---------------- --------------- -------- - ---------------\n";
}

std::string qstat_row(const PbsRow& row) {
  const wire::JobView& job = *row.job;
  return printed("%-19s %-16s %-15s %8s %c %-15s\n", cut(pbs_number(row), 19).c_str(),
                 cut(shown_text(job.name()), 16).c_str(), cut(row.user, 15).c_str(),
                 is_pending(job) ? "0" : clock_text(run_seconds(job, row.now_us)).c_str(), state_of(row),
                 cut(job.partition(), 15).c_str());
}

PbsKeys qstat_keys(const PbsRow& row) {
  const wire::JobView& job = *row.job;
  const bool started = !is_pending(job);
  PbsKeys out;
  const auto add = [&](std::string_view name, std::string value) {
    if (!value.empty()) out.emplace_back(name, shown_text(value));
  };
  add("Job_Name", job.name());
  add("Job_Owner", row.user + "@" + job.submit_host());
  if (started) add("resources_used.walltime", clock_text(run_seconds(job, row.now_us)));
  add("job_state", std::string(1, state_of(row)));
  add("queue", job.partition());
  add("Account_Name", job.account());
  add("qtime", format_date_line(job.submit_at_us()));
  if (started) add("start_time", format_date_line(job.start_at_us()));
  if (is_ended(job))
    add("comp_time", format_date_line(job.end_at_us())),
        add("exit_status", std::to_string(job.exit_signal() != 0 ? 256 + job.exit_signal() : job.exit_code()));
  add("exec_host", exec_host(job));
  add("Priority", std::to_string(job.priority()));
  add("Rerunable", job.requeue() ? "True" : "False");
  if (job.requested_memory_mib() != 0) add("Resource_List.mem", memory_text(job.requested_memory_mib()));
  add("Resource_List.nodes", std::to_string(job.node_count()));
  add("Resource_List.ncpus", std::to_string(job.cpus()));
  if (job.time_limit_minutes() != UINT32_MAX)
    add("Resource_List.walltime", clock_text(std::int64_t{job.time_limit_minutes()} * 60));
  add("Output_Path", job.std_out());
  add("Error_Path", job.std_err());
  add("init_work_dir", job.work_dir());
  add("depend", job.dependency());
  add("comment", comment_text(job));
  return out;
}

// -1: a line each for programs that read it; a tab is what PBS writes there before the next key.
std::string qstat_full(const PbsRow& row, bool one_line) {
  std::string out = "Job Id: " + pbs_number(row) + '\n';
  for (const auto& [name, value] : qstat_keys(row)) key(out, name, value);
  if (one_line)
    for (std::size_t at = 0; (at = out.find("\n    ", at)) != std::string::npos;) out.replace(at, 5, "\t");
  return out + '\n';
}

Data qstat_data(const PbsRow& row) {
  Data out{DataMap{}};
  for (const auto& [name, value] : qstat_keys(row)) {
    std::string path{name};
    for (char& c : path)
      if (c == '.') c = '/';
    out.at_path(path) = value;
  }
  return out;
}

std::string qstat_other_header(std::string_view server) {
  return "\n" + std::string{server} +
         ": \n                                                            Req'd  Req'd   Elap\n"
         "Job ID          Username Queue    Jobname    SessID NDS TSK Memory Time  S Time\n"
         "--------------- -------- -------- ---------- ------ --- --- ------ ----- - -----\n";
}

std::string qstat_other_row(const PbsRow& row, PbsExtras extras) {
  const wire::JobView& job = *row.job;
  const std::string limit =
      job.time_limit_minutes() == UINT32_MAX ? "--" : short_clock(std::int64_t{job.time_limit_minutes()} * 60);
  const std::string used = is_pending(job) ? "--" : short_clock(run_seconds(job, row.now_us));
  std::string out = printed("%-15.15s %-8.8s %-8.8s %-10.10s %6s %3u %3u %6s %5s %c %5s", pbs_number(row).c_str(),
                            row.user.c_str(), job.partition().c_str(), shown_text(job.name()).c_str(),
                            job.submit_sid() == 0 || is_pending(job) ? "--" : std::to_string(job.submit_sid()).c_str(),
                            job.node_count(), job.cpus(), memory_text(job.requested_memory_mib()).c_str(),
                            limit.c_str(), state_of(row), used.c_str());
  const std::string before = extras.one_line ? " " : "\n   ";
  if (extras.nodes) out += before + (job.nodes().empty() ? "--" : exec_host(job));
  if (extras.comments) out += before + comment_text(job);
  return out + '\n';
}

std::string qstat_queues(const wire::Partitions& partitions, const wire::Jobs& jobs) {
  Count all;
  auto counts = counts_of(jobs, all);
  std::string out =
      "Queue              Max   Tot Ena Str   Que   Run   Hld   Wat   Trn   Ext Type\n---------------- ----- ----- --- "
      "--- ----- ----- ----- ----- ----- ----- ----\n";
  for (const wire::PartitionView& each : partitions.partitions()) {
    const Count& count = counts[each.name()];
    out += printed("%-16s %5d %5d %3s %3s %5d %5d %5d %5d %5d %5d Exec\n", cut(each.name(), 16).c_str(), 0, count.total,
                   takes_jobs(each) ? "yes" : "no", starts_jobs(each) ? "yes" : "no", count.waiting, count.running,
                   count.held, count.later, 0, count.exiting);
  }
  return out;
}

std::string qstat_queues_full(const wire::Partitions& partitions, const wire::Jobs& jobs) {
  Count all;
  auto counts = counts_of(jobs, all);
  std::string out;
  for (const wire::PartitionView& each : partitions.partitions()) {
    const Count& count = counts[each.name()];
    out += "Queue: " + each.name() + '\n';
    key(out, "queue_type", "Execution");
    key(out, "total_jobs", std::to_string(count.total));
    key(out, "state_count", state_counts(count));
    if (each.max_time_minutes() != UINT32_MAX)
      key(out, "resources_max.walltime", clock_text(std::int64_t{each.max_time_minutes()} * 60));
    if (each.max_nodes() != UINT32_MAX) key(out, "resources_max.nodect", std::to_string(each.max_nodes()));
    if (each.default_time_minutes() != 0 && each.default_time_minutes() != UINT32_MAX)
      key(out, "resources_default.walltime", clock_text(std::int64_t{each.default_time_minutes()} * 60));
    key(out, "enabled", takes_jobs(each) ? "True" : "False");
    key(out, "started", starts_jobs(each) ? "True" : "False");
    out += '\n';
  }
  return out;
}

std::string qstat_limits(std::string_view server, const wire::Partitions& partitions, const wire::Jobs& jobs) {
  Count all;
  auto counts = counts_of(jobs, all);
  std::string out = "\nserver: " + std::string{server} +
                    "\n\nQueue            Memory CPU Time Walltime Node   Run   Que   Lm  State\n---------------- "
                    "------ -------- -------- ---- ----- ----- ----  -----\n";
  for (const wire::PartitionView& each : partitions.partitions()) {
    const Count& count = counts[each.name()];
    const std::string memory = each.has_max_memory_per_node_mib() && each.max_memory_per_node_mib() != 0
                                   ? memory_text(each.max_memory_per_node_mib())
                                   : "--  ";
    const std::string wall =
        each.max_time_minutes() != UINT32_MAX ? clock_text(std::int64_t{each.max_time_minutes()} * 60) : "--   ";
    const std::string nodes = each.max_nodes() != UINT32_MAX ? std::to_string(each.max_nodes()) : "-- ";
    out += printed("%-16s %6s %8s %8s %4s %5d %5d %4s   %c %c\n", cut(each.name(), 16).c_str(), memory.c_str(), "--   ",
                   wall.c_str(), nodes.c_str(), count.running + count.exiting, count.waiting + count.held + count.later,
                   "-- ", takes_jobs(each) ? 'E' : 'D', starts_jobs(each) ? 'R' : 'S');
  }
  return out + printed("%45s %5s %5s\n%45s %5d %5d\n", "", "-----", "-----", "", all.running + all.exiting,
                       all.waiting + all.held + all.later);
}

std::string qstat_server(std::string_view server, const wire::Jobs& jobs, bool full) {
  Count all;
  counts_of(jobs, all);
  if (full) {
    std::string out = "Server: " + std::string{server} + '\n';
    key(out, "server_state", "Active");
    key(out, "total_jobs", std::to_string(all.total));
    key(out, "state_count", state_counts(all));
    return out + '\n';
  }
  return "Server             Max   Tot   Que   Run   Hld   Wat   Trn   Ext Status\n---------------- ----- ----- ----- "
         "----- ----- ----- ----- ----- -----------\n" +
         printed("%-16s %5d %5d %5d %5d %5d %5d %5d %5d Active\n", cut(std::string{server}, 16).c_str(), 0, all.total,
                 all.waiting, all.running, all.held, all.later, 0, all.exiting);
}

std::string pbsnodes_line(const wire::NodeView& node, bool note) {
  return printed("%-20s %s%s%s\n", node.name().c_str(), pbs_node_state(node).c_str(),
                 note && !node.reason().empty() ? "    " : "", note ? node.reason().c_str() : "");
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
