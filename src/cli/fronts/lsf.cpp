// src/cli/fronts/lsf.cpp - bsub, bjobs, bkill, lsid: LSF's commands.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/fronts/fronts.h"
#include "cli/fronts/lsf_lists.h"
#include "cli/options/foreign_directives.h"
#include "cli/options/option.h"
#include "cli/render/job_words.h"
#include "cli/render/text_forms.h"
#include "cli/submission.h"
#include "cli/version.h"

namespace millrace {
namespace {

using Text = std::string_view;
using Words = std::vector<std::string>;
using enum ArgKind;

constexpr ManualHead bsub_head{"bsub", "submit a job, as LSF has it", "[-J name[tasks]] [-n tasks] [-q queue] [-W time] [-o file] [-e file] [-R requirements] [-w condition] [command [arguments]]",
                               "Takes LSF's options and #BSUB lines and submits with sbatch: a command, or a script on standard input."};
constexpr ManualHead bjobs_head{"bjobs", "list jobs, as LSF has it", "[-a|-r|-p|-d] [-u user|all] [-q queue] [-l] [job...]", "Lists your jobs that have not ended; -a also those that have, -u all those of everybody."};
constexpr ManualHead bkill_head{"bkill", "end jobs, as LSF has it", "[options] job...|0", "Cancels jobs; 0 is all of yours."};
constexpr ManualHead lsid_head{"lsid", "print the names of cluster and controller, as LSF has it", "", "Prints the version, the name of the cluster and the host of its controller."};

struct JobsDraft {
  Asked asked;
  bool all = false, running = false, pending = false, done = false, long_form = false, wide = false, no_header = false;
  std::string user, queue;
};

// clang-format off
constexpr Option<JobsDraft> jobs_rows[] = {
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](JobsDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](JobsDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"all", 'a', none, "", any_tool, "", "", "also jobs that have ended", [](JobsDraft& d, Text) -> Result<void> { d.all = true; return {}; }},
    {"done", 'd', none, "", any_tool, "", "", "only jobs that have ended", [](JobsDraft& d, Text) -> Result<void> { d.done = true; return {}; }},
    {"long", 'l', none, "", any_tool, "", "", "everything about each job", [](JobsDraft& d, Text) -> Result<void> { d.long_form = true; return {}; }},
    {"noheader", '\0', none, "", any_tool, "", "", "no header", [](JobsDraft& d, Text) -> Result<void> { d.no_header = true; return {}; }},
    {"pending", 'p', none, "", any_tool, "", "", "only jobs that wait", [](JobsDraft& d, Text) -> Result<void> { d.pending = true; return {}; }},
    {"queue", 'q', required, "<queue>", any_tool, "", "", "jobs of this queue", [](JobsDraft& d, Text v) -> Result<void> { d.queue = v; return {}; }},
    {"running", 'r', none, "", any_tool, "", "", "only jobs that run", [](JobsDraft& d, Text) -> Result<void> { d.running = true; return {}; }},
    {"user", 'u', required, "<user>", any_tool, "", "", "jobs of this user, or all", [](JobsDraft& d, Text v) -> Result<void> { d.user = v; return {}; }},
    {"wide", 'w', none, "", any_tool, "", "", "names are not cut", [](JobsDraft& d, Text) -> Result<void> { d.wide = true; return {}; }},
};
// clang-format on

struct KillDraft {
  Asked asked;
  Words words;  // for scancel
};

// clang-format off
constexpr Option<KillDraft> kill_rows[] = {
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](KillDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](KillDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"name", 'J', required, "<name>", any_tool, "", "", "jobs of this name", [](KillDraft& d, Text v) -> Result<void> { d.words.push_back("--name=" + std::string{v}); return {}; }},
    {"queue", 'q', required, "<queue>", any_tool, "", "", "jobs of this queue", [](KillDraft& d, Text v) -> Result<void> { d.words.push_back("--partition=" + std::string{v}); return {}; }},
    {"remove", 'r', none, "", any_tool, "", "", "also where the node does not answer", [](KillDraft&, Text) -> Result<void> { return {}; }, Effect::no_effect, "nodes are never asked first"},
    {"signal", 's', required, "<signal>", any_tool, "", "", "send this signal instead of ending the jobs", [](KillDraft& d, Text v) -> Result<void> { d.words.push_back("--signal=" + std::string{v}); return {}; }},
    {"user", 'u', required, "<user>", any_tool, "", "", "jobs of this user", [](KillDraft& d, Text v) -> Result<void> { d.words.push_back("--user=" + std::string{v}); return {}; }},
};

constexpr Option<Asked> lsid_rows[] = {
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](Asked& asked, Text) -> Result<void> { asked.help = true; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](Asked& asked, Text) -> Result<void> { asked.version = true; return {}; }},
};
// clang-format on

bool is_shown(const wire::JobView& job, const JobsDraft& draft, bool named) {
  if (draft.done) return is_ended(job);
  if (draft.running) return !is_pending(job) && !is_ended(job);
  if (draft.pending) return is_pending(job);
  return draft.all || named || !is_ended(job);
}

// LSF's -noheader has one dash.
std::vector<Text> with_two_dashes(const std::vector<Text>& words) {
  std::vector<Text> out;
  for (const Text word : words) out.push_back(word == "-noheader" ? Text{"--noheader"} : word);
  return out;
}

// What sbatch prints goes through us: LSF's users look for the number in other words.
struct Captured {
  int code = 0;
  std::string text;
};
Captured capture(const std::function<int()>& run) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {1, {}};
  const int kept = dup(STDOUT_FILENO);
  dup2(ends[1], STDOUT_FILENO);
  close(ends[1]);
  Captured out;
  out.code = run();  // a line of a few bytes: the pipe holds it
  dup2(kept, STDOUT_FILENO);
  close(kept);
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;) out.text.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  return out;
}

}  // namespace

std::string bsub_manual() { return foreign_manual(bsub_head, lsf_option_texts()); }
std::string bjobs_manual() { return man_page(bjobs_head, option_texts(std::span<const Option<JobsDraft>>{jobs_rows}, any_tool)); }
std::string bkill_manual() { return man_page(bkill_head, option_texts(std::span<const Option<KillDraft>>{kill_rows}, any_tool)); }
std::string lsid_manual() { return man_page(lsid_head, option_texts(std::span<const Option<Asked>>{lsid_rows}, any_tool)); }

int run_bsub(Command& command) {
  if (asks_help(command, bsub_head, lsf_option_texts())) return 0;
  const auto line = read_lsf_line(Words{command.words.begin(), command.words.end()});
  if (!line) {
    say_error(command, line.error().story);
    return 255;
  }
  const auto has = [&](Text flag) { return std::ranges::find(line->flags, flag) != line->flags.end(); };
  const bool interactive = has("-I") || has("-Is") || has("-Ip");
  mark_as_lsf(interactive);
  if (interactive) {
    Words words = line->words;
    if (has("-Is") || has("-Ip")) words.emplace_back("--pty");
    words.insert(words.end(), line->operands.begin(), line->operands.end());
    return run_as(command, run_srun, words);
  }
  Words words = line->words;
  const bool waits = std::ranges::find(words, "--wait") != words.end();
  std::erase(words, "--wait");  // the number is printed before the job ends
  words.emplace_back("--parsable");
  if (!line->operands.empty()) {
    std::string wrapped;
    for (const std::string& word : line->operands) wrapped += (wrapped.empty() ? "" : " ") + word;
    words.push_back("--wrap=" + wrapped);
  }
  const Captured submitted = capture([&] { return run_as(command, run_sbatch, words, {"--output=%j.out"}); });
  const std::string number = submitted.text.substr(0, submitted.text.find_first_of("\n;"));
  if (submitted.code != 0 || number.empty()) return submitted.code == 0 ? 1 : submitted.code;
  wire::Request request;
  request.mutable_query_jobs()->add_jobs()->set_job_id(static_cast<std::uint32_t>(parse_integer(number).value_or(0)));
  request.mutable_query_jobs()->set_finished_too(true);
  const auto reply = ask_controller(command, request);
  const std::string queue = reply && reply->jobs().jobs_size() > 0 ? reply->jobs().jobs(0).partition() : "";
  print("Job <" + number + "> is submitted to " + (std::ranges::any_of(words, [](const std::string& w) { return w.starts_with("--partition="); }) ? "" : "default ") + "queue <" + queue + ">.\n");
  const auto settings = waits ? read_client_settings() : Result<ClientSettings>{ClientSettings{}};
  return waits && settings ? wait_for_end(command, *session_options(*settings), static_cast<std::uint32_t>(parse_integer(number).value_or(0))) : 0;
}

int run_bjobs(Command& command) {
  JobsDraft draft;
  const std::span<const Option<JobsDraft>> table{jobs_rows};
  const std::vector<Text> words = with_two_dashes(command.words);
  const auto line = apply_words(table, any_tool, words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, bjobs_head, option_texts(table, any_tool))) return 0;
  wire::Request request;
  request.mutable_query_jobs()->set_finished_too(true);
  request.mutable_query_jobs()->set_without_hidden(line->operands.empty());
  const auto reply = ask_controller(command, request);
  if (!reply) return 255;
  std::set<std::uint32_t> wanted, found;
  for (const Text word : line->operands)
    if (const auto job = parse_job_name(job_number(word))) wanted.insert(job->id);
  Names names;
  std::string out;
  for (const wire::JobView& job : reply->jobs().jobs()) {
    const bool named = wanted.contains(job.job_id()) || (job.array_job_id() != 0 && wanted.contains(job.array_job_id()));
    if (!wanted.empty() && !named) continue;
    found.insert({job.job_id(), job.array_job_id()});
    if (!is_shown(job, draft, named)) continue;
    if (draft.user.empty() && wanted.empty() && job.uid() != getuid()) continue;
    const std::string& user = names.user(job.uid());
    if (!draft.user.empty() && draft.user != "all" && draft.user != user) continue;
    if (!draft.queue.empty() && draft.queue != job.partition()) continue;
    out += draft.long_form ? bjobs_long(job, user) : bjobs_row(job, user, draft.wide);
  }
  int code = 0;
  for (const std::uint32_t id : wanted)
    if (!found.contains(id)) say_plain("Job <" + std::to_string(id) + "> is not found"), code = 255;
  if (out.empty() && code == 0) say_plain(draft.all || draft.done ? "No job found" : "No unfinished job found");
  if (!out.empty()) print((draft.no_header || draft.long_form ? "" : bjobs_header()) + out);
  return code;
}

int run_bkill(Command& command) {
  KillDraft draft;
  const std::span<const Option<KillDraft>> table{kill_rows};
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, bkill_head, option_texts(table, any_tool))) return 0;
  Words words = draft.words, jobs;
  for (const Text word : line->operands) {
    if (word == "0") words.emplace_back("--me");
    else jobs.push_back(job_number(word));
  }
  if (words.empty() && jobs.empty()) return say_usage_error(command, {Errc::refused, "no job is named; its number, or 0 for all of yours, would be right"});
  words.insert(words.end(), jobs.begin(), jobs.end());
  const int code = run_as(command, run_scancel, words);
  if (code == 0)
    for (const std::string& job : jobs) print("Job <" + job + "> is being terminated\n");
  return code;
}

int run_lsid(Command& command) {
  Asked asked;
  const std::span<const Option<Asked>> table{lsid_rows};
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, asked);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(asked, lsid_head, option_texts(table, any_tool))) return 0;
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  return print(std::string{"Millrace "} + millrace_version + ", Slurm " + slurm_version + "\n\nMy cluster name is " + settings->cluster_name + "\nMy master name is " + settings->controller_host + '\n');
}

}  // namespace millrace
