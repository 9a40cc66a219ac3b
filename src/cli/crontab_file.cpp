// src/cli/crontab_file.cpp - see crontab_file.h.
#include "cli/crontab_file.h"

#include "base/text.h"
#include "core/model/cron.h"

namespace millrace {
namespace {

bool is_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (const char c : text)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) return false;
  return true;
}

std::string_view unquoted(std::string_view value) {
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.front() == value.back())
    return value.substr(1, value.size() - 2);
  return value;
}

// The first fields of a line, and what follows them.
std::pair<std::string_view, std::string_view> cut_times(std::string_view line) {
  std::size_t at = 0;
  for (int field = 0; field < (line[0] == '@' ? 1 : 5); ++field) {
    at = line.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) return {line, {}};
    at = line.find_first_of(" \t", at);
    if (at == std::string_view::npos) return {line, {}};
  }
  return {line.substr(0, at), trim(line.substr(at))};
}

}  // namespace

Result<std::vector<CrontabEntry>> parse_crontab(std::string_view text) {
  std::vector<CrontabEntry> out;
  std::vector<std::string> options, variables;
  std::uint32_t number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    if (line.starts_with("#SCRON")) options.emplace_back(trim(line.substr(6)));
    if (line.empty() || line[0] == '#') continue;
    const auto wrong = [&](const std::string& why) {
      return fail(Errc::invalid, "line " + std::to_string(number) + ": " + why);
    };
    if (const std::size_t equals = line.find('=');
        equals != std::string_view::npos && is_name(trim(line.substr(0, equals)))) {
      variables.push_back(std::string{trim(line.substr(0, equals))} + "=" +
                          std::string{unquoted(trim(line.substr(equals + 1)))});
      continue;
    }
    const auto [times, command] = cut_times(line);
    if (const auto parsed = parse_cron(times); !parsed) return wrong(parsed.error().story);
    if (command.empty()) return wrong("a command is missing after the times");
    out.push_back({number, std::string{times}, std::string{command}, std::exchange(options, {}), variables});
  }
  if (!options.empty()) return fail(Errc::invalid, "#SCRON lines at the end belong to no entry");
  return out;
}

std::string script_of(const CrontabEntry& entry) {
  std::string out = "#!/bin/sh\n";
  for (const std::string& line : entry.options) out += "#SBATCH " + line + '\n';
  return out + entry.command + '\n';
}

}  // namespace millrace
