// src/cli/manual_pages.h - every man page there is: commands, configuration files, daemons, and `millrace` itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

struct ManualName {
  std::string name, summary;
  int section;  // 1 commands, 5 files, 8 daemons
};
std::vector<ManualName> manual_names();
std::string manual_page(std::string_view name);  // empty: there is none of this name
std::string manual_index_html();                 // links to all of them, NAME.html each

}  // namespace millrace
