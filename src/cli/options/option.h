// src/cli/options/option.h - the row every option is, and what all commands do with their rows: parse, environment,
// help.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/options/arguments.h"

namespace millrace {

enum Tools : std::uint8_t { sbatch = 1, srun = 2, salloc = 4, any_tool = 255 };

// What a setter answers: invalid ends the command with 255, as Slurm's commands do for a bad value, refused with 1.
template <class Draft>
using OptionSetter = Result<void> (*)(Draft&, std::string_view value);

// What giving an option comes to: docs/user/coming-from-slurm.md is made of this.
enum class Effect : std::uint8_t { built, no_effect, refused };

template <class Draft>
struct Option {
  std::string_view name;
  char letter;
  ArgKind arg;
  std::string_view value;  // how help names the argument
  std::uint8_t tools;
  std::string_view environment;       // for sbatch and the listing commands
  std::string_view srun_environment;  // several names: comma between them, the first one wins
  std::string_view help;
  OptionSetter<Draft> set;        // nullptr: known and refused
  Effect effect = Effect::built;  // no_effect: taken, perhaps recorded and shown, and changes nothing
  std::string_view why{};         // it has none, or is refused

  constexpr Effect what_it_does() const { return set == nullptr ? Effect::refused : effect; }
};

// The part of a row that help and man pages are made of, free of what it sets.
struct OptionText {
  std::string_view name;
  char letter;
  ArgKind arg;
  std::string_view value, environment, help;
  bool built;
  Effect effect;
  std::string_view why;
};

inline std::unexpected<Error> not_built(std::string_view what) {
  return fail(Errc::refused, std::string{what} + " is not built yet in Millrace");
}

template <class Draft>
std::unexpected<Error> refuse_option(const Option<Draft>& row, std::string_view from = {}) {
  const std::string name = "--" + std::string{row.name} + (from.empty() ? "" : " (from " + std::string{from} + ")");
  if (row.why.empty()) return not_built(name);
  return fail(Errc::refused, name + " is refused in Millrace: " + std::string{row.why});
}

// For those who list what they were told (-v): the last word counts.
template <class Draft>
void note_given(const Option<Draft>& row, Draft& draft, std::string_view value) {
  if constexpr (requires { draft.given; }) draft.given[std::string{row.name}] = std::string{value};
}

template <class Draft>
Result<void> apply_option(const Option<Draft>& row, Draft& draft, std::string_view value) {
  if (row.set == nullptr) return refuse_option(row);
  note_given(row, draft, value);
  return row.set(draft, value);
}

template <class Draft>
struct CommandLine {
  std::vector<const Option<Draft>*> given;  // for "was it set here" questions
  std::vector<std::string_view> operands;
};

// Parses and applies; an error with code not_found means "getopt's line": the command prints the hint to try --help.
template <class Draft>
Result<CommandLine<Draft>> apply_words(std::span<const Option<Draft>> rows, std::uint8_t tool,
                                       std::span<const std::string_view> words, Operands operands, Draft& draft) {
  std::vector<OptionShape> shapes;
  std::vector<const Option<Draft>*> by_shape;
  shapes.reserve(rows.size());
  for (const Option<Draft>& row : rows) {
    if ((row.tools & tool) == 0) continue;
    shapes.push_back({row.name, row.letter, row.arg});
    by_shape.push_back(&row);
  }
  auto parsed = parse_arguments(shapes, words, operands);
  if (!parsed) return fail(Errc::not_found, std::move(parsed).error().story);
  CommandLine<Draft> line;
  for (const GivenOption& given : parsed->options) {
    const Option<Draft>& row = *by_shape[given.shape];
    MR_TRY_VOID(apply_option(row, draft, given.value));
    line.given.push_back(&row);
  }
  line.operands = std::move(parsed->operands);
  return line;
}

template <class Draft>
Result<void> apply_environment(std::span<const Option<Draft>> rows, std::uint8_t tool, Draft& draft) {
  for (const Option<Draft>& row : rows) {
    std::string_view names = tool == srun ? row.srun_environment : row.environment;
    if ((row.tools & tool) == 0) continue;
    while (!names.empty()) {
      std::string name{names.substr(0, names.find(','))};
      names.remove_prefix(std::min(names.size(), name.size() + 1));
      if (tool == salloc && name.starts_with("SBATCH_")) name.replace(1, 5, "ALLOC");
      const char* value = std::getenv(name.c_str());
      if (value == nullptr) continue;
      if (row.set == nullptr) return refuse_option(row, name);
      note_given(row, draft, value);
      MR_TRY_VOID(row.set(draft, value));
      break;
    }
  }
  return {};
}

template <class Draft>
std::vector<OptionText> option_texts(std::span<const Option<Draft>> rows, std::uint8_t tool) {
  std::vector<OptionText> out;
  for (const Option<Draft>& row : rows)
    if ((row.tools & tool) != 0)
      out.push_back({row.name, row.letter, row.arg, row.value, tool == srun ? row.srun_environment : row.environment,
                     row.help, row.what_it_does() != Effect::refused, row.what_it_does(), row.why});
  return out;
}

}  // namespace millrace
