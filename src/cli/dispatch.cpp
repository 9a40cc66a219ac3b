// src/cli/dispatch.cpp - see dispatch.h.
#include "cli/dispatch.h"

#include "cli/commands.h"
#include "cli/version.h"

namespace millrace {
namespace {

int run_commands(Command& command);

constexpr CommandRow dispatch_rows[] = {
    {"sbatch", true, "submit a batch script", run_sbatch, sbatch_manual, sbatch_options},
    {"srun", true, "run a program on nodes of the cluster", run_srun, srun_manual, srun_options},
    {"salloc", true, "get nodes and run a command beside them", run_salloc, salloc_manual, salloc_options},
    {"squeue", true, "list jobs", run_squeue, squeue_manual, squeue_options},
    {"sinfo", true, "list partitions and nodes", run_sinfo, sinfo_manual, sinfo_options},
    {"scancel", true, "cancel or signal jobs", run_scancel, scancel_manual, scancel_options},
    {"sbcast", true, "copy a file to the nodes of a job", run_sbcast, sbcast_manual, sbcast_options},
    {"sgather", true, "bring a file of every node of a job here", run_sgather, sgather_manual, sgather_options},
    {"swait", true, "wait until a job has no steps any more", run_swait, swait_manual, swait_options},
    {"scontrol", true, "show and change jobs, nodes and partitions", run_scontrol, scontrol_manual, scontrol_options},
    {"sacctmgr", true, "show and change accounts, users and QOS", run_sacctmgr, sacctmgr_manual, sacctmgr_options},
    {"sprio", true, "show what the priorities of waiting jobs are made of", run_sprio, sprio_manual, sprio_options},
    {"sshare", true, "show shares and usage of accounts and users", run_sshare, sshare_manual, sshare_options},
    {"sattach", true, "show the output of a running step, and give it input", run_sattach, sattach_manual,
     sattach_options},
    {"sstat", true, "show what running steps use", run_sstat, sstat_manual, sstat_options},
    {"sacct", true, "show jobs and steps that run or have ended", run_sacct, sacct_manual, sacct_option_texts},
    {"sdiag", true, "show what the controller has done since it started", run_sdiag, sdiag_manual, sdiag_options},
    {"sview", true, "say where the cluster can be watched", run_sview, sview_manual, sview_options},
    {"scrontab", true, "jobs that come again at times of the clock", run_scrontab, scrontab_manual, scrontab_options},
    {"strigger", true, "run programs when something happens to nodes or jobs", run_strigger, strigger_manual,
     strigger_options},
    {"check", false, "check a slurm.conf: errors, unknown keys, keys not built yet", run_check, nullptr},
    {"why", false, "say why a job waits, what would help and when it starts", run_why, nullptr},
    {"man", false, "print the man page of a command, a file or a daemon", run_man, nullptr},
    {"completion", false, "print the completion of a shell: bash", run_completion, nullptr},
    {"differences", false, "print what of Slurm is taken without effect, and what is refused", run_differences,
     nullptr},
    {"commands", false, "print the names under which it is installed, one a line", run_commands, nullptr},
    {"help", false, "list the commands", run_help, nullptr},
};

// Commands of Slurm that do not exist here yet, so that calling one says so.
constexpr std::string_view refused[] = {"sreport"};

std::span<const CommandRow> others;  // of other libraries, set once at the start

// Those not here yet as well: another program of that name would answer for another cluster.
int run_commands(Command&) {
  std::string out;
  for (const CommandRow* row : all_command_rows())
    if (row->own_name) out += std::string{row->name} + '\n';
  for (const std::string_view word : refused) out += std::string{word} + '\n';
  return print(out);
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

const CommandRow* find(std::span<const CommandRow> table, std::string_view name, bool own_only) {
  for (const CommandRow& row : table)
    if (row.name == name && (row.own_name || !own_only)) return &row;
  return nullptr;
}

}  // namespace

std::span<const CommandRow> command_rows() { return dispatch_rows; }

std::vector<const CommandRow*> all_command_rows() {
  std::vector<const CommandRow*> out;
  for (const std::span<const CommandRow> table : {std::span<const CommandRow>{dispatch_rows}, others})
    for (const CommandRow& row : table) out.push_back(&row);
  return out;
}

std::span<const std::string_view> refused_commands() { return refused; }

std::string help_line(const CommandRow& row) {
  return "  " + std::string{row.name} + std::string(row.name.size() < 12 ? 12 - row.name.size() : 1, ' ') +
         std::string{row.summary} + '\n';
}

int dispatch(int argc, char** argv, std::span<const CommandRow> more) {
  others = more;
  std::string_view name = argc > 0 ? base_name(argv[0]) : "millrace";
  int first = 1;
  std::string more_help;
  for (const CommandRow& extra : more) more_help += help_line(extra);
  const CommandRow* row = find(dispatch_rows, name, true);
  if (row == nullptr) row = find(more, name, true);
  const bool is_refused = [&] {
    for (const std::string_view word : refused)
      if (word == name) return true;
    return false;
  }();
  if (row == nullptr && !is_refused) {
    if (argc < 2 || std::string_view{argv[1]} == "--help" || std::string_view{argv[1]} == "-h") {
      Command help;
      help.name = "millrace";
      help.more_help = more_help;
      return run_help(help);
    }
    name = argv[1];
    first = 2;
    if (name == "--version" || name == "-V") return print(std::string{"millrace "} + millrace_version + '\n');
    row = find(dispatch_rows, name, false);
    if (row == nullptr) row = find(more, name, false);
  }
  Command command;
  command.more_help = more_help;
  command.name = row != nullptr && !row->own_name ? "millrace " + std::string{name} : std::string{name};
  if (row == nullptr) {
    for (const std::string_view word : refused) {
      if (word != name) continue;
      say_error(command, "this command is not built yet in Millrace");
      return 1;
    }
    say_plain("millrace: no command '" + std::string{name} + "'; `millrace help` lists them");
    return 1;
  }
  command.submit_line = name;
  for (int i = first; i < argc; ++i) {
    command.words.emplace_back(argv[i]);
    command.submit_line += ' ';
    command.submit_line += argv[i];
  }
  return row->run(command);
}

}  // namespace millrace
