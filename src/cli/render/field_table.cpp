// src/cli/render/field_table.cpp - see field_table.h.
#include "cli/render/field_table.h"

#include <algorithm>

#include "base/shown_text.h"

namespace millrace {

void append_field(std::string& out, std::string_view value, int width, bool is_last, const TableStyle& style) {
  const std::string text = shown_text(value);
  if (style.parsable != Parsable::no) {
    out += text;
    if (!is_last || style.parsable == Parsable::with_end) out += style.delimiter;
    return;
  }
  const std::size_t size = static_cast<std::size_t>(width < 0 ? -width : width);
  std::string cell = text;
  if (cell.size() > size) {
    cell.resize(size);
    cell.back() = '+';  // there was more
  }
  if (width > 0) out.append(size - cell.size(), ' ');
  out += cell;
  if (width < 0) out.append(size - cell.size(), ' ');
  out += ' ';
}

void append_rule(std::string& out, int width) {
  out.append(static_cast<std::size_t>(width < 0 ? -width : width), '-');
  out += ' ';
}

bool names_field(std::string_view names, std::string_view word, bool exactly) {
  return std::ranges::any_of(split(names, ','), [&](std::string_view name) {
    return exactly ? equals_ignoring_case(name, word)
                   : word.size() < name.size() && equals_ignoring_case(name.substr(0, word.size()), word);
  });
}

std::string format_billionths(std::int64_t billionths, int digits) {
  if (billionths < 0) return "inf";
  std::int64_t step = 1;
  for (int i = digits; i < 9; ++i) step *= 10;
  const std::int64_t rounded = (billionths + step / 2) / step, one = 1'000'000'000 / step;
  return std::to_string(rounded / one) + '.' + std::to_string(one + rounded % one).substr(1);
}

}  // namespace millrace
