// src/config/daemon_options.cpp - see daemon_options.h.
#include "config/daemon_options.h"

#include <getopt.h>

#include <algorithm>

namespace millrace {
namespace {

// clang-format off
constexpr DaemonOption controller_options[] = {
    {'c', "", "", "start without the state on disk: it is moved aside, not deleted"},
    {'D', "", "", "stay in the foreground and log to standard error"},
    {'f', "", "FILE", "read this configuration file"},
    {'h', "help", "", "print this help"},
    {'i', "", "", "start in spite of errors in the state", "a damaged log is never read past the damage; `millrace log dump` shows what is in it"},
    {'L', "", "FILE", "write the log to this file"},
    {'n', "", "VALUE", "run with this niceness"},
    {'R', "", "", "recover everything, as is always done"},
    {'s', "", "", "work in the folder of the log file, else in StateSaveLocation"},
    {'\0', "systemd", "", "stay in the foreground and tell systemd when it serves (Type=notify)"},
    {'v', "", "", "log more than info, whatever SlurmctldDebug says; -vv and so on: still more"},
    {'V', "version", "", "print the version"},
};

constexpr DaemonOption agent_options[] = {
    {'b', "", "", "register as if the machine had just booted, for tests"},
    {'c', "", "", "start with an empty spool: what still runs from before is killed"},
    {'C', "", "", "print this machine's hardware as a line for slurm.conf"},
    {'\0', "conf", "WORDS", "what a NodeName line would say of it, with -Z; the hardware where it says nothing"},
    {'\0', "conf-server", "HOST", "fetch the configuration from the controller", "every node has its slurm.conf; -f names it"},
    {'d', "", "PROGRAM", "the supervisor to start for each job (default: millrace-step beside this program)"},
    {'D', "", "", "stay in the foreground and log to standard error"},
    {'\0', "extra", "TEXT", "the node's Extra, as `scontrol update NodeName= Extra=` sets it"},
    {'f', "", "FILE", "read this configuration file"},
    {'F', "", "", "be one of the FUTURE nodes", "-Z makes a node that slurm.conf need not name"},
    {'G', "", "", "print the accelerators that are found on this machine"},
    {'h', "help", "", "print this help"},
    {'\0', "instance-id", "TEXT", "the machine's number in a cloud, shown as the node's InstanceId"},
    {'\0', "instance-type", "TEXT", "the machine's kind in a cloud, shown as the node's InstanceType"},
    {'\0', "key", "FILE", "key of this node (default: millrace.key beside slurm.conf, else made from the cluster's key)"},
    {'L', "", "FILE", "write the log to this file"},
    {'M', "", "", "keep the agent's memory from being swapped out"},
    {'n', "", "VALUE", "run with this niceness", "jobs would inherit it"},
    {'N', "", "NAME", "be this node, with the resources its line in slurm.conf gives it"},
    {'\0', "parameters", "WORDS", "parameters of a node", "nodes have none"},
    {'\0', "relay", "", "run no jobs; only carry requests of this host's users to the controller"},
    {'s', "", "", "work in the folder of the log file, else in SlurmdSpoolDir"},
    {'\0', "systemd", "", "stay in the foreground and tell systemd when it serves (Type=notify)"},
    {'v', "", "", "log more than info, whatever SlurmdDebug says; -vv and so on: still more"},
    {'V', "version", "", "print the version"},
    {'\0', "watch-accelerators", "KINDS", "tell of accelerators on standard output, which is what agents start for it"},
    {'Z', "", "", "be a node that slurm.conf need not name; the controller makes it"},
};

constexpr DaemonCommand commands[] = {
    {"slurmctld", "millrace-controller", "the controller of a cluster",
     "Takes jobs, decides which starts when and where, and keeps all of it in its log under StateSaveLocation: what it has answered is on disk. It goes into the background once it serves. "
     "SIGHUP has it read slurm.conf anew, as scontrol reconfigure does; SIGUSR2 opens its log files anew; SIGTERM and SIGINT end it, and running jobs go on.", controller_options},
    {"slurmd", "millrace-agent", "the agent of a node",
     "Runs the jobs of its node, each under a supervisor (millrace-step) that outlives it, and carries requests of this host's users to the controller. One on every node; several on one host with -N. "
     "SIGHUP has it read slurm.conf anew; SIGUSR2 opens its log file anew; SIGTERM and SIGINT end it, and running jobs go on.", agent_options},
};
// clang-format on

constexpr int long_only = 256;  // and above: the index of an option that has no letter

}  // namespace

std::string shown_option(const DaemonOption& row) {
  std::string out = row.letter != '\0' ? std::string{"-"} + row.letter : "--" + std::string{row.name};
  if (row.letter != '\0' && !row.name.empty()) out += ", --" + std::string{row.name};
  return row.value.empty() ? out : out + ' ' + std::string{row.value};
}

std::span<const DaemonCommand> daemon_commands() { return commands; }

const DaemonCommand& daemon_command(std::string_view name) {
  return *std::ranges::find(commands, name, &DaemonCommand::name);
}

Result<std::vector<DaemonWord>> read_daemon_line(const DaemonCommand& command, int argc, char** argv) {
  std::string letters = ":";
  std::vector<std::string> names;  // getopt's names must end
  for (const DaemonOption& row : command.options) {
    names.emplace_back(row.name);
    if (row.letter == '\0') continue;
    letters += row.letter;
    if (!row.value.empty()) letters += ':';
  }
  std::vector<option> long_options;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const DaemonOption& row = command.options[i];
    if (!names[i].empty())
      long_options.push_back({names[i].c_str(), row.value.empty() ? no_argument : required_argument, nullptr,
                              row.letter != '\0' ? row.letter : long_only + static_cast<int>(i)});
  }
  long_options.push_back({});
  std::vector<DaemonWord> out;
  optind = 0;  // forgets the last line, also one that was left in the middle
  for (int one = 0; (one = getopt_long(argc, argv, letters.c_str(), long_options.data(), nullptr)) != -1;) {
    const std::string word = optopt != 0 && optopt < long_only ? std::string{"-"} + static_cast<char>(optopt)
                                                               : std::string{argv[optind - 1]};
    if (one == '?') return fail(Errc::invalid, "there is no option '" + word + "'");
    if (one == ':') return fail(Errc::invalid, word + " needs a value");
    const auto row = std::ranges::find_if(command.options, [&](const DaemonOption& each) {
      return one >= long_only ? &each == &command.options[static_cast<std::size_t>(one - long_only)]
                              : each.letter == one;
    });
    if (!row->refused.empty())
      return fail(Errc::refused, shown_option(*row) + " is refused in Millrace: " + std::string{row->refused});
    out.push_back({row->key(), optarg == nullptr ? "" : optarg});
  }
  if (optind < argc) return fail(Errc::invalid, "unexpected argument '" + std::string{argv[optind]} + "'");
  return out;
}

std::string daemon_usage(const DaemonCommand& command) {
  constexpr std::size_t column = 24;
  std::string out = "Usage: " + std::string{command.name} + " [OPTIONS]\n";
  for (const DaemonOption& row : command.options) {
    if (!row.refused.empty()) continue;
    std::string left = "  " + shown_option(row);
    left.resize(std::max(column, left.size() + 1), ' ');
    out += left + std::string{row.help} + '\n';
  }
  return out;
}

}  // namespace millrace
