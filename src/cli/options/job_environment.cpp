// src/cli/options/job_environment.cpp - see job_environment.h.
#include "cli/options/job_environment.h"

#include <vector>

#include "base/text.h"

namespace millrace {
namespace {

void append(std::string& packed, std::string_view entry) {
  packed += entry;
  packed += '\0';
}

// Commas inside quotes belong to a value: A="x,y",B
std::vector<std::string> split_export(std::string_view list) {
  std::vector<std::string> out(1);
  char quote = '\0';
  for (const char c : list) {
    if (quote != '\0' ? c == quote : (c == '\'' || c == '"')) {
      quote = quote != '\0' ? '\0' : c;
    } else if (c == ',' && quote == '\0') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

}  // namespace

std::string pack_environment(const char* const* environment, std::string_view export_list) {
  std::string packed;
  bool all = false;
  std::vector<std::string> named;
  for (std::string& word : split_export(export_list)) {
    if (equals_ignoring_case(word, "all"))
      all = true;
    else if (!equals_ignoring_case(word, "none") && !equals_ignoring_case(word, "nil") && !word.empty())
      named.push_back(std::move(word));
  }
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (entry.size() == name.size()) continue;
    bool take =
        all || name.starts_with("SLURM_") || name.starts_with("SPANK_") || name.starts_with("_SLURM_SPANK_OPTION");
    for (const std::string& word : named) {
      take = take || word == name;
      if (word.size() > name.size() && word[name.size()] == '=' && word.starts_with(name)) {
        take = false;  // replaced below
        break;
      }
    }
    if (take) append(packed, entry);
  }
  for (const std::string& word : named)
    if (word.find('=') != std::string::npos) append(packed, word);
  return packed;
}

void set_variable(std::string& packed, std::string_view name, std::string_view value) {
  std::string out;
  out.reserve(packed.size() + name.size() + value.size() + 2);
  for (std::string_view rest = packed; !rest.empty();) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(entry.size() + 1);
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) continue;
    append(out, entry);
  }
  out += name;
  out += '=';
  out += value;
  out += '\0';
  packed = std::move(out);
}

}  // namespace millrace
