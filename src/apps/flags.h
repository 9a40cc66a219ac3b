// src/apps/flags.h - how the flags of our own commands are read: one row per flag.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

using Words = std::vector<std::string_view>;

struct FlagRow {
  std::string_view name;   // "--nodes"
  std::string_view value;  // how the help calls it; empty: the flag takes none
  std::string_view help;
};

struct Flags {
  std::map<std::string_view, std::string_view> given;  // by name
  Words rest;
  bool has(std::string_view name) const { return given.contains(name); }
  std::string text(std::string_view name) const;  // empty when it was not given
};

// "--flag value" and "--flag=value"; an unknown flag is an error that names it.
Result<Flags> read_flags(const Words& words, std::span<const FlagRow> rows);
// A whole number within the limits, or a story that says what would be right.
Result<std::uint32_t> flag_number(const Flags& flags, std::string_view name, std::uint32_t low, std::uint32_t high);
std::string flag_help(std::string_view usage, std::span<const FlagRow> rows);

void say(std::string_view text);                                    // a line to standard output, at once
int say_failure(std::string_view command, std::string_view story);  // to standard error; gives 1

}  // namespace millrace
