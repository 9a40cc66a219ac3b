// src/cli/one_cluster.cpp - see one_cluster.h.
#include "cli/one_cluster.h"

#include "base/text.h"

namespace millrace {

Result<void> only_this_cluster(std::string_view given, std::string_view own) {
  for (std::string_view word : split(given, ',')) {
    word = trim(word);
    if (word.empty() || word == own || equals_ignoring_case(word, "all")) continue;
    return fail(Errc::refused, "'" + std::string{word} +
                                   "' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr "
                                   "list clusters' to see available clusters.");
  }
  return {};
}

}  // namespace millrace
