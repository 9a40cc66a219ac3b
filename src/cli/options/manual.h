// src/cli/options/manual.h - help texts and man pages, made from the rows of the option tables.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/options/option.h"

namespace millrace {

struct ManualHead {
  std::string_view command;
  std::string_view summary;   // "submit a batch script"
  std::string_view synopsis;  // "[options] script [arguments]"
  std::string_view description;
};

// Only what works is shown; the man page ends with the names of what is known and refused.
std::string help_text(const ManualHead& head, std::span<const OptionText> options);
std::string usage_text(const ManualHead& head, std::span<const OptionText> options);
std::string man_page(const ManualHead& head, std::span<const OptionText> options);

}  // namespace millrace
