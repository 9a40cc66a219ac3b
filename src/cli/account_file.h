// src/cli/account_file.h - the lines of a file that `sacctmgr load` reads: Account - 'name':key=value:key='a,b'.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

struct AccountLine {
  std::string kind, name;             // kind in small letters: cluster, parent, account, user
  std::vector<std::string> settings;  // key=value
};

// Nothing for an empty line and a comment.
Result<std::optional<AccountLine>> parse_account_line(std::string_view text);

}  // namespace millrace
