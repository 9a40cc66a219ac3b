// src/cli/crontab_file.h - the file of scrontab: entries with their times, options and commands; variables for those
// below them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

struct CrontabEntry {
  std::uint32_t line = 0;
  std::string times;
  std::string command;
  std::vector<std::string> options;    // texts of #SCRON lines above it
  std::vector<std::string> variables;  // NAME=value
};

// An error names the line.
Result<std::vector<CrontabEntry>> parse_crontab(std::string_view text);
// As a script that sbatch would read: options on #SBATCH lines, then the command.
std::string script_of(const CrontabEntry& entry);

}  // namespace millrace
