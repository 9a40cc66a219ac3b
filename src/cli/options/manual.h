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
// `sections`: troff that stands between the options and the environment.
std::string man_page(const ManualHead& head, std::span<const OptionText> options, const std::string& sections = {});
std::string manual_entry(std::string_view term, std::string_view text);  // one paragraph with its term
std::string troff(std::string_view text);                                // plain text, safe in troff

// The columns of a listing: their names for -O, letters for -o, headers.
template <class Columns>
std::string manual_columns(std::string_view title, const Columns& columns) {
  std::string out = ".SH " + std::string{title} + '\n';
  for (const auto& column : columns)
    out +=
        manual_entry(std::string{column.name} + (column.letter == '\0' ? "" : std::string{" (%"} + column.letter + ')'),
                     "header " + std::string{column.header});
  return out;
}

}  // namespace millrace
