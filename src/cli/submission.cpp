// src/cli/submission.cpp - see submission.h.
#include "cli/submission.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <set>

#include "cli/options/job_environment.h"
#include "cli/options/job_options.h"
#include "cli/options/resource_setters.h"
#include "cli/render/text_forms.h"

namespace millrace {
namespace {

struct LimitRow {
  const char* name;
  int resource;
};

constexpr LimitRow limits[] = {{"CPU", RLIMIT_CPU},         {"FSIZE", RLIMIT_FSIZE},   {"DATA", RLIMIT_DATA}, {"STACK", RLIMIT_STACK},
                               {"CORE", RLIMIT_CORE},       {"RSS", RLIMIT_RSS},       {"NPROC", RLIMIT_NPROC}, {"NOFILE", RLIMIT_NOFILE},
                               {"MEMLOCK", RLIMIT_MEMLOCK}, {"AS", RLIMIT_AS}};

// --mem, --mem-per-cpu and --mem-per-gpu on one command line contradict each other; from different layers the higher one wins.
Result<void> check_memory(const CommandLine<JobDraft>& line) {
  std::set<std::string_view> given;
  for (const JobOption* row : line.given)
    if (row->name == "mem" || row->name == "mem-per-cpu" || row->name == "mem-per-gpu") given.insert(row->name);
  if (given.size() > 1) return fail(Errc::refused, "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.");
  return {};
}

}  // namespace

Result<Submission> read_command_line(const Command& command, std::uint8_t tool) {
  Submission out;
  MR_TRY(auto line, apply_words(job_options(), tool, command.words, Operands::end_options, out.draft));
  MR_TRY_VOID(check_memory(line));
  out.operands = std::move(line.operands);
  return out;
}

Result<Submission> read_all_layers(const Command& command, std::uint8_t tool, const std::vector<std::string>& script_words) {
  Submission out;
  const std::vector<std::string_view> words(script_words.begin(), script_words.end());
  MR_TRY(const auto script, apply_words(job_options(), tool, words, Operands::end_options, out.draft));
  if (!script.operands.empty()) return fail(Errc::refused, "Invalid directive found in batch script: " + std::string{script.operands[0]});
  MR_TRY_VOID(apply_environment(job_options(), tool, out.draft));
  MR_TRY(auto line, apply_words(job_options(), tool, command.words, Operands::end_options, out.draft));
  MR_TRY_VOID(check_memory(line));
  MR_TRY_VOID(check_draft(out.draft));
  MR_TRY_VOID(resource::complete(out.draft));
  out.operands = std::move(line.operands);
  return out;
}

std::string current_directory() {
  char buffer[PATH_MAX];
  return getcwd(buffer, sizeof buffer) != nullptr ? buffer : "/";
}

void describe_submitter(const Command& command, JobDraft& draft) {
  wire::JobDescription& job = draft.job;
  const std::string here = current_directory();
  if (job.work_dir().empty()) job.set_work_dir(here);
  else if (job.work_dir()[0] != '/') job.set_work_dir(here + '/' + job.work_dir());
  job.set_submit_line(command.submit_line);
  job.set_submit_host(own_host_name());
  job.set_submit_sid(static_cast<std::uint32_t>(getsid(0)));
  const mode_t mask = umask(0);
  umask(mask);
  job.set_umask(mask);
  for (const LimitRow& row : limits) {
    rlimit value{};
    if (getrlimit(static_cast<__rlimit_resource_t>(row.resource), &value) != 0) continue;
    auto* limit = job.add_limits();
    limit->set_name(row.name);
    limit->set_soft(value.rlim_cur);
  }
}

std::string job_environment(const JobDraft& draft) {
  std::string packed = pack_environment(environ, draft.export_list);
  // Only the submitting side knows where it stood: --chdir changes the job's directory, not this one.
  set_variable(packed, "SLURM_SUBMIT_DIR", current_directory());
  set_variable(packed, "SLURM_SUBMIT_HOST", draft.job.submit_host());
  return packed;
}

std::string test_only_text(const wire::Submitted& submitted) {
  return "Job " + std::to_string(submitted.job_id()) + " to start at " + format_time(submitted.test_start_at_us(), "Unknown") + " a using " +
         std::to_string(submitted.test_cpus()) + " processors on nodes " + submitted.test_nodes() + " in partition " + submitted.test_partition();
}

}  // namespace millrace
