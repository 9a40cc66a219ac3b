// src/cli/render/format.h - what -o and -O ask for: which columns, how wide, what stands between them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/shown_text.h"
#include "base/text.h"

namespace millrace {

enum class Cut : std::uint8_t {
  to_width,  // text is cut where the column ends
  never,     // numbers and durations push the rest of the line aside instead
};

template <class Row>
struct Column {
  std::string_view name;  // for -O
  char letter;            // for -o; '\0': none
  std::string_view header;
  Cut cut;
  bool brief;  // needs nothing but what a brief answer has
  void (*value)(std::string& out, const Row& row);
};

template <class Row>
struct FormatField {
  const Column<Row>* column = nullptr;  // nullptr: text only
  std::size_t width = 0;                // 0: as wide as the value
  bool right = false;
  std::string suffix;  // what follows it
};

template <class Row>
using Format = std::vector<FormatField<Row>>;

inline void append_cell(std::string& out, std::string_view value, std::size_t width, bool right, Cut cut) {
  if (width != 0 && value.size() > width && cut == Cut::to_width) value = value.substr(0, width);
  const std::size_t padding = value.size() < width ? width - value.size() : 0;
  if (right) out.append(padding, ' ');
  out += value;
  if (!right) out.append(padding, ' ');
}

template <class Row>
void append_header(std::string& out, const Format<Row>& format) {
  for (const FormatField<Row>& field : format) {
    if (field.column != nullptr) append_cell(out, field.column->header, field.width, field.right, Cut::to_width);
    out += field.suffix;
  }
  out += '\n';
}

template <class Row>
void append_row(std::string& out, const Format<Row>& format, const Row& row, std::string& scratch) {
  for (const FormatField<Row>& field : format) {
    if (field.column != nullptr) {
      scratch.clear();
      field.column->value(scratch, row);
      if (!is_plain_text(scratch)) scratch = shown_text(scratch);
      append_cell(out, scratch, field.width, field.right, field.column->cut);
    }
    out += field.suffix;
  }
  out += '\n';
}

// "%all": every column that has a letter, with bars between them.
template <class Row>
void append_all_letters(Format<Row>& out, std::span<const Column<Row>> columns) {
  std::vector<const Column<Row>*> found;
  for (const std::string_view letters : {"abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"})
    for (const char letter : letters)
      for (const Column<Row>& column : columns)
        if (column.letter == letter && (found.empty() || found.back()->letter != letter)) found.push_back(&column);
  for (const Column<Row>* column : found) out.push_back({column, 0, false, column == found.back() ? "" : "|"});
}

// -o: "%.18i %9P"; text outside of fields is kept, "%%i" means "%i". Unknown letters go to `unknown`.
template <class Row>
Format<Row> parse_short_format(std::string_view text, std::span<const Column<Row>> columns, std::string& unknown) {
  Format<Row> out;
  const std::size_t first = text.find('%');
  if (first == std::string_view::npos || first > 0)
    out.push_back({nullptr, 0, false, std::string{text.substr(0, first)}});
  while (text.find('%') != std::string_view::npos) {
    text.remove_prefix(text.find('%'));
    while (!text.empty() && text[0] == '%') text.remove_prefix(1);
    if (text.starts_with("all")) {
      append_all_letters(out, columns);
      text.remove_prefix(3);
      if (!out.empty()) out.back().suffix += text.substr(0, text.find('%'));
      continue;
    }
    FormatField<Row> field;
    if (!text.empty() && text[0] == '.') field.right = true, text.remove_prefix(1);
    while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
      field.width = field.width * 10 + static_cast<std::size_t>(text[0] - '0');
      if (field.width > 4096) field.width = 4096;
      text.remove_prefix(1);
    }
    if (text.empty()) break;
    for (const Column<Row>& column : columns)
      if (column.letter == text[0] && field.column == nullptr) field.column = &column;
    if (field.column == nullptr) unknown += text[0];
    text.remove_prefix(1);
    field.suffix = text.substr(0, text.find('%'));
    if (field.column != nullptr || !field.suffix.empty()) out.push_back(std::move(field));
  }
  return out;
}

// -O: "name[:[.|-]width[suffix]],..."; 20 wide where nothing is said, as wide as the value where no number is.
template <class Row>
Format<Row> parse_long_format(std::string_view text, std::span<const Column<Row>> columns,
                              std::vector<std::string>& unknown) {
  Format<Row> out;
  if (text.ends_with(',')) text.remove_suffix(1);
  for (std::string_view word : split(text, ',')) {
    FormatField<Row> field;
    field.width = 20;
    const std::size_t colon = word.find(':');
    const std::string_view name = trim(word.substr(0, colon));
    if (colon != std::string_view::npos) {
      std::string_view rest = word.substr(colon + 1);
      field.width = 0;
      if (!rest.empty() && (rest[0] == '.' || rest[0] == '-')) field.right = rest[0] == '.', rest.remove_prefix(1);
      while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
        field.width = field.width * 10 + static_cast<std::size_t>(rest[0] - '0');
        if (field.width > 4096) field.width = 4096;
        rest.remove_prefix(1);
      }
      field.suffix = rest;
    }
    for (const Column<Row>& column : columns)
      if (equals_ignoring_case(column.name, name) && field.column == nullptr) field.column = &column;
    if (field.column == nullptr)
      unknown.emplace_back(name);
    else
      out.push_back(std::move(field));
  }
  return out;
}

}  // namespace millrace
