// src/base/shown_text.cpp - see shown_text.h.
#include "base/shown_text.h"

#include <algorithm>

namespace millrace {
namespace {

bool is_plain(char c) { return c >= 0x20 && c < 0x7f; }

void append_escape(std::string& out, char c) {
  constexpr const char* digits = "0123456789abcdef";
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\x";
      out += digits[static_cast<unsigned char>(c) >> 4];
      out += digits[static_cast<unsigned char>(c) & 15];
  }
}

void append(std::string& out, std::string_view text, bool lines) {
  while (!text.empty()) {
    std::size_t run = 0;  // nearly all of nearly every text
    while (run < text.size() && (is_plain(text[run]) || (lines && (text[run] == '\n' || text[run] == '\t')))) ++run;
    out += text.substr(0, run);
    text.remove_prefix(run);
    if (text.empty()) return;
    const std::size_t length = utf8_length(text);
    // U+0080 to U+009F are controls, too: terminals obey them in either form.
    const bool control =
        length <= 1 || (length == 2 && text[0] == '\xc2' && static_cast<unsigned char>(text[1]) < 0xa0);
    const std::size_t taken = length == 0 ? 1 : length;
    for (std::size_t i = 0; i < taken; ++i) {
      if (control)
        append_escape(out, text[i]);
      else
        out += text[i];
    }
    text.remove_prefix(taken);
  }
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    if (!follows(1) || !follows(2) || (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
    return 3;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    if (!follows(1) || !follows(2) || !follows(3) || (first == 0xf0 && second < 0x90) ||
        (first == 0xf4 && second > 0x8f))
      return 0;
    return 4;
  }
  return 0;
}

bool is_plain_text(std::string_view text) { return std::ranges::all_of(text, is_plain); }

void append_shown(std::string& out, std::string_view text) { append(out, text, false); }

std::string shown_text(std::string_view text) {
  std::string out;
  append(out, text, false);
  return out;
}

std::string shown_lines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  append(out, text, true);
  return out;
}

}  // namespace millrace
