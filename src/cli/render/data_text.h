// src/cli/render/data_text.h - a data tree as text: JSON in the layout of Slurm's commands, or YAML.
#pragma once

#include <string>

#include "cli/render/data_tree.h"

namespace millrace {

enum class DataForm : std::uint8_t { json, yaml };

// Ends with a line end. Bytes that are not UTF-8 become U+FFFD: file names may hold any byte, readers of JSON take none of them.
std::string to_json(const Data& data);
std::string to_yaml(const Data& data);
std::string to_text(const Data& data, DataForm form);

}  // namespace millrace
