// src/cli/options/manual.cpp - see manual.h.
#include "cli/options/manual.h"

namespace millrace {
namespace {

std::string long_form(const OptionText& option) {
  std::string out = "--" + std::string{option.name};
  if (option.arg == ArgKind::required) out += "=" + std::string{option.value};
  if (option.arg == ArgKind::optional && !option.value.empty())
    out += option.value.starts_with('[') ? std::string{option.value} : "[=" + std::string{option.value} + "]";
  return out;
}

// What an option does, and that it does nothing where that is so.
std::string help_of(const OptionText& option) {
  if (option.effect != Effect::no_effect) return std::string{option.help};
  return std::string{option.help} + "; without effect here" +
         (option.why.empty() ? "" : ": " + std::string{option.why});
}

}  // namespace

std::string troff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '-')
      out += "\\-";
    else if (c == '\\')
      out += "\\e";
    else
      out += c;
  }
  if (!out.empty() && (out[0] == '.' || out[0] == '\'')) out.insert(0, "\\&");
  return out;
}

std::string manual_entry(std::string_view term, std::string_view text) {
  return ".TP\n.B " + troff(term) + "\n" + troff(text) + "\n";
}

std::string help_text(const ManualHead& head, std::span<const OptionText> options) {
  constexpr std::size_t column = 34;
  std::string out = "Usage: " + std::string{head.command} + " " + std::string{head.synopsis} + "\n\n" +
                    std::string{head.summary} + "\n\nOptions:\n";
  for (const OptionText& option : options) {
    if (!option.built) continue;
    std::string line = option.letter == '\0' ? "      " : std::string{"  -"} + option.letter + ", ";
    line += long_form(option);
    line.size() + 1 > column ? line += "\n" + std::string(column, ' ') : line += std::string(column - line.size(), ' ');
    out += line + help_of(option) + "\n";
  }
  return out;
}

std::string usage_text(const ManualHead& head, std::span<const OptionText> options) {
  std::string letters, words;
  for (const OptionText& option : options) {
    if (!option.built) continue;
    if (option.letter != '\0' && option.arg == ArgKind::none)
      letters += option.letter;
    else if (option.letter != '\0')
      words += std::string{" [-"} + option.letter + " " + std::string{option.value} + "]";
  }
  return "Usage: " + std::string{head.command} + " [-" + letters + "]" + words + " " + std::string{head.synopsis} +
         "\n";
}

std::string man_page(const ManualHead& head, std::span<const OptionText> options, const std::string& sections) {
  const std::string name{head.command};
  std::string upper = name;
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  std::string out = ".TH " + upper + " 1 \"\" \"Millrace\" \"Millrace commands\"\n.SH NAME\n" + name + " \\- " +
                    troff(head.summary) + "\n.SH SYNOPSIS\n.B " + name + "\n" + troff(head.synopsis) +
                    "\n.SH DESCRIPTION\n" + troff(head.description) + "\n";
  if (!options.empty() || !sections.starts_with(".SH")) out += ".SH OPTIONS\n";
  std::string refused, variables;
  for (const OptionText& option : options) {
    if (!option.built) {
      refused += ".TP\n.B " + troff("--" + std::string{option.name}) + "\n" +
                 (option.why.empty() ? std::string{"not built yet"} : troff(option.why)) + "\n";
      continue;
    }
    out += ".TP\n.B ";
    if (option.letter != '\0') out += troff(std::string{"-"} + option.letter) + ", ";
    out += troff(long_form(option)) + "\n" + troff(help_of(option)) + "\n";
    if (!option.environment.empty())
      variables +=
          ".TP\n.B " + troff(option.environment) + "\nthe same as " + troff("--" + std::string{option.name}) + "\n";
  }
  out += sections;
  if (!variables.empty()) out += ".SH ENVIRONMENT\n" + variables;
  if (!refused.empty()) out += ".SH REFUSED\nThese options of Slurm are known and refused by name:\n" + refused;
  return out;
}

}  // namespace millrace
