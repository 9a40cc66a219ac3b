// src/apps/flags.cpp - see flags.h.
#include "apps/flags.h"

#include <cstdio>

#include "base/text.h"

namespace millrace {

std::string Flags::text(std::string_view name) const {
  const auto found = given.find(name);
  return found == given.end() ? std::string{} : std::string{found->second};
}

Result<Flags> read_flags(const Words& words, std::span<const FlagRow> rows) {
  Flags flags;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("-") || words[i] == "-") {
      flags.rest.push_back(words[i]);
      continue;
    }
    const std::size_t equals = words[i].find('=');
    const std::string_view name = words[i].substr(0, equals);
    const FlagRow* found = nullptr;
    for (const FlagRow& row : rows)
      if (row.name == name) found = &row;
    if (found == nullptr)
      return fail(Errc::invalid, "there is no option '" + std::string{name} + "'; --help lists them");
    std::string_view value;
    if (found->value.empty() && equals != std::string_view::npos)
      return fail(Errc::invalid, std::string{name} + " takes no value");
    if (!found->value.empty()) {
      if (equals == std::string_view::npos && i + 1 == words.size())
        return fail(Errc::invalid, std::string{name} + " needs " + std::string{found->value});
      value = equals != std::string_view::npos ? words[i].substr(equals + 1) : words[++i];
    }
    flags.given.insert_or_assign(found->name, value);
  }
  return flags;
}

Result<std::uint32_t> flag_number(const Flags& flags, std::string_view name, std::uint32_t low, std::uint32_t high) {
  const std::string text = flags.text(name);
  const auto number = parse_integer(text);
  if (!number || *number < low || *number > high)
    return fail(Errc::invalid, std::string{name} + " must be a number from " + std::to_string(low) + " to " +
                                   std::to_string(high) + ", not '" + text + "'");
  return static_cast<std::uint32_t>(*number);
}

std::string flag_help(std::string_view usage, std::span<const FlagRow> rows) {
  std::string out = "Usage: " + std::string{usage} + "\n";
  for (const FlagRow& row : rows) {
    std::string left = "  " + std::string{row.name} + (row.value.empty() ? "" : " ") + std::string{row.value};
    left.resize(left.size() < 20 ? 20 : left.size() + 1, ' ');
    out += left + std::string{row.help} + '\n';
  }
  return out;
}

void say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

int say_failure(std::string_view command, std::string_view story) {
  std::fflush(stdout);
  std::fprintf(stderr, "millrace %.*s: error: %.*s\n", static_cast<int>(command.size()), command.data(),
               static_cast<int>(story.size()), story.data());
  return 1;
}

}  // namespace millrace
