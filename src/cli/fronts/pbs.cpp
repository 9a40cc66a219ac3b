// src/cli/fronts/pbs.cpp - qsub, qdel, qhold, qrls, qalter, qrerun: PBS's commands that change something.
#include <algorithm>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/fronts/fronts.h"
#include "cli/options/foreign_directives.h"

namespace millrace {
namespace {

using Words = std::vector<std::string>;

constexpr ManualHead qsub_head{"qsub", "submit a job, as PBS has it", "[-A account] [-N name] [-l resources] [-q queue] [-o file] [-e file] [-j oe] [-J|-t tasks] [-W depend=...] [-m abe] [-I] [script [arguments]]",
                               "Takes PBS's options and #PBS lines and submits with sbatch; prints the number of the job. Output goes to NAME.oNUMBER and NAME.eNUMBER as with PBS, unless -o, -e or -j oe say "
                               "otherwise. -I gives a shell on a node instead."};
constexpr ManualHead qdel_head{"qdel", "delete jobs, as PBS has it", "[-W delay] job... | all", "Cancels jobs, as scancel does."};
constexpr ManualHead qhold_head{"qhold", "hold jobs, as PBS has it", "job...", "Waiting jobs do not start until qrls releases them."};
constexpr ManualHead qrls_head{"qrls", "release held jobs, as PBS has it", "job...", "The opposite of qhold."};
constexpr ManualHead qrerun_head{"qrerun", "run jobs again, as PBS has it", "job...", "Ends running jobs and puts them back into the queue, as scontrol requeue does."};
constexpr ManualHead qalter_head{"qalter", "change waiting jobs, as PBS has it", "[-A account] [-N name] [-l resources] [-q queue] [-o file] [-e file] [-W depend=...] job...",
                                 "Takes qsub's options and changes the jobs with scontrol update."};

Words words_of(const Command& command) { return {command.words.begin(), command.words.end()}; }

bool has(const Words& list, std::string_view word) { return std::ranges::find(list, word) != list.end(); }

bool gives(const Words& words, std::string_view option) {
  return std::ranges::any_of(words, [&](const std::string& word) { return word.starts_with(std::string{option} + "="); });
}

// Ids of the command line; options that take a value and mean nothing here are skipped with it.
Words jobs_of(const Command& command, std::string_view with_value) {
  Words out;
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    const std::string_view word = command.words[i];
    if (!word.starts_with('-')) out.push_back(job_number(word));
    else if (word.size() == 2 && with_value.find(word[1]) != std::string_view::npos) ++i;
  }
  return out;
}

int each_job(const Command& command, const Words& jobs, const Words& before) {
  if (jobs.empty()) {
    say_error(command, "no job is named; its number would be right");
    return 2;
  }
  int code = 0;
  for (const std::string& job : jobs) {
    Words words = before;
    words.push_back(job);
    code = std::max(code, run_as(command, run_scontrol, words));
  }
  return code;
}

// Words for sbatch as keys of scontrol update.
struct KeyRow {
  std::string_view option, key;
};
constexpr KeyRow update_keys[] = {{"--account", "Account"}, {"--begin", "StartTime"}, {"--job-name", "JobName"}, {"--time", "TimeLimit"}, {"--nodes", "NumNodes"}, {"--partition", "Partition"},
                                  {"--mem", "MinMemoryNode"}, {"--mem-per-cpu", "MinMemoryCPU"}, {"--ntasks", "NumTasks"}, {"--cpus-per-task", "CPUsPerTask"}, {"--ntasks-per-node", "TasksPerNode"},
                                  {"--mincpus", "MinCPUsNode"}, {"--output", "StdOut"}, {"--error", "StdErr"}, {"--nice", "Nice"}, {"--constraint", "Features"}, {"--nodelist", "ReqNodeList"},
                                  {"--dependency", "Dependency"}, {"--mail-type", "MailType"}, {"--mail-user", "MailUser"}, {"--qos", "QOS"}, {"--licenses", "Licenses"}, {"--tmp", "MinTmpDiskNode"},
                                  {"--wckey", "WCKey"}, {"--gpus", "TresPerJob"}};

}  // namespace

std::string qsub_manual() { return man_page(qsub_head, {}); }
std::string qdel_manual() { return man_page(qdel_head, {}); }
std::string qhold_manual() { return man_page(qhold_head, {}); }
std::string qrls_manual() { return man_page(qrls_head, {}); }
std::string qrerun_manual() { return man_page(qrerun_head, {}); }
std::string qalter_manual() { return man_page(qalter_head, {}); }

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
  if (asks_help(command, qsub_head)) return 0;
  Words all = words_of(command);
  const auto marker = std::ranges::find(all, "--");
  const Words program(marker == all.end() ? marker : marker + 1, all.end());
  all.erase(marker, all.end());
  auto line = read_pbs_line(all);
  if (!line) {
    say_error(command, line.error().story);
    return 2;
  }
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
  if (asks_help(command, qdel_head)) return 0;
  Words jobs = jobs_of(command, "Wmt");
  if (jobs.size() == 1 && jobs[0] == "all") return run_as(command, run_scancel, {"--me"});
  if (jobs.empty()) {
    say_error(command, "no job is named; its number, or all, would be right");
    return 2;
  }
  return run_as(command, run_scancel, jobs);
}

int run_qhold(Command& command) { return asks_help(command, qhold_head) ? 0 : each_job(command, jobs_of(command, "ht"), {"hold"}); }
int run_qrls(Command& command) { return asks_help(command, qrls_head) ? 0 : each_job(command, jobs_of(command, "ht"), {"release"}); }
int run_qrerun(Command& command) { return asks_help(command, qrerun_head) ? 0 : each_job(command, jobs_of(command, ""), {"requeue"}); }

int run_qalter(Command& command) {
  if (asks_help(command, qalter_head)) return 0;
  const auto line = read_pbs_line(words_of(command));
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
  if (line->operands.empty() || changes.empty()) {
    say_error(command, "options and the numbers of jobs would be right");
    return 2;
  }
  int code = 0;
  for (const std::string& job : line->operands) {
    Words words{"update", "JobId=" + job_number(job)};
    words.insert(words.end(), changes.begin(), changes.end());
    code = std::max(code, run_as(command, run_scontrol, words));
  }
  return code;
}

}  // namespace millrace
