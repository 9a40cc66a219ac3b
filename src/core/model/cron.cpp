// src/core/model/cron.cpp - see cron.h.
#include "core/model/cron.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"

namespace millrace {
namespace {

using Text = std::string_view;

struct Field {
  Text what;
  std::uint32_t least, most;
  std::span<const Text> names;  // of `first_name` and the following
  std::uint32_t first_name;
};

constexpr Text month_names[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr Text weekday_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
constexpr std::array<Field, 5> fields = {Field{"minute", 0, 59, {}, 0}, Field{"hour", 0, 23, {}, 0},
                                         Field{"day of the month", 1, 31, {}, 0}, Field{"month", 1, 12, month_names, 1},
                                         Field{"day of the week", 0, 7, weekday_names, 0}};

struct Word {
  Text word, times;
};
constexpr Word words[] = {{"@hourly", "0 * * * *"},   {"@daily", "0 0 * * *"},      {"@midnight", "0 0 * * *"},
                          {"@weekly", "0 0 * * 0"},   {"@monthly", "0 0 1 * *"},    {"@yearly", "0 0 1 1 *"},
                          {"@annually", "0 0 1 1 *"}, {"@elevenses", "0 11 * * *"}, {"@noon", "0 12 * * *"},
                          {"@fika", "0 15 * * *"},    {"@teatime", "0 16 * * *"}};

std::unexpected<Error> wrong(const Field& field, Text text) {
  return fail(Errc::invalid, "'" + std::string{text} + "' is no " + std::string{field.what} + "; numbers from " +
                                 std::to_string(field.least) + " to " + std::to_string(field.most) +
                                 ", ranges like 1-5, lists with commas, steps like */10" +
                                 (field.names.empty() ? "" : " and names like " + std::string{field.names.front()}) +
                                 " are right");
}

Result<std::uint32_t> value_of(const Field& field, Text text, Text whole) {
  for (std::size_t i = 0; i < field.names.size(); ++i)
    if (equals_ignoring_case(text, field.names[i])) return static_cast<std::uint32_t>(i) + field.first_name;
  const auto number = parse_integer(text);
  if (!number || *number < field.least || *number > field.most) return wrong(field, whole);
  return static_cast<std::uint32_t>(*number);
}

Result<std::uint64_t> parse_field(const Field& field, Text text) {
  std::uint64_t bits = 0;
  for (const Text part : split(text, ',')) {
    const std::size_t slash = part.find('/');
    const Text range = part.substr(0, slash);
    std::uint32_t first = field.least, last = field.most, step = 1;
    if (slash != Text::npos) {
      const auto number = parse_integer(part.substr(slash + 1));
      if (!number || *number < 1 || *number > 99) return wrong(field, text);
      step = static_cast<std::uint32_t>(*number);
    }
    if (range != "*") {
      const std::size_t dash = range.find('-');
      MR_TRY(first, value_of(field, range.substr(0, dash), text));
      last = slash == Text::npos ? first : field.most;
      if (dash != Text::npos) {
        MR_TRY(last, value_of(field, range.substr(dash + 1), text));
      }
      if (last < first) return wrong(field, text);
    }
    for (std::uint32_t value = first; value <= last; value += step) bits |= std::uint64_t{1} << value;
  }
  return bits;
}

}  // namespace

Result<CronTimes> parse_cron(Text text) {
  text = trim(text);
  for (const Word& row : words)
    if (equals_ignoring_case(text, row.word)) text = row.times;
  std::vector<Text> parts;
  for (Text rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
    if (end > 0) parts.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (parts.size() != fields.size())
    return fail(
        Errc::invalid,
        "'" + std::string{text} + "' has " + std::to_string(parts.size()) +
            " fields; minute, hour, day of the month, month and day of the week, or a word like @daily, are right");
  std::array<std::uint64_t, 5> bits{};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    MR_TRY(bits[i], parse_field(fields[i], parts[i]));
  }
  CronTimes out;
  out.minutes = bits[0];
  out.hours = static_cast<std::uint32_t>(bits[1]);
  out.days = static_cast<std::uint32_t>(bits[2]);
  out.months = static_cast<std::uint32_t>(bits[3]);
  out.weekdays = static_cast<std::uint32_t>((bits[4] | (bits[4] >> 7 & 1)) & 0x7f);  // 7 is Sunday too
  out.any_hour = parts[1].starts_with('*');
  out.any_day = parts[2].starts_with('*');
  out.any_weekday = parts[4].starts_with('*');
  return out;
}

}  // namespace millrace
