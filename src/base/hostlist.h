// src/base/hostlist.h - node names in brackets: n[1-3,5], r[0-1]n[00-03], both ways.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

constexpr std::size_t hostlist_names_max = 65536;

// Every name, in the order written, repeats kept. Refuses lists of more names than that or 16 MiB of them, and
// unbalanced brackets.
Result<std::vector<std::string>> expand_hostlist(std::string_view list, std::size_t names_max = hostlist_names_max);
// Groups neighbours of the same prefix and width, in first-seen order: a1,a2,b7 -> a[1-2],b7.
std::string compress_hostlist(const std::vector<std::string>& names);
// The same after sorting (by prefix, then number) and removing repeats.
std::string compress_hostlist_sorted(std::vector<std::string> names);

}  // namespace millrace
