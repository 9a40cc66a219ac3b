// src/core/model/file_name.cpp - see file_name.h.
#include "core/model/file_name.h"

#include <algorithm>

namespace millrace {

namespace {

constexpr std::size_t pad_width_max = 10;
constexpr std::size_t expanded_max = 16 * 1024;      // no file has a name that long, and a %x may stand there often
constexpr std::uint32_t no_array_task = 4294967294;  // what Slurm prints for %a outside an array

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string padded(std::uint64_t number, std::size_t width) {
  std::string digits = std::to_string(number);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

// Nothing for an unknown letter.
std::optional<std::string> value_of(char letter, std::size_t width, const NameFacts& facts) {
  const std::uint32_t array_task = facts.array_task.value_or(no_array_task);
  switch (letter) {
    case 'A':
      return padded(facts.array_job_id != 0 ? facts.array_job_id : facts.job_id, width);
    case 'a':
      return padded(array_task, width);
    case 'b':
      return padded(array_task % 10, width);
    case 'J':
      return padded(facts.job_id, width) + (facts.batch ? "" : "." + std::to_string(facts.step));
    case 'j':
      return padded(facts.job_id, width);
    case 'N':
      return facts.node_name.substr(0, facts.node_name.find('.'));
    case 'n':
      return padded(facts.node_position, width);
    case 'r':
      return padded(facts.restarts, width);
    case 's':
      return facts.batch ? std::string{"batch"} : padded(facts.step, width);
    case 't':
      return padded(facts.rank, width);
    case 'u':
      return facts.user_name;
    case 'x':
      return facts.job_name;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string expand_pattern(std::string_view pattern, const NameFacts& facts) {
  std::string out;
  if (pattern.find('\\') != std::string_view::npos) {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] == '\\' && ++i == pattern.size()) break;
      out += pattern[i];
    }
    return out;
  }
  for (std::size_t i = 0; i < pattern.size() && out.size() < expanded_max; ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    std::size_t at = i + 1;
    std::size_t width = 0;
    for (; at < pattern.size() && is_digit(pattern[at]); ++at)
      width = std::min(width * 10 + static_cast<std::size_t>(pattern[at] - '0'), pad_width_max);
    if (at < pattern.size() && pattern[at] == '%' && at == i + 1) {
      out += '%';
      i = at;
    } else if (const auto value = at < pattern.size() ? value_of(pattern[at], width, facts) : std::nullopt) {
      // A name from outside must not climb out of the directory the user wrote before it.
      std::string text = *value;
      std::replace(text.begin(), text.end(), '/', '_');
      out += text;
      i = at;
    } else {
      out += '%';
    }
  }
  return out;
}

bool is_per_node(std::string_view pattern) {
  if (pattern.find('\\') != std::string_view::npos) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') continue;
    std::size_t at = i + 1;
    while (at < pattern.size() && is_digit(pattern[at])) ++at;
    if (at < pattern.size() && (pattern[at] == 'N' || pattern[at] == 'n' || pattern[at] == 't')) return true;
    i = at;
  }
  return false;
}

std::string_view default_output_pattern(const NameFacts& facts) {
  return facts.array_task ? "slurm-%A_%a.out" : "slurm-%j.out";
}

std::string under_directory(std::string_view name, std::string_view directory) {
  if (name.starts_with('/')) return std::string{name};
  std::string path{directory};
  if (!path.ends_with('/')) path += '/';
  return path += name;
}

}  // namespace millrace
