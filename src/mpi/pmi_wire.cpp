// src/mpi/pmi_wire.cpp - see pmi_wire.h.
#include "mpi/pmi_wire.h"

#include <charconv>

namespace millrace {
namespace {

constexpr std::size_t command_max = 1u << 20;

void add(PmiCommand& command, std::string_view key, std::string value) {
  if ((key == "cmd" || key == "mcmd") && command.name.empty())
    command.name = std::move(value);
  else
    command.pairs.emplace_back(std::string{key}, std::move(value));
}

}  // namespace

std::string_view PmiCommand::get(std::string_view key) const {
  for (const auto& [name_of, value] : pairs)
    if (name_of == key) return value;
  return {};
}

PmiCommand parse_pmi1(std::string_view line) {
  PmiCommand command;
  while (!line.empty()) {
    if (line.front() == ' ' || line.front() == '\r') {
      line.remove_prefix(1);
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) break;
    const std::string_view key = line.substr(0, equals);
    line.remove_prefix(equals + 1);
    const std::size_t end =
        key == "value" && command.name == "put" ? line.size() : std::min(line.find(' '), line.size());
    add(command, key, std::string{line.substr(0, end)});
    line.remove_prefix(end);
  }
  return command;
}

PmiCommand parse_pmi2(std::string_view text) {
  PmiCommand command;
  while (!text.empty()) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) break;
    const std::string_view key = text.substr(0, equals);
    text.remove_prefix(equals + 1);
    std::string value;
    while (!text.empty()) {
      const char c = text.front();
      text.remove_prefix(1);
      if (c == ';') {
        if (text.empty() || text.front() != ';') break;
        text.remove_prefix(1);
      }
      value += c;
    }
    add(command, key, std::move(value));
  }
  return command;
}

std::string format_pmi1(const PmiCommand& command) {
  std::string out = "cmd=" + command.name;
  for (const auto& [key, value] : command.pairs) out += ' ' + key + '=' + value;
  return out + '\n';
}

std::string format_pmi2(const PmiCommand& command) {
  std::string body = "cmd=" + command.name + ';';
  for (const auto& [key, value] : command.pairs) {
    body += key + '=';
    for (const char c : value) {
      if (c == ';') body += ';';
      body += c;
    }
    body += ';';
  }
  std::string length = std::to_string(body.size());
  if (length.size() < 6) length.insert(0, 6 - length.size(), ' ');
  return length + body;
}

void PmiReader::feed(std::string_view bytes) {
  if (broken_) return;
  buffer_.erase(0, at_);
  at_ = 0;
  buffer_ += bytes;
}

// The command ends `length` bytes from here; none yet: it may still come, within bounds.
std::optional<std::string_view> PmiReader::cut(std::optional<std::size_t> length) {
  const std::string_view rest = std::string_view{buffer_}.substr(at_);
  if (!length || *length > rest.size()) {
    broken_ = rest.size() > command_max;
    return std::nullopt;
  }
  at_ += *length;
  return rest.substr(0, *length);
}

std::optional<PmiCommand> PmiReader::next() {
  if (broken_) return std::nullopt;
  const std::string_view rest = std::string_view{buffer_}.substr(at_);
  const auto after = [&](std::string_view end) {
    const std::size_t found = rest.find(end);
    return found == std::string_view::npos ? std::nullopt : std::optional{found + end.size()};
  };
  if (!pmi2_) {
    // A spawn has many lines, and several such blocks may follow each other; its answer is for the last line of one.
    const auto text = cut(after(rest.starts_with("mcmd=") ? "endcmd\n" : "\n"));
    if (!text) return std::nullopt;
    return parse_pmi1(text->substr(0, text->find('\n')));
  }
  if (rest.size() < 6) return std::nullopt;
  std::string_view digits = rest.substr(0, 6);
  while (digits.starts_with(' ')) digits.remove_prefix(1);
  std::size_t length = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (problem != std::errc{} ||
      digits.substr(static_cast<std::size_t>(end - digits.data())).find_first_not_of(' ') != std::string_view::npos) {
    broken_ = true;
    return std::nullopt;
  }
  const auto text = cut(6 + length);
  if (!text) return std::nullopt;
  return parse_pmi2(text->substr(6));
}

}  // namespace millrace
