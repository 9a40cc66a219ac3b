// src/cli/dispatch.h - one program under many names: which command is meant, and the table a new one is added to.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/options/option.h"

namespace millrace {

struct CommandRow {
  std::string_view name;
  bool own_name;  // also installed under this name, as Slurm's; otherwise only `millrace NAME`
  std::string_view summary;
  int (*run)(Command& command);
  std::string (*manual)();                         // nullptr: no man page
  std::vector<OptionText> (*options)() = nullptr;  // for completion and the page about what differs from Slurm
  std::string (*offered)() = nullptr;              // words for completion, of commands whose options have other forms
};

std::span<const CommandRow> command_rows();
std::vector<const CommandRow*> all_command_rows();     // also those of other libraries
std::span<const std::string_view> refused_commands();  // of Slurm, and not here yet
std::string help_line(const CommandRow& row);
// `more` are commands of other libraries, put in by src/apps/millrace.cpp.
int dispatch(int argc, char** argv, std::span<const CommandRow> more = {});

}  // namespace millrace
