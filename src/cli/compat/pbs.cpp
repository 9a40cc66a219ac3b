// src/cli/compat/pbs.cpp - qsub, qdel, qhold, qrls, qalter, qrerun: PBS's commands that change something.
#include <algorithm>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/compat/compat.h"
#include "cli/options/foreign_directives.h"
#include "cli/options/option.h"

namespace millrace {
namespace {

using Words = std::vector<std::string>;

constexpr ManualHead qsub_head{
    "qsub", "submit a job, as PBS has it",
    "[-A account] [-N name] [-l resources] [-q queue] [-o file] [-e file] [-j oe] [-J|-t tasks] [-W depend=...] [-m "
    "abe] [-I] [script [arguments]]",
    "Takes PBS's options and #PBS lines and submits with sbatch; prints the number of the job. Output goes to "
    "NAME.oNUMBER and NAME.eNUMBER as with PBS, unless -o, -e or -j oe say "
    "otherwise. -I gives a shell on a node instead."};
constexpr ManualHead qdel_head{"qdel", "delete jobs, as PBS has it", "[options] job... | all",
                               "Cancels jobs, as scancel does; all is all of yours."};
constexpr ManualHead qhold_head{"qhold", "hold jobs, as PBS has it", "[options] job...",
                                "Waiting jobs do not start until qrls releases them."};
constexpr ManualHead qrls_head{"qrls", "release held jobs, as PBS has it", "[options] job...",
                               "The opposite of qhold."};
constexpr ManualHead qrerun_head{"qrerun", "run jobs again, as PBS has it", "[options] job...",
                                 "Ends running jobs and puts them back into the queue, as scontrol requeue does."};
constexpr ManualHead qalter_head{"qalter", "change waiting jobs, as PBS has it",
                                 "[-A account] [-N name] [-l resources] [-p priority] [-h u|o|s|n] [-q queue] [-o "
                                 "file] [-e file] [-W depend=...] job...",
                                 "Takes qsub's options and changes the jobs with scontrol update. -h has a value here: "
                                 "n releases, the others hold."};

Words words_of(const Command& command) { return {command.words.begin(), command.words.end()}; }

bool has(const Words& list, std::string_view word) { return std::ranges::find(list, word) != list.end(); }

bool gives(const Words& words, std::string_view option) {
  return std::ranges::any_of(words,
                             [&](const std::string& word) { return word.starts_with(std::string{option} + "="); });
}

// What qdel, qhold, qrls and qrerun are told.
struct ChangeDraft {
  Asked asked;
  std::string tasks, holds;
};
enum ChangeTools : std::uint8_t { qdel = 1, qhold = 2, qrls = 4, qrerun = 8 };
using Text = std::string_view;
using enum ArgKind;

Result<void> set_holds(ChangeDraft& draft, Text value) {
  if (value.empty() || value.find_first_not_of("uosnp") != Text::npos)
    return fail(Errc::refused, "-h " + std::string{value} +
                                   ": u (the user's own), o, s (an administrator's) or n (none) would be right");
  draft.holds = value;
  return {};
}

// clang-format off
constexpr Option<ChangeDraft> change_rows[] = {
    {"help", '\0', none, "", any_tool, "", "", "show this text", [](ChangeDraft& d, Text) -> Result<void> { d.asked.help = true; return {}; }},
    {"version", '\0', none, "", any_tool, "", "", "show the version", [](ChangeDraft& d, Text) -> Result<void> { d.asked.version = true; return {}; }},
    {"force", 'f', none, "", qrerun, "", "", "also where the node does not answer", [](ChangeDraft&, Text) -> Result<void> { return {}; }, Effect::no_effect, "nodes are never asked first"},
    {"hold", 'h', required, "<kinds>", qhold | qrls, "", "", "u, o, s: the user's hold, or an administrator's; n: none", set_holds},
    {"message", 'm', required, "<text>", qdel | qrerun, "", "", "what to tell the job's owner", [](ChangeDraft&, Text) -> Result<void> { return {}; }, Effect::no_effect, "mail about its end says who cancelled a job"},
    {"purge", 'p', none, "", qdel, "", "", "also where the node does not answer", [](ChangeDraft&, Text) -> Result<void> { return {}; }, Effect::no_effect, "nodes are never asked first"},
    {"tasks", 't', required, "<tasks>", qdel | qhold | qrls | qrerun, "", "", "only these tasks of the arrays that are named", [](ChangeDraft& d, Text v) -> Result<void> { d.tasks = v; return {}; }},
    {"wait", 'W', required, "<delay>", qdel, "", "", "seconds between the signals TERM and KILL", [](ChangeDraft&, Text) -> Result<void> { return {}; }, Effect::no_effect, "KillWait of slurm.conf says it for all jobs"},
    {"finished", 'x', none, "", qdel, "", "", "also jobs that have ended", [](ChangeDraft&, Text) -> Result<void> { return {}; }, Effect::no_effect, "they are forgotten by themselves"},
};
// clang-format on

std::vector<OptionText> change_texts(std::uint8_t tool) {
  return option_texts(std::span<const Option<ChangeDraft>>{change_rows}, tool);
}

// Ids as ours have them; empty with a code: there is nothing more to do.
struct ChangeLine {
  ChangeDraft draft;
  Words jobs;
  int code = -1;
};
ChangeLine read_change(const Command& command, std::uint8_t tool, const ManualHead& head) {
  ChangeLine out;
  const auto line =
      apply_words(std::span<const Option<ChangeDraft>>{change_rows}, tool, command.words, Operands::mixed, out.draft);
  if (!line) {
    out.code = say_usage_error(command, line.error());
    return out;
  }
  if (answer_common(out.draft.asked, head, change_texts(tool))) out.code = 0;
  for (const Text word : line->operands) {
    const std::string job = job_number(word);
    out.jobs.push_back(out.draft.tasks.empty() ? job : job.substr(0, job.find('_')) + "_[" + out.draft.tasks + ']');
  }
  if (out.code < 0 && out.jobs.empty()) {
    say_error(command,
              std::string{"no job is named; its number"} + (tool == qdel ? ", or all," : "") + " would be right");
    out.code = 2;
  }
  return out;
}

// 12_3 as PBS has it.
std::string number_of_pbs(const std::string& job) {
  const std::size_t underscore = job.find('_');
  return underscore == std::string::npos ? job : job.substr(0, underscore) + '[' + job.substr(underscore + 1) + ']';
}

constexpr int unknown_job_code = 153, unauthorized_code = 159, invalid_state_code = 170;  // PBS's own

// Whether there is such a job; where not, it is said in PBS's words.
bool is_known(const Command& command, const std::string& job) {
  const auto name = parse_job_name(job);
  wire::Request request;
  request.mutable_query_jobs()->set_finished_too(true);
  request.mutable_query_jobs()->set_brief(true);
  request.mutable_query_jobs()->add_jobs()->set_job_id(name ? name->id : 0);
  const auto reply = name ? ask_controller(command, request) : Result<wire::Reply>{wire::Reply{}};
  if (!reply || reply->jobs().jobs_size() > 0) return true;  // what asked for it says more
  say_plain(command.name + ": " + (name ? "Unknown Job Id " : "illegally formed job identifier: ") +
            number_of_pbs(job));
  return false;
}

int each_job(const Command& command, const Words& jobs, const Words& before) {
  int code = 0;
  for (const std::string& job : jobs) {
    Words words = before;
    words.push_back(job);
    code = std::max(code, is_known(command, job) ? run_as(command, run_scontrol, words) : unknown_job_code);
  }
  return code;
}

// qalter's -h has a value, qsub's has none: u, o and s hold, n releases.
struct HoldWord {
  Words others;
  std::string kinds;
};
HoldWord take_hold(const Words& words) {
  HoldWord out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool apart = words[i] == "-h" && i + 1 < words.size();
    if (!apart && !(words[i].starts_with("-h") && words[i].size() > 2))
      out.others.push_back(words[i]);
    else
      out.kinds = apart ? words[++i] : words[i].substr(2);
  }
  return out;
}

// Words for sbatch as keys of scontrol update.
struct KeyRow {
  std::string_view option, key;
};
constexpr KeyRow update_keys[] = {{"--account", "Account"},
                                  {"--begin", "StartTime"},
                                  {"--job-name", "JobName"},
                                  {"--time", "TimeLimit"},
                                  {"--nodes", "NumNodes"},
                                  {"--partition", "Partition"},
                                  {"--mem", "MinMemoryNode"},
                                  {"--mem-per-cpu", "MinMemoryCPU"},
                                  {"--ntasks", "NumTasks"},
                                  {"--cpus-per-task", "CPUsPerTask"},
                                  {"--ntasks-per-node", "TasksPerNode"},
                                  {"--mincpus", "MinCPUsNode"},
                                  {"--output", "StdOut"},
                                  {"--error", "StdErr"},
                                  {"--nice", "Nice"},
                                  {"--constraint", "Features"},
                                  {"--nodelist", "ReqNodeList"},
                                  {"--dependency", "Dependency"},
                                  {"--mail-type", "MailType"},
                                  {"--mail-user", "MailUser"},
                                  {"--qos", "QOS"},
                                  {"--licenses", "Licenses"},
                                  {"--tmp", "MinTmpDiskNode"},
                                  {"--wckey", "WCKey"},
                                  {"--gpus", "TresPerJob"}};

}  // namespace

std::string qsub_words() { return offered_words(pbs_option_texts()); }
std::string qsub_manual() { return foreign_manual(qsub_head, pbs_option_texts()); }
std::string qdel_words() { return offered_words(change_texts(qdel)); }
std::string qdel_manual() { return man_page(qdel_head, change_texts(qdel)); }
std::string qhold_words() { return offered_words(change_texts(qhold)); }
std::string qhold_manual() { return man_page(qhold_head, change_texts(qhold)); }
std::string qrls_words() { return offered_words(change_texts(qrls)); }
std::string qrls_manual() { return man_page(qrls_head, change_texts(qrls)); }
std::string qrerun_words() { return offered_words(change_texts(qrerun)); }
std::string qrerun_manual() { return man_page(qrerun_head, change_texts(qrerun)); }
std::string qalter_words() { return offered_words(pbs_option_texts()); }
std::string qalter_manual() { return foreign_manual(qalter_head, pbs_option_texts()); }

// qsub -- program arguments: what follows is run as it is.
static std::string quoted(const Words& words) {
  std::string out;
  for (const std::string& word : words) {
    out += out.empty() ? "'" : " '";
    for (const char c : word) out += c == '\'' ? std::string{"'\\''"} : std::string{c};
    out += '\'';
  }
  return out;
}

int run_qsub(Command& command) {
  if (asks_help(command, qsub_head, pbs_option_texts())) return 0;
  Words all = words_of(command);
  const auto marker = std::ranges::find(all, "--");
  const Words program(marker == all.end() ? marker : marker + 1, all.end());
  all.erase(marker, all.end());
  auto line = read_pbs_line(all);
  if (!line) {
    say_error(command, line.error().story);
    return 2;
  }
  for (const std::string& note : line->notes) say_info(command, note);
  mark_as_pbs(has(line->flags, "-I"));
  if (has(line->flags, "-I")) {
    Words words = line->words;
    if (has(line->flags, "-X")) words.emplace_back("--x11");
    const char* shell = std::getenv("SHELL");
    words.insert(words.end(), {"--pty", shell != nullptr ? shell : "/bin/sh", "-i"});
    return run_as(command, run_srun, words);
  }
  Words words = std::move(line->words);
  words.emplace_back(has(line->flags, "-z") ? "--quiet" : "--parsable");
  words.insert(words.end(), line->operands.begin(), line->operands.end());
  if (!program.empty()) words.push_back("--wrap=" + quoted(program));
  const bool array = gives(words, "--array");
  const std::string number = array ? "%A-%a" : "%j";
  Words defaults{"--output=%x.o" + number};
  if (!has(line->flags, "-joe") && !has(line->flags, "-jeo")) defaults.push_back("--error=%x.e" + number);
  return run_as(command, run_sbatch, words, std::move(defaults));
}

int run_qdel(Command& command) {
  const ChangeLine line = read_change(command, qdel, qdel_head);
  if (line.code >= 0) return line.code;
  if (line.jobs.size() == 1 && line.jobs[0] == "all") return run_as(command, run_scancel, {"--me"});
  wire::Request request;
  for (const std::string& job : line.jobs) {
    const auto name = parse_job_name(job);
    if (!name) return say_plain(told(name.error(), "qdel: illegally formed job identifier: " + job)), 1;
    wire::JobName& asked = *request.mutable_cancel()->add_jobs();
    asked.set_job_id(name->id);
    asked.set_tasks(name->tasks);
  }
  const auto reply = ask_controller(command, request);
  if (!reply) return 1;
  int code = 0;
  for (const auto& failed : reply->jobs_changed().failed()) {
    const bool unknown = failed.code() == invalid_job_id, done = failed.code() == already_done,
               denied = failed.code() == access_denied;
    say_plain("qdel: " +
              (unknown  ? "Unknown Job Id "
               : done   ? "Request invalid for state of job "
               : denied ? "Unauthorized Request  "
                        : failed.text() + " ") +
              number_of_pbs(failed.job()));
    code = unknown ? unknown_job_code : done ? invalid_state_code : denied ? unauthorized_code : 1;
  }
  return code;
}

int run_qhold(Command& command) {
  const ChangeLine line = read_change(command, qhold, qhold_head);
  if (line.code >= 0 || line.draft.holds == "n") return std::max(line.code, 0);
  return each_job(command, line.jobs, {line.draft.holds == "u" ? "uhold" : "hold"});
}

int run_qrls(Command& command) {
  const ChangeLine line = read_change(command, qrls, qrls_head);
  return line.code >= 0 || line.draft.holds == "n" ? std::max(line.code, 0) : each_job(command, line.jobs, {"release"});
}

int run_qrerun(Command& command) {
  const ChangeLine line = read_change(command, qrerun, qrerun_head);
  return line.code >= 0 ? line.code : each_job(command, line.jobs, {"requeue"});
}

int run_qalter(Command& command) {
  if (asks_help(command, qalter_head, pbs_option_texts())) return 0;
  const HoldWord hold = take_hold(words_of(command));
  if (hold.kinds.find_first_not_of("uosn") != std::string::npos) {
    say_error(command,
              "-h " + hold.kinds + ": u (the user's own), o, s (an administrator's) or n (none) would be right");
    return 2;
  }
  const auto line = read_pbs_line(hold.others);
  if (!line) {
    say_error(command, line.error().story);
    return 2;
  }
  Words changes;
  for (const std::string& word : line->words) {
    const std::size_t equals = word.find('=');
    const auto row = std::ranges::find(update_keys, std::string_view{word}.substr(0, equals), &KeyRow::option);
    if (row == std::end(update_keys)) {
      say_error(command, "what " + word + " asks for cannot be changed any more");
      return 2;
    }
    changes.push_back(std::string{row->key} + word.substr(equals));
  }
  if (line->operands.empty() || (changes.empty() && hold.kinds.empty())) {
    say_error(command, "options and the numbers of jobs would be right");
    return 2;
  }
  int code = 0;
  for (const std::string& operand : line->operands) {
    const std::string job = job_number(operand);
    Words words{"update", "JobId=" + job};
    words.insert(words.end(), changes.begin(), changes.end());
    if (!is_known(command, job))
      code = unknown_job_code;
    else if (!changes.empty())
      code = std::max(code, run_as(command, run_scontrol, words));
    if (!hold.kinds.empty() && code == 0)
      code = run_as(command, run_scontrol, {hold.kinds == "n" ? "release" : hold.kinds == "u" ? "uhold" : "hold", job});
  }
  return code;
}

}  // namespace millrace
