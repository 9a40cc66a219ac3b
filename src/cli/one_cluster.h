// src/cli/one_cluster.h - -M: there is one cluster, and only it can be asked.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

// `all`, nothing, or the name of this one (also among commas).
Result<void> only_this_cluster(std::string_view given, std::string_view own);

}  // namespace millrace
