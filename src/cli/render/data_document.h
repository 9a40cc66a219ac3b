// src/cli/render/data_document.h - the frame around records that --json and --yaml print: what was asked, by whom, of
// which cluster.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/render/data_text.h"

namespace millrace {

// What --json[=parser] or --yaml[=parser] asked for.
struct DataWish {
  DataForm form = DataForm::json;
  bool list_parsers = false;  // =list
};
// "" and any of the parsers' names ("v0.0.46", "data_parser/v0.0.44", "latest") are one and the same form here.
Result<DataWish> parse_data_wish(DataForm form, std::string_view parser);
std::string data_parser_names();  // what =list prints

struct DataSource {
  std::string command;                      // squeue
  std::span<const std::string_view> words;  // its arguments
  std::string cluster;
  std::string_view release;  // whose behaviour is kept: 26.11.0
};
// Adds meta, errors and warnings to a map of records.
Data data_document(DataMap records, const DataSource& source);

}  // namespace millrace
