// src/cli/render/data_document.cpp - see data_document.h.
#include "cli/render/data_document.h"

#include <unistd.h>

#include "base/text.h"
#include "cli/render/text_forms.h"

namespace millrace {
namespace {

// The forms of v0.0.43 and later differ in nothing that is printed here.
constexpr std::string_view parsers[] = {"v0.0.46", "v0.0.45", "v0.0.44", "v0.0.43"};

}  // namespace

Result<DataWish> parse_data_wish(DataForm form, std::string_view parser) {
  DataWish out{form, false};
  if (parser == "list") {
    out.list_parsers = true;
    return out;
  }
  if (parser.starts_with("data_parser/")) parser.remove_prefix(12);
  parser = parser.substr(0, parser.find('+'));  // flags of a parser change the layout at most
  if (parser.empty() || parser == "latest") return out;
  for (const std::string_view known : parsers)
    if (known == parser) return out;
  return fail(Errc::refused, "Unable to find plugin: data_parser/" + std::string{parser} + "; known are " +
                                 std::string{parsers[3]} + " to " + std::string{parsers[0]});
}

std::string data_parser_names() {
  std::string out = "Possible data_parser plugins:\n";
  for (const std::string_view name : parsers) out += "data_parser/" + std::string{name} + '\n';
  return out;
}

Data data_document(DataMap records, const DataSource& source) {
  Names names;
  DataList command{Data{source.command}};
  for (const std::string_view word : source.words) command.emplace_back(word);
  const std::string_view release = source.release;
  const auto numbers = split(release.substr(0, release.find('-')), '.');
  const auto number = [&](std::size_t i) { return Data{i < numbers.size() ? numbers[i] : std::string_view{"0"}}; };
  Data out{std::move(records)};
  Data& meta = out.at_path("meta");
  meta.at_path("plugin") = DataMap{{"type", ""},
                                   {"name", ""},
                                   {"data_parser", "data_parser/" + std::string{parsers[0]}},
                                   {"accounting_storage", ""}};
  meta.at_path("client") = DataMap{{"source", ""}, {"user", names.user(getuid())}, {"group", names.group(getgid())}};
  meta.at_path("command") = std::move(command);
  meta.at_path("slurm") =
      DataMap{{"version", DataMap{{"major", number(0)}, {"micro", number(2)}, {"minor", number(1)}}},
              {"release", release},
              {"cluster", source.cluster}};
  out.at_path("errors") = DataList{};
  out.at_path("warnings") = DataList{};
  return out;
}

}  // namespace millrace
