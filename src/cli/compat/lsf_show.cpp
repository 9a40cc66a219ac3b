// src/cli/compat/lsf_show.cpp - bjobs: LSF's list of jobs.
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/compat/compat.h"
#include "cli/compat/lsf_lists.h"
#include "cli/options/option.h"
#include "cli/render/job_words.h"
#include "cli/render/text_forms.h"

namespace millrace {
namespace {

using Text = std::string_view;
using enum ArgKind;

constexpr ManualHead bjobs_head{"bjobs", "list jobs, as LSF has it",
                                "[-a|-r|-p|-d|-s] [-u user|all] [-q queue] [-m host] [-J name] [-P project] [-l|-o "
                                "fields [-json]|-A|-sum] [job...]",
                                "Lists your jobs that have not ended; -a also those that have, -u all those of "
                                "everybody. Tasks of an array have a row each, with their number behind the name."};

struct JobsDraft {
  Asked asked;
  bool all = false, running = false, pending = false, done = false, suspended = false;
  bool long_form = false, wide = false, no_header = false, arrays = false, sum = false, json = false;
  std::string user, queue, host, name, project;
  std::optional<LsfFormat> format;
};

template <bool JobsDraft::* member>
Result<void> on(JobsDraft& draft, Text) {
  draft.*member = true;
  return {};
}
template <std::string JobsDraft::* member>
Result<void> keep(JobsDraft& draft, Text value) {
  draft.*member = value;
  return {};
}

// clang-format off
constexpr Option<JobsDraft> jobs_rows[] = {
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](JobsDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](JobsDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"all", 'a', none, "", any_tool, "", "", "also jobs that have ended", on<&JobsDraft::all>},
    {"arrays", 'A', none, "", any_tool, "", "", "arrays, a line each", on<&JobsDraft::arrays>},
    {"done", 'd', none, "", any_tool, "", "", "only jobs that have ended", on<&JobsDraft::done>},
    {"host", 'm', required, "<host>", any_tool, "", "", "jobs on this node", keep<&JobsDraft::host>},
    {"json", '\0', none, "", any_tool, "", "", "with -o: as JSON", on<&JobsDraft::json>},
    {"long", 'l', none, "", any_tool, "", "", "everything about each job", on<&JobsDraft::long_form>},
    {"name", 'J', required, "<name>", any_tool, "", "", "jobs of this name, which may have *", keep<&JobsDraft::name>},
    {"noheader", '\0', none, "", any_tool, "", "", "no header", on<&JobsDraft::no_header>},
    {"output", 'o', required, "<fields>", any_tool, "", "", "these fields: \"jobid:8 stat queue delimiter=','\"", [](JobsDraft& d, Text v) -> Result<void> { MR_TRY(d.format, parse_lsf_format(v)); return {}; }},
    {"pending", 'p', none, "", any_tool, "", "", "only jobs that wait", on<&JobsDraft::pending>},
    {"project", 'P', required, "<project>", any_tool, "", "", "jobs of this account", keep<&JobsDraft::project>},
    {"queue", 'q', required, "<queue>", any_tool, "", "", "jobs of this queue", keep<&JobsDraft::queue>},
    {"running", 'r', none, "", any_tool, "", "", "only jobs that run", on<&JobsDraft::running>},
    {"sum", '\0', none, "", any_tool, "", "", "only how many jobs are in which state", on<&JobsDraft::sum>},
    {"suspended", 's', none, "", any_tool, "", "", "only jobs that are suspended or held", on<&JobsDraft::suspended>},
    {"user", 'u', required, "<user>", any_tool, "", "", "jobs of this user, or all", keep<&JobsDraft::user>},
    {"wide", 'w', none, "", any_tool, "", "", "names are not cut", on<&JobsDraft::wide>},
    {"X", 'X', none, "", any_tool, "", "", "hosts are not shortened", nullptr, Effect::refused, "-o exec_host:80 shows as much of them as you like"},
    {"W", 'W', none, "", any_tool, "", "", "more columns", nullptr, Effect::refused, "-o names the columns"},
    {"WL", '\0', none, "", any_tool, "", "", "time that is left", nullptr, Effect::refused, "-o time_left shows it"},
    {"WP", '\0', none, "", any_tool, "", "", "how far jobs are", nullptr, Effect::refused, "-o run_time and -o runtimelimit show it"},
    {"WF", '\0', none, "", any_tool, "", "", "when jobs end", nullptr, Effect::refused, "-o finish_time shows it"},
    {"UF", '\0', none, "", any_tool, "", "", "-l without broken lines", nullptr, Effect::refused, "-l breaks no lines"},
    {"aff", '\0', none, "", any_tool, "", "", "which processors", nullptr, Effect::refused, "scontrol -d show job shows them"},
    {"app", '\0', required, "<profile>", any_tool, "", "", "jobs of this application profile", nullptr, Effect::refused, "there are no application profiles"},
    {"g", 'g', required, "<group>", any_tool, "", "", "jobs of this group", nullptr, Effect::refused, "there are no groups of jobs"},
    {"G", 'G', required, "<group>", any_tool, "", "", "jobs of this group of users", nullptr, Effect::refused, "groups of users are accounts: -P"},
    {"gpu", '\0', none, "", any_tool, "", "", "which GPUs", nullptr, Effect::refused, "scontrol -d show job shows them"},
    {"hms", '\0', none, "", any_tool, "", "", "times as hours, minutes and seconds", nullptr, Effect::refused, "squeue shows them so"},
    {"script", '\0', none, "", any_tool, "", "", "the job's script", nullptr, Effect::refused, "scontrol write batch_script shows it"},
    {"sla", '\0', required, "<class>", any_tool, "", "", "jobs of this service class", nullptr, Effect::refused, "there are no service classes"},
    {"x", 'x', none, "", any_tool, "", "", "jobs with exceptions", nullptr, Effect::refused, "no exceptions are recorded"},
};
// clang-format on

bool is_shown(const wire::JobView& job, const JobsDraft& draft, bool named) {
  const bool suspended = lsf_state(job).ends_with("SUSP");
  if (draft.done || draft.running || draft.pending || draft.suspended)
    return (draft.done && is_ended(job)) || (draft.running && lsf_state(job) == "RUN") ||
           (draft.pending && is_pending(job)) || (draft.suspended && suspended);
  return draft.all || named || !is_ended(job);
}

bool is_on(const wire::JobView& job, const std::string& host) {
  const auto hosts = expand_hostlist(job.nodes());
  return hosts && std::ranges::find(*hosts, host) != hosts->end();
}

bool passes(const LsfRow& row, const JobsDraft& draft) {
  if (!draft.queue.empty() && draft.queue != row.job->partition()) return false;
  if (!draft.project.empty() && draft.project != row.job->account()) return false;
  if (!draft.host.empty() && !is_on(*row.job, draft.host)) return false;
  // name[3] is one task, name all of them; the brackets are not those of a pattern.
  const std::string name = draft.name.find('[') != std::string::npos ? lsf_job_name(row) : row.job->name();
  return draft.name.empty() || draft.name == name || fnmatch(draft.name.c_str(), name.c_str(), 0) == 0;
}

// LSF's words have one dash: -noheader, -sum.
std::vector<std::string> with_two_dashes(const std::vector<Text>& words) {
  std::vector<std::string> out;
  for (const Text word : words) {
    const bool is_word = word.size() > 2 && word.starts_with('-') &&
                         std::ranges::any_of(jobs_rows, [&](const auto& row) { return word.substr(1) == row.name; });
    out.push_back((is_word ? "-" : "") + std::string{word});
  }
  return out;
}

std::string rendered(const JobsDraft& draft, std::span<const LsfRow> rows) {
  if (draft.sum) return bjobs_counts(rows);
  if (draft.arrays) return bjobs_arrays(rows);
  if (draft.format)
    return draft.json ? render_lsf_json(*draft.format, rows) : render_lsf(*draft.format, rows, !draft.no_header);
  std::string out = draft.no_header || draft.long_form ? "" : bjobs_header();
  for (const LsfRow& row : rows) out += draft.long_form ? bjobs_long(row) : bjobs_row(row, draft.wide);
  return out;
}

}  // namespace

std::string bjobs_words() {
  return offered_words(option_texts(std::span<const Option<JobsDraft>>{jobs_rows}, any_tool));
}
std::string bjobs_manual() {
  return man_page(bjobs_head, option_texts(std::span<const Option<JobsDraft>>{jobs_rows}, any_tool));
}

int run_bjobs(Command& command) {
  JobsDraft draft;
  const std::span<const Option<JobsDraft>> table{jobs_rows};
  const std::vector<std::string> words = with_two_dashes(command.words);
  const auto line = apply_words(table, any_tool, std::vector<Text>{words.begin(), words.end()}, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, bjobs_head, option_texts(table, any_tool))) return 0;
  if (draft.json && !draft.format)
    return say_usage_error(command, {Errc::refused, "-json needs -o with the names of fields"});
  wire::Request request;
  request.mutable_query_jobs()->set_finished_too(true);
  request.mutable_query_jobs()->set_without_hidden(line->operands.empty());
  const auto reply = ask_controller(command, request);
  if (!reply) return 255;
  std::vector<ParsedJobName> wanted;
  for (const Text word : line->operands) {
    const auto job = parse_job_name(job_number(word));
    if (!job) return say_plain(told(job.error(), std::string{word} + ": Illegal job ID.")), 255;
    wanted.push_back(*job);
  }
  std::set<std::uint32_t> found;
  Names names;
  std::vector<LsfRow> rows;
  for (const wire::JobView& job : reply->jobs().jobs()) {
    const std::string& user = names.user(job.uid());
    for (const LsfRow& row : lsf_rows(job, user, reply->jobs().now_us())) {
      const auto is_wanted = [&](const ParsedJobName& each) {
        return (each.id == job.job_id() || each.id == job.array_job_id()) &&
               (each.tasks.empty() || (row.task && each.tasks == std::to_string(*row.task)));
      };
      const auto named = std::ranges::find_if(wanted, is_wanted);
      if (named != wanted.end())
        found.insert(named->id);
      else if (!wanted.empty())
        continue;
      if (draft.user.empty() && wanted.empty() && job.uid() != getuid()) continue;
      if (!draft.user.empty() && draft.user != "all" && draft.user != user) continue;
      if (is_shown(job, draft, named != wanted.end()) && passes(row, draft)) rows.push_back(row);
    }
  }
  int code = 0;
  for (const ParsedJobName& each : wanted)
    if (!found.contains(each.id)) say_plain("Job <" + std::to_string(each.id) + "> is not found"), code = 255;
  if (rows.empty() && code == 0 && !draft.sum && !draft.json)
    say_plain(draft.all || draft.done ? "No job found" : "No unfinished job found");
  if (!rows.empty() || draft.sum || draft.json) print(rendered(draft, rows));
  return code;
}

}  // namespace millrace
