// src/cli/compat/lsf_lists.cpp - see lsf_lists.h.
#include "cli/compat/lsf_lists.h"

#include <algorithm>
#include <ctime>
#include <map>

#include "base/hostlist.h"
#include "base/index_set.h"
#include "base/shown_text.h"
#include "base/text.h"
#include "cli/render/data_text.h"
#include "cli/render/job_words.h"
#include "cli/render/text_forms.h"

namespace millrace {
namespace {

std::string month_time(std::int64_t microseconds) {
  const std::time_t seconds = microseconds / 1'000'000;
  std::tm local{};
  char text[32];
  std::strftime(text, sizeof text, "%b %e %H:%M", localtime_r(&seconds, &local));
  return text;
}

// LSF cuts from the left, where names of hosts and jobs say least.
std::string cell(const std::string& text, std::size_t width, bool wide, bool right = false) {
  std::string out = wide || text.size() <= width ? text : "*" + text.substr(text.size() - (width - 1));
  if (out.size() < width) out.insert(right ? 0 : out.size(), width - out.size(), ' ');
  return out + ' ';
}

std::string dec(std::int64_t number) { return std::to_string(number); }

std::uint32_t array_or_job(const wire::JobView& job) {
  return job.array_job_id() != 0 ? job.array_job_id() : job.job_id();
}

// 2*n1:2*n2, as LSF has it: how many slots, and where.
std::string exec_host(const wire::JobView& job) {
  const auto hosts = expand_hostlist(job.nodes());
  if (job.nodes().empty() || !hosts) return "-";
  std::string out;
  for (std::size_t i = 0; i < hosts->size(); ++i) {
    const std::uint32_t cpus =
        static_cast<int>(i) < job.cpus_per_allocated_node_size() ? job.cpus_per_allocated_node(static_cast<int>(i)) : 1;
    out += (out.empty() ? "" : ":") + (cpus > 1 ? dec(cpus) + "*" : "") + (*hosts)[i];
  }
  return out;
}

std::string first_host(const wire::JobView& job) {
  const auto hosts = expand_hostlist(job.nodes());
  return hosts && !hosts->empty() ? hosts->front() : "-";
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string if_started(const LsfRow& row, std::int64_t at_us) {
  return is_pending(*row.job) || at_us == 0 ? "-" : month_time(at_us);
}

std::string time_left(const LsfRow& row) {
  const wire::JobView& job = *row.job;
  if (is_pending(job) || is_ended(job) || job.time_limit_minutes() == UINT32_MAX) return "-";
  const std::int64_t minutes = std::max<std::int64_t>(0, job.time_limit_minutes() - run_seconds(job, row.now_us) / 60);
  return dec(minutes / 60) + ":" + dec(minutes % 60) + " L";
}

// clang-format off
constexpr LsfField fields[] = {
    {"jobid", 7, [](const LsfRow& r) { return dec(array_or_job(*r.job)); }},
    {"jobindex", 8, [](const LsfRow& r) { return r.task ? dec(*r.task) : std::string{"0"}; }},
    {"stat", 5, [](const LsfRow& r) { return std::string{lsf_state(*r.job)}; }},
    {"user", 7, [](const LsfRow& r) { return r.user; }},
    {"queue", 10, [](const LsfRow& r) { return r.job->partition(); }},
    {"job_name", 10, lsf_job_name},
    {"job_description", 17, [](const LsfRow& r) { return or_dash(r.job->comment()); }},
    {"job_priority", 12, [](const LsfRow& r) { return dec(r.job->priority()); }},
    {"proj_name", 11, [](const LsfRow& r) { return r.job->account().empty() ? "default" : r.job->account(); }},
    {"dependency", 15, [](const LsfRow& r) { return or_dash(r.job->dependency()); }},
    {"command", 15, [](const LsfRow& r) { return r.job->command().empty() ? r.job->name() : r.job->command(); }},
    {"exit_code", 10, [](const LsfRow& r) { return !is_ended(*r.job) ? "-" : dec(r.job->exit_signal() != 0 ? 128 + r.job->exit_signal() : r.job->exit_code()); }},
    {"exit_reason", 50, [](const LsfRow& r) { return lsf_state(*r.job) == "EXIT" ? std::string{state_word(*r.job)} : "-"; }},
    {"pend_reason", 11, [](const LsfRow& r) { return is_pending(*r.job) ? r.job->reason() : "-"; }},
    {"from_host", 11, [](const LsfRow& r) { return r.job->submit_host(); }},
    {"first_host", 11, [](const LsfRow& r) { return first_host(*r.job); }},
    {"exec_host", 11, [](const LsfRow& r) { return exec_host(*r.job); }},
    {"nexec_host", 10, [](const LsfRow& r) { return r.job->nodes().empty() ? "-" : dec(r.job->node_count()); }},
    {"nalloc_slot", 11, [](const LsfRow& r) { return is_pending(*r.job) ? "-" : dec(r.job->cpus()); }},
    {"nreq_slot", 10, [](const LsfRow& r) { return dec(r.job->tasks()); }},
    {"slots", 5, [](const LsfRow& r) { return is_pending(*r.job) ? "-" : dec(r.job->cpus()); }},
    {"submit_time", 15, [](const LsfRow& r) { return month_time(r.job->submit_at_us()); }},
    {"start_time", 15, [](const LsfRow& r) { return if_started(r, r.job->start_at_us()); }},
    {"finish_time", 16, [](const LsfRow& r) { return if_started(r, r.job->end_at_us()) + (is_pending(*r.job) || is_ended(*r.job) ? "" : " L"); }},
    {"run_time", 15, [](const LsfRow& r) { return dec(is_pending(*r.job) ? 0 : run_seconds(*r.job, r.now_us)) + " second(s)"; }},
    {"pend_time", 12, [](const LsfRow& r) { return dec(((is_pending(*r.job) ? r.now_us : r.job->start_at_us()) - r.job->submit_at_us()) / 1'000'000); }},
    {"time_left", 11, time_left},
    {"runtimelimit", 12, [](const LsfRow& r) { return r.job->time_limit_minutes() == UINT32_MAX ? "-" : dec(r.job->time_limit_minutes()) + ".0/" + or_dash(r.job->submit_host()); }},
    {"memlimit", 10, [](const LsfRow& r) { return r.job->requested_memory_mib() == 0 ? "-" : dec(static_cast<std::int64_t>(r.job->requested_memory_mib())) + " M"; }},
    {"sub_cwd", 10, [](const LsfRow& r) { return r.job->work_dir(); }},
    {"exec_cwd", 10, [](const LsfRow& r) { return r.job->work_dir(); }},
    {"input_file", 10, [](const LsfRow& r) { return r.job->std_in(); }},
    {"output_file", 11, [](const LsfRow& r) { return r.job->std_out(); }},
    {"error_file", 10, [](const LsfRow& r) { return or_dash(r.job->std_err()); }},
};

constexpr std::pair<std::string_view, std::string_view> short_names[] = {
    {"id", "jobid"}, {"index", "jobindex"}, {"name", "job_name"}, {"description", "job_description"}, {"priority", "job_priority"}, {"proj", "proj_name"}, {"cmd", "command"}, {"fhost", "from_host"},
    {"nreq", "nreq_slot"}, {"ehost", "exec_host"}, {"nehost", "nexec_host"}, {"nslot", "nalloc_slot"},
};
// clang-format on

// LSF's own states, in the order its tables have them.
struct StateCounts {
  int jobs = 0;
  std::map<std::string_view, int> of;
};
void count(StateCounts& counts, const LsfRow& row) { ++counts.jobs, ++counts.of[lsf_state(*row.job)]; }

}  // namespace

std::vector<LsfRow> lsf_rows(const wire::JobView& job, const std::string& user, std::int64_t now_us) {
  std::vector<LsfRow> out;
  if (job.has_array_task()) return {{&job, job.array_task(), user, now_us}};
  const std::string_view tasks = std::string_view{job.array_tasks()}.substr(0, job.array_tasks().find('%'));
  if (job.array_job_id() != 0)
    if (const auto set = parse_index_set(tasks, UINT32_MAX))
      set->for_each([&](std::uint32_t task) { out.push_back({&job, task, user, now_us}); });
  if (out.empty()) out.push_back({&job, {}, user, now_us});
  return out;
}

std::string_view lsf_state(const wire::JobView& job) {
  if (job.state() == wire::SUSPENDED) return "SSUSP";
  if (is_pending(job)) return job.reason().find("Held") != std::string::npos || job.requeue_held() ? "PSUSP" : "PEND";
  if (!is_ended(job)) return "RUN";
  return job.state() == wire::COMPLETED ? "DONE" : "EXIT";
}

std::string lsf_number(const LsfRow& row) {
  return dec(array_or_job(*row.job)) + (row.task ? '[' + dec(*row.task) + ']' : "");
}
std::string lsf_job_name(const LsfRow& row) {
  return shown_text(row.job->name()) + (row.task ? '[' + dec(*row.task) + ']' : "");
}

std::string bjobs_header() {
  return "JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME\n";
}

std::string bjobs_row(const LsfRow& row, bool wide) {
  const wire::JobView& job = *row.job;
  return cell(dec(array_or_job(job)), 7, true) + cell(row.user, 7, wide) + cell(std::string{lsf_state(job)}, 5, true) +
         cell(job.partition(), 10, wide) + cell(job.submit_host(), 11, wide) + cell(exec_host(job), 11, wide) +
         cell(lsf_job_name(row), 10, wide) + month_time(job.submit_at_us()) + '\n';
}

std::string bjobs_long(const LsfRow& row) {
  const wire::JobView& job = *row.job;
  std::string out = "\nJob <" + lsf_number(row) + ">, Job Name <" + lsf_job_name(row) + ">, User <" + row.user +
                    ">, Project <" + (job.account().empty() ? "default" : job.account()) + ">, Status <" +
                    std::string{lsf_state(job)} + ">, Queue <" + job.partition() + ">, Command <" +
                    shown_text(job.command().empty() ? job.name() : job.command()) + ">\n";
  out += month_time(job.submit_at_us()) + ": Submitted from host <" + job.submit_host() + ">, CWD <" +
         shown_text(job.work_dir()) + ">, Output File <" + shown_text(job.std_out()) + ">, " + dec(job.tasks()) +
         " Task(s);\n";
  if (is_pending(job)) return out + " PENDING REASONS:\n " + job.reason() + ";\n";
  out += month_time(job.start_at_us()) + ": Started " + dec(job.node_count()) + " Host(s) <" + job.nodes() + ">;\n";
  if (is_ended(job))
    out += month_time(job.end_at_us()) + (job.state() == wire::COMPLETED
                                              ? ": Done successfully.\n"
                                              : ": Exited with exit code " + dec(job.exit_code()) + ".\n");
  return out;
}

std::string bjobs_counts(std::span<const LsfRow> rows) {
  StateCounts counts;
  for (const LsfRow& row : rows) count(counts, row);
  std::string head, line;
  for (const std::string_view state : {"RUN", "SSUSP", "USUSP", "UNKNOWN", "PEND", "FWD_PEND"}) {
    head += cell(std::string{state}, 12, true);
    line += cell(dec(state == "PEND" ? counts.of["PEND"] + counts.of["PSUSP"] : counts.of[state]), 12, true);
  }
  return head + '\n' + line + '\n';
}

std::string bjobs_arrays(std::span<const LsfRow> rows) {
  std::map<std::uint32_t, StateCounts> arrays;
  std::map<std::uint32_t, const LsfRow*> first;
  for (const LsfRow& row : rows) {
    if (!row.task) continue;
    count(arrays[row.job->array_job_id()], row);
    first.emplace(row.job->array_job_id(), &row);
  }
  std::string out = "JOBID    ARRAY_SPEC  OWNER   NJOBS PEND DONE  RUN EXIT SSUSP USUSP PSUSP\n";
  if (arrays.empty()) return "";
  for (auto& [id, counts] : arrays) {
    const LsfRow& row = *first[id];
    out += cell(dec(id), 8, true) + cell(row.job->name(), 11, false) + cell(row.user, 7, false) +
           cell(dec(counts.jobs), 5, true, true);
    for (const std::string_view state : {"PEND", "DONE", "RUN", "EXIT", "SSUSP", "USUSP", "PSUSP"})
      out += cell(dec(counts.of[state]), state.size() > 4 ? 5 : 4, true, true);
    out.back() = '\n';
  }
  return out;
}

std::span<const LsfField> lsf_fields() { return fields; }

Result<LsfFormat> parse_lsf_format(std::string_view text) {
  LsfFormat out;
  if (const std::size_t at = text.find("delimiter="); at != std::string_view::npos) {
    std::string_view value = text.substr(at + 10);
    const char quote = value.empty() ? '\0' : value.front();
    const bool quoted = quote == '\'' || quote == '"';
    const std::size_t end = quoted ? value.find(quote, 1) : value.find(' ');
    out.delimiter = quoted ? value.substr(1, end == std::string_view::npos ? end : end - 1) : value.substr(0, end);
    if (out.delimiter.empty()) return fail(Errc::refused, "-o: after delimiter= comes what stands between the fields");
    text = text.substr(0, at);
  }
  for (const std::string_view word : split(text, ' ')) {
    if (trim(word).empty()) continue;
    const std::size_t colon = word.find(':');
    std::string_view name = trim(word).substr(0, colon);
    for (const auto& [shorter, full] : short_names)
      if (name == shorter) name = full;
    const auto field = std::ranges::find(fields, name, &LsfField::name);
    if (field == std::end(fields)) {
      std::string known;
      for (const LsfField& each : fields) known += ' ' + std::string{each.name};
      return fail(Errc::refused, "-o " + std::string{name} + ": this field is not known; these are:" + known);
    }
    const std::string_view width = colon == std::string_view::npos ? std::string_view{} : word.substr(colon + 1);
    const auto number = width == "-"    ? std::optional<std::int64_t>{-field->width}
                        : width.empty() ? std::optional<std::int64_t>{field->width}
                                        : parse_integer(width);
    if (!number || *number == 0 || *number > 4096 || *number < -4096)
      return fail(Errc::refused, "-o " + std::string{word} + ": a width stands after the colon");
    out.columns.push_back({&*field, static_cast<int>(*number)});
  }
  if (out.columns.empty()) return fail(Errc::refused, "-o: names of fields would be right");
  return out;
}

std::string render_lsf(const LsfFormat& format, std::span<const LsfRow> rows, bool header) {
  std::string out;
  const auto add_line = [&](const auto& text_of) {
    std::string line;
    for (const LsfColumn& column : format.columns) {
      const std::string text = shown_text(text_of(*column.field));
      if (format.delimiter.empty())
        line += cell(text, static_cast<std::size_t>(std::abs(column.width)), false, column.width < 0);
      else
        line += (&column == &format.columns.front() ? "" : format.delimiter) + text;
    }
    out += line + '\n';
  };
  if (header) add_line([](const LsfField& field) { return upper_case(field.name); });
  for (const LsfRow& row : rows) add_line([&](const LsfField& field) { return field.value(row); });
  return out;
}

std::string render_lsf_json(const LsfFormat& format, std::span<const LsfRow> rows) {
  DataList records;
  for (const LsfRow& row : rows) {
    DataMap record;
    for (const LsfColumn& column : format.columns)
      record.emplace_back(upper_case(column.field->name), column.field->value(row));
    records.emplace_back(std::move(record));
  }
  return to_json(
      DataMap{{"COMMAND", "bjobs"}, {"JOBS", static_cast<std::int64_t>(rows.size())}, {"RECORDS", std::move(records)}});
}

}  // namespace millrace
