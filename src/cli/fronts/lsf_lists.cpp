// src/cli/fronts/lsf_lists.cpp - see lsf_lists.h.
#include "cli/fronts/lsf_lists.h"

#include <ctime>

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
std::string cell(const std::string& text, std::size_t width, bool wide) {
  std::string out = wide || text.size() <= width ? text : "*" + text.substr(text.size() - (width - 1));
  if (out.size() < width) out.resize(width, ' ');
  return out + ' ';
}

}  // namespace

std::string_view lsf_state(const wire::JobView& job) {
  if (job.state() == wire::SUSPENDED) return "SSUSP";
  if (is_pending(job)) return job.reason().find("Held") != std::string::npos || job.requeue_held() ? "PSUSP" : "PEND";
  if (!is_ended(job)) return "RUN";
  return job.state() == wire::COMPLETED ? "DONE" : "EXIT";
}

std::string bjobs_header() { return "JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME\n"; }

std::string bjobs_row(const wire::JobView& job, const std::string& user, bool wide) {
  return cell(job_name_text(job, std::nullopt), 7, true) + cell(user, 7, wide) + cell(std::string{lsf_state(job)}, 5, true) + cell(job.partition(), 10, wide) + cell(job.submit_host(), 11, wide) +
         cell(job.nodes().empty() ? "-" : job.nodes(), 11, wide) + cell(job.name(), 10, wide) + month_time(job.submit_at_us()) + '\n';
}

std::string bjobs_long(const wire::JobView& job, const std::string& user) {
  std::string out = "\nJob <" + job_name_text(job, std::nullopt) + ">, Job Name <" + job.name() + ">, User <" + user + ">, Project <" + (job.account().empty() ? "default" : job.account()) + ">, Status <" +
                    std::string{lsf_state(job)} + ">, Queue <" + job.partition() + ">, Command <" + (job.command().empty() ? job.name() : job.command()) + ">\n";
  out += month_time(job.submit_at_us()) + ": Submitted from host <" + job.submit_host() + ">, CWD <" + job.work_dir() + ">, Output File <" + job.std_out() + ">, " + std::to_string(job.tasks()) + " Task(s);\n";
  if (is_pending(job)) return out + " PENDING REASONS:\n " + job.reason() + ";\n";
  out += month_time(job.start_at_us()) + ": Started " + std::to_string(job.node_count()) + " Host(s) <" + job.nodes() + ">;\n";
  if (is_ended(job)) out += month_time(job.end_at_us()) + (job.state() == wire::COMPLETED ? ": Done successfully.\n" : ": Exited with exit code " + std::to_string(job.exit_code()) + ".\n");
  return out;
}

}  // namespace millrace
