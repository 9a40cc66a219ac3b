// src/config/conf_lines.h - a configuration file as lines of Key=Value pairs: comments, continuation, quotes, Include.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

struct ConfPair {
  std::string key;  // as written
  std::string value;
};

struct ConfLine {
  std::string file;
  int line = 0;  // where it begins
  std::vector<ConfPair> pairs;
  std::string problem;  // set when the line could not be taken apart: what is wrong, what would be right
};

// Lines of text that stands in `file`; Include lines come back as the pair ("Include", path).
std::vector<ConfLine> split_conf_text(std::string_view text, const std::string& file);
// The file and everything it includes, in order. Relative includes are looked for beside the file that names them.
Result<std::vector<ConfLine>> read_conf_lines(const std::string& path);
Result<std::string> read_conf_file(const std::string& path);

}  // namespace millrace
