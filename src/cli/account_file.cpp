// src/cli/account_file.cpp - see account_file.h.
#include "cli/account_file.h"

#include "base/text.h"

namespace millrace {
namespace {

using Text = std::string_view;

std::string unquoted(Text text) {
  text = trim(text);
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  return std::string{text};
}

// Outside of quotes.
std::vector<Text> split_line(Text line) {
  std::vector<Text> out;
  std::size_t from = 0;
  char quote = 0;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && quote != 0) {
      if (line[i] == quote) quote = 0;
    } else if (i < line.size() && (line[i] == '\'' || line[i] == '"')) {
      quote = line[i];
    } else if (i == line.size() || line[i] == ':') {
      out.push_back(line.substr(from, i - from));
      from = i + 1;
    }
  }
  return out;
}

}  // namespace

Result<std::optional<AccountLine>> parse_account_line(std::string_view text) {
  text = trim(text);
  if (text.empty() || text.front() == '#') return std::nullopt;
  const std::vector<Text> parts = split_line(text);
  const std::size_t dash = parts[0].find(" - ");
  if (dash == Text::npos)
    return fail(Errc::invalid, "'" + std::string{text} + "' is not of the form: Account - 'name':key=value");
  AccountLine out{lower(trim(parts[0].substr(0, dash))), unquoted(parts[0].substr(dash + 3)), {}};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    if (equals == Text::npos) return fail(Errc::invalid, "'" + std::string{parts[i]} + "' has no value");
    out.settings.push_back(std::string{trim(parts[i].substr(0, equals))} + "=" + unquoted(parts[i].substr(equals + 1)));
  }
  return out;
}

}  // namespace millrace
