// src/base/text.cpp - see text.h.
#include "base/text.h"

#include <charconv>
#include <cstdio>

namespace millrace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n\f\v";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower(std::string_view text) {
  std::string out{text};
  for (char& c : out) c = lower(c);
  return out;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Mebibytes> parse_memory(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::int64_t kib_per_unit = 1024;
  if (lower(text.back()) == 'b' && text.size() > 1) text.remove_suffix(1);  // "4GB" as "4G"
  const char last = lower(text.back());
  switch (last) {
    case 'k':
      kib_per_unit = 1;
      break;
    case 'm':
      kib_per_unit = 1024;
      break;
    case 'g':
      kib_per_unit = 1024 * 1024;
      break;
    case 't':
      kib_per_unit = 1024LL * 1024 * 1024;
      break;
    default:
      if (last < '0' || last > '9') return std::nullopt;
      break;
  }
  if (last < '0' || last > '9') text.remove_suffix(1);
  const auto count = parse_integer(text);
  if (!count || *count < 0 || *count > (1LL << 40) || text.front() == '+') return std::nullopt;
  if (*count > INT64_MAX / 2048 / kib_per_unit) return std::nullopt;
  return Mebibytes{(*count * kib_per_unit + 1023) / 1024};
}

std::optional<ParsedDuration> parse_duration(std::string_view text) {
  if (text == "-1" || equals_ignoring_case(text, "infinite") || equals_ignoring_case(text, "unlimited"))
    return ParsedDuration{true, 0};
  std::int64_t days = 0;
  const std::size_t dash = text.find('-');
  const bool has_days = dash != std::string_view::npos;
  const auto digits = [](std::string_view part) -> std::optional<std::int64_t> {
    if (part.empty() || part.size() > 9 || part.find_first_not_of("0123456789") != std::string_view::npos)
      return std::nullopt;
    return parse_integer(part);
  };
  if (has_days) {
    const auto value = digits(text.substr(0, dash));
    if (!value) return std::nullopt;
    days = *value;
    text.remove_prefix(dash + 1);
  }
  std::int64_t fields[3] = {0, 0, 0};
  const auto parts = split(text, ':');
  if (parts.size() > 3) return std::nullopt;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto value = digits(parts[i]);
    if (!value) return std::nullopt;
    fields[i] = *value;
  }
  std::int64_t hours = 0, minutes = 0, secs = 0;
  if (has_days || parts.size() == 3) {
    hours = fields[0], minutes = fields[1], secs = fields[2];
  } else {
    minutes = fields[0], secs = fields[1];
  }
  return ParsedDuration{false, ((days * 24 + hours) * 60 + minutes) * 60 + secs};
}

std::string format_duration(std::int64_t total) {
  if (total < 0) return "INVALID";
  char buffer[64];
  const std::int64_t days = total / 86400, hours = total / 3600 % 24, mins = total / 60 % 60, secs = total % 60;
  if (days > 0)
    std::snprintf(buffer, sizeof buffer, "%lld-%02lld:%02lld:%02lld", static_cast<long long>(days),
                  static_cast<long long>(hours), static_cast<long long>(mins), static_cast<long long>(secs));
  else
    std::snprintf(buffer, sizeof buffer, "%02lld:%02lld:%02lld", static_cast<long long>(hours),
                  static_cast<long long>(mins), static_cast<long long>(secs));
  return buffer;
}

std::string to_hex(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

std::string compress_counts(const std::vector<std::uint32_t>& counts) {
  std::string out;
  for (std::size_t i = 0; i < counts.size();) {
    std::size_t same = i;
    while (same < counts.size() && counts[same] == counts[i]) ++same;
    if (!out.empty()) out += ',';
    out += std::to_string(counts[i]);
    if (same - i > 1) out += "(x" + std::to_string(same - i) + ")";
    i = same;
  }
  return out;
}

}  // namespace millrace
