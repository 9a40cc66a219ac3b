// src/cli/render/data_text.h - a data tree as text: JSON in the layout of Slurm's commands, or YAML.
#pragma once

#include <string>
#include <string_view>

#include "cli/render/data_tree.h"

namespace millrace {

enum class DataForm : std::uint8_t { json, yaml };

// Ends with a line end. Bytes that are not UTF-8 become U+FFFD: file names may hold any byte, readers of JSON take none
// of them.
std::string to_json(const Data& data);
std::string to_yaml(const Data& data);
std::string to_text(const Data& data, DataForm form);

// A document that begins with one long list: its items are printed one by one, so that a hundred thousand jobs need no
// tree of gigabytes.
class DataListText {
 public:
  DataListText(DataForm form, std::string_view key) : form_(form), key_(key) {}
  void add(std::string& out, const Data& item);
  void finish(std::string& out, const DataMap& others);  // the members after the list

 private:
  void begin(std::string& out);

  DataForm form_;
  std::string key_;
  bool begun_ = false, any_ = false;
};

}  // namespace millrace
