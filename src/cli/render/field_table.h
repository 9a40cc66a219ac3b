// src/cli/render/field_table.h - tables in the form of sacctmgr and sshare: right-aligned cells, a line below the
// header, or parsable.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"

namespace millrace {

template <class Row>
struct Field {
  std::string_view names;  // comma between several; a beginning that is no other's will do
  std::string_view header;
  int width;  // negative: left-aligned
  std::string (*value)(const Row& row);
};

enum class Parsable : std::uint8_t { no, with_end, without_end };  // -p, -P

struct TableStyle {
  Parsable parsable = Parsable::no;
  bool header = true;
  std::string delimiter = "|";
};

template <class Row>
struct ChosenField {
  const Field<Row>* field = nullptr;
  int width = 0;
};

void append_field(std::string& out, std::string_view text, int width, bool is_last, const TableStyle& style);
void append_rule(std::string& out, int width);
bool names_field(std::string_view names, std::string_view word, bool exactly);

// "Account,User%-20,Share": the widths asked for replace those of the table.
template <class Row>
Result<std::vector<ChosenField<Row>>> choose_fields(std::span<const Field<Row>> fields, std::string_view text) {
  std::vector<ChosenField<Row>> out;
  for (std::string_view word : split(text, ',')) {
    word = trim(word);
    if (word.empty()) continue;
    const std::size_t percent = word.find('%');
    const std::string_view name = word.substr(0, percent);
    ChosenField<Row> chosen;
    for (const bool exactly : {true, false})
      for (const Field<Row>& field : fields)
        if (chosen.field == nullptr && names_field(field.names, name, exactly)) chosen.field = &field;
    if (chosen.field == nullptr) return fail(Errc::invalid, "Unknown field '" + std::string{name} + "'");
    chosen.width = chosen.field->width;
    if (percent != std::string_view::npos)
      if (const auto width = parse_integer(word.substr(percent + 1));
          width && *width != 0 && *width > -1000 && *width < 1000)
        chosen.width = static_cast<int>(*width);
    out.push_back(chosen);
  }
  return out;
}

template <class Row>
std::string render_fields(const std::vector<ChosenField<Row>>& fields, const std::vector<Row>& rows,
                          const TableStyle& style) {
  std::string out;
  if (style.header) {
    for (std::size_t i = 0; i < fields.size(); ++i)
      append_field(out, fields[i].field->header, fields[i].width, i + 1 == fields.size(), style);
    out += '\n';
    if (style.parsable == Parsable::no) {
      for (const ChosenField<Row>& field : fields) append_rule(out, field.width);
      out += '\n';
    }
  }
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < fields.size(); ++i)
      append_field(out, fields[i].field->value(row), fields[i].width, i + 1 == fields.size(), style);
    out += '\n';
  }
  return out;
}

// 0.250000 of a number of thousand millionths; -1 is inf.
std::string format_billionths(std::int64_t billionths, int digits);

}  // namespace millrace
