// src/cli/compat/lsf.cpp - bsub, bkill, lsid: LSF's commands that change something, and the names of the cluster.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/compat/compat.h"
#include "cli/options/foreign_directives.h"
#include "cli/options/job_values.h"
#include "cli/options/option.h"
#include "cli/options/script.h"
#include "cli/submission.h"
#include "cli/version.h"

namespace millrace {
namespace {

using Text = std::string_view;
using Words = std::vector<std::string>;
using enum ArgKind;

constexpr ManualHead bsub_head{
    "bsub", "submit a job, as LSF has it",
    "[-J name[tasks]] [-n tasks] [-q queue] [-W time] [-o file] [-e file] [-R requirements] [-w condition] [command "
    "[arguments]]",
    "Takes LSF's options and #BSUB lines and submits with sbatch: a command, or a script on standard input."};
constexpr ManualHead bkill_head{"bkill", "end jobs, as LSF has it", "[options] job...|0",
                                "Cancels jobs; 0 is all of yours."};
constexpr ManualHead lsid_head{"lsid", "print the names of cluster and controller, as LSF has it", "",
                               "Prints the version, the name of the cluster and the host of its controller."};

struct KillDraft {
  Asked asked;
  wire::CancelJobs filter;
  bool filtered = false;
};

Result<void> set_kill_user(KillDraft& draft, Text value) {
  draft.filtered = true;
  if (value == "all") return {};
  const auto user = parse_user(value);
  if (!user) return fail(Errc::refused, std::string{value} + ": there is no such user");
  draft.filter.set_user(std::to_string(*user));
  return {};
}

// KILL, TERM and INT end a job in LSF also where it waits; others go to its processes.
Result<void> set_kill_signal(KillDraft& draft, Text value) {
  const auto number = parse_signal(value);
  if (!number) return fail(Errc::refused, "-s " + std::string{value} + ": there is no such signal");
  draft.filter.set_signal(*number == SIGKILL || *number == SIGTERM || *number == SIGINT ? 0 : *number);
  return {};
}

// clang-format off
constexpr Option<KillDraft> kill_rows[] = {
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](KillDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](KillDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"name", 'J', required, "<name>", any_tool, "", "", "jobs of this name", [](KillDraft& d, Text v) -> Result<void> { d.filtered = true; d.filter.set_name(std::string{v}); return {}; }},
    {"host", 'm', required, "<host>", any_tool, "", "", "jobs on this node", [](KillDraft& d, Text v) -> Result<void> { d.filtered = true; d.filter.set_nodes(std::string{v}); return {}; }},
    {"queue", 'q', required, "<queue>", any_tool, "", "", "jobs of this queue", [](KillDraft& d, Text v) -> Result<void> { d.filtered = true; d.filter.set_partition(std::string{v}); return {}; }},
    {"remove", 'r', none, "", any_tool, "", "", "also where the node does not answer", [](KillDraft&, Text) -> Result<void> { return {}; }, Effect::no_effect, "nodes are never asked first"},
    {"signal", 's', required, "<signal>", any_tool, "", "", "send this signal instead of ending the jobs", set_kill_signal},
    {"user", 'u', required, "<user>", any_tool, "", "", "jobs of this user", set_kill_user},
};

constexpr Option<Asked> lsid_rows[] = {
    {"help", 'h', none, "", any_tool, "", "", "show this text", [](Asked& asked, Text) -> Result<void> { asked.help = true; return {}; }},
    {"version", 'V', none, "", any_tool, "", "", "show the version", [](Asked& asked, Text) -> Result<void> { asked.version = true; return {}; }},
};
// clang-format on

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
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    out.text.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  return out;
}

// 12_3 and 12_[1-3%2] as LSF has them.
std::string number_of_lsf(std::string text) {
  const std::size_t underscore = text.find('_');
  if (underscore == std::string::npos) return text;
  std::string task = text.substr(underscore + 1);
  if (task.starts_with('[')) task = task.substr(1, task.find_first_of("%]") - 1);
  return text.substr(0, underscore) + '[' + task + ']';
}

// Named by the command line, the environment or the script, which the controller has by now.
bool names_queue(const Command& command, const Words& words, std::uint32_t job) {
  const auto is_queue = [](const std::string& word) {
    return word.starts_with("--partition=") || word.starts_with("-p");
  };
  if (std::ranges::any_of(words, is_queue) || std::getenv("SBATCH_PARTITION") != nullptr) return true;
  wire::Request request;
  request.mutable_get_script()->set_job_id(job);
  const auto reply = ask_controller(command, request);
  const auto script =
      reply ? script_words(reply->script().script(), false) : Result<std::vector<Words>>{std::vector<Words>{}};
  return script && !script->empty() && std::ranges::any_of(script->front(), is_queue);
}

}  // namespace

std::string bsub_words() { return offered_words(lsf_option_texts()); }
std::string bsub_manual() { return foreign_manual(bsub_head, lsf_option_texts()); }
std::string bkill_words() {
  return offered_words(option_texts(std::span<const Option<KillDraft>>{kill_rows}, any_tool));
}
std::string bkill_manual() {
  return man_page(bkill_head, option_texts(std::span<const Option<KillDraft>>{kill_rows}, any_tool));
}
std::string lsid_words() { return offered_words(option_texts(std::span<const Option<Asked>>{lsid_rows}, any_tool)); }
std::string lsid_manual() {
  return man_page(lsid_head, option_texts(std::span<const Option<Asked>>{lsid_rows}, any_tool));
}

int run_bsub(Command& command) {
  if (asks_help(command, bsub_head, lsf_option_texts())) return 0;
  const auto line = read_lsf_line(Words{command.words.begin(), command.words.end()});
  if (!line) {
    say_error(command, line.error().story);
    return 255;
  }
  for (const std::string& note : line->notes) say_info(command, note);
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
  print("Job <" + number + "> is submitted to " +
        (names_queue(command, words, static_cast<std::uint32_t>(parse_integer(number).value_or(0))) ? "" : "default ") +
        "queue <" + queue + ">.\n");
  const auto settings = waits ? read_client_settings() : Result<ClientSettings>{ClientSettings{}};
  return waits && settings ? wait_for_end(command, *session_options(*settings),
                                          static_cast<std::uint32_t>(parse_integer(number).value_or(0)))
                           : 0;
}

int run_bkill(Command& command) {
  KillDraft draft;
  const std::span<const Option<KillDraft>> table{kill_rows};
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, draft);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(draft.asked, bkill_head, option_texts(table, any_tool))) return 0;
  wire::Request request;
  wire::CancelJobs& ask = *request.mutable_cancel();
  ask = draft.filter;
  for (const Text word : line->operands) {
    if (word == "0") {
      draft.filtered = true;
      continue;
    }
    const auto job = parse_job_name(job_number(word));
    if (!job) return say_plain(told(job.error(), std::string{word} + ": Illegal job ID.")), 255;
    ask.add_jobs()->set_job_id(job->id);
    ask.mutable_jobs(ask.jobs_size() - 1)->set_tasks(job->tasks);
  }
  if (!draft.filtered && ask.jobs_size() == 0)
    return say_usage_error(command,
                           {Errc::refused, "no job is named; its number, or 0 for all of yours, would be right"});
  if (draft.filtered && ask.user().empty() && ask.jobs_size() == 0 &&
      std::ranges::find(line->given, Text{"user"}, [](const auto* row) { return row->name; }) == line->given.end())
    ask.set_user(std::to_string(getuid()));
  const auto reply = ask_controller(command, request);
  if (!reply) return 255;
  const char* done = draft.filter.signal() == 0 ? "> is being terminated\n" : "> is being signaled\n";
  std::string out;
  for (const std::string& job : reply->jobs_changed().changed()) out += "Job <" + number_of_lsf(job) + done;
  print(out);
  for (const auto& failed : reply->jobs_changed().failed())
    say_plain("Job <" + number_of_lsf(failed.job()) + ">: " +
              (failed.code() == invalid_job_id  ? "No matching job found"
               : failed.code() == already_done  ? "Job has already finished"
               : failed.code() == access_denied ? "User permission denied"
                                                : failed.text()));
  if (out.empty() && reply->jobs_changed().failed_size() == 0) say_plain("No matching job found");
  return out.empty() || reply->jobs_changed().failed_size() > 0 ? 255 : 0;
}

int run_lsid(Command& command) {
  Asked asked;
  const std::span<const Option<Asked>> table{lsid_rows};
  const auto line = apply_words(table, any_tool, command.words, Operands::mixed, asked);
  if (!line) return say_usage_error(command, line.error());
  if (answer_common(asked, lsid_head, option_texts(table, any_tool))) return 0;
  const auto settings = read_client_settings();
  if (!settings) return say_usage_error(command, {Errc::refused, settings.error().story});
  return print(std::string{"Millrace "} + millrace_version + ", Slurm " + slurm_version + "\n\nMy cluster name is " +
               settings->cluster_name + "\nMy master name is " + settings->controller_host + '\n');
}

}  // namespace millrace
