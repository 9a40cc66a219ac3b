// src/cli/file_manuals.h - man pages of the configuration files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

std::vector<std::string_view> file_manual_names();  // slurm.conf ...
std::string_view file_summary(std::string_view name);
std::string file_manual(std::string_view name);  // empty: no such file

// For tests: a line of that file with each key that its page calls working.
struct FileKeyText {
  std::string_view file, key, example, help;
};
std::vector<FileKeyText> file_keys();

}  // namespace millrace
