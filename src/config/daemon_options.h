// src/config/daemon_options.h - the command lines of slurmctld and slurmd: one row an option, for reading it, for -h
// and for the man page.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

struct DaemonOption {
  char letter;             // '\0': it has a long name only
  std::string_view name;   // without its dashes; empty: it has a letter only
  std::string_view value;  // how help calls what follows; empty: nothing does
  std::string_view help;
  std::string_view refused{};  // why it is

  std::string key() const { return letter != '\0' ? std::string(1, letter) : std::string{name}; }
};

struct DaemonCommand {
  std::string_view name;     // Slurm's
  std::string_view program;  // ours
  std::string_view summary, description;
  std::span<const DaemonOption> options;
};

std::span<const DaemonCommand> daemon_commands();
const DaemonCommand& daemon_command(std::string_view name);  // one of them

struct DaemonWord {
  std::string key;  // the letter, or the long name of an option that has none
  std::string value;
};
// What was given, in its order; an error says what is wrong with the line.
Result<std::vector<DaemonWord>> read_daemon_line(const DaemonCommand& command, int argc, char** argv);
std::string shown_option(const DaemonOption& row);  // "-f FILE", "-h, --help"
std::string daemon_usage(const DaemonCommand& command);

}  // namespace millrace
